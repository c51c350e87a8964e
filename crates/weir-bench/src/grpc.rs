//! Closed loop of Envoy's rate limit service: calls over a few connections of HTTP/2, many in flight on each, as Envoy sends them.
//!
//! The client shares the processors with what it measures, so it does no more than wrk does: `frames` writes prepared frames and
//! reads what a response needs.

mod connection;
mod frames;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinSet;

use self::connection::Connection;
use self::frames::Call;
use crate::closed::ClosedRun;
use crate::numbers::float;
use crate::variants::{SUBJECTS, Variant};

const CONNECTIONS: u16 = 4;

/// Loads the rate limit service with this number of calls in flight.
pub async fn run(variant: &Variant, in_flight: u16, length: Duration) -> Result<ClosedRun> {
    let connections = in_flight.min(CONNECTIONS);
    let share = in_flight / connections;
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..connections {
        let call = Call {
            authority: variant.address.clone(),
            path: variant.path,
            bearer: variant.bearer.clone(),
        };
        let first_subject = u32::from(number * share) * 4001 % SUBJECTS;
        let connection = Connection::open(call, first_subject).await?;
        tasks.spawn(connection.run(share, began + length));
    }
    let mut all = ClosedRun { requests: 0, per_second: 0.0, refusals: 0, errors: 0 };
    while let Some(counts) = tasks.join_next().await {
        let counts = counts.context("a connection panicked")??;
        all.requests += counts.requests;
        all.refusals += counts.refusals;
        all.errors += counts.errors;
    }
    ensure!(all.requests > 0, "no call was answered");
    all.per_second = float(all.requests) / began.elapsed().as_secs_f64();
    Ok(all)
}
