//! Gives leased units back: those that lie idle, and all of them when the gate ends.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_domain::request::Act;
use weir_redis::limiter::Asked;

use crate::leases::Unused;
use crate::state::GateState;

/// Looks after one gate's leases.
#[derive(Debug)]
pub struct LeaseKeeper(GateState);

const EVERY: Duration = Duration::from_millis(250);
/// Given back in one call.
const AT_ONCE: usize = 100;

impl LeaseKeeper {
    /// A keeper of this gate's leases.
    pub fn new(state: GateState) -> Self {
        Self(state)
    }

    /// Gives back what lies idle until the gate has `drained`, then everything.
    pub async fn run(self, drained: CancellationToken) {
        let mut turns = tokio::time::interval(EVERY);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = drained.cancelled() => break,
                _ = turns.tick() => {}
            }
            self.give_back(false).await;
        }
        self.give_back(true).await;
    }

    async fn give_back(&self, everything: bool) {
        let unused = self.0.leases.take_unused(everything, Instant::now());
        for some in unused.chunks(AT_ONCE) {
            let ends = some.iter().map(|it| it.ends).min().unwrap_or_default();
            let asked: Vec<_> = some.iter().map(refund).collect();
            // What cannot be given back is lost: limits are then too strict until their windows end.
            for error in
                self.0.limiter.give_back(&asked, ends).await.into_iter().filter_map(Result::err)
            {
                tracing::debug!(%error, "leased units were lost");
            }
        }
    }
}

fn refund(unused: &Unused) -> Asked<'_> {
    let (tenant, cost) = (unused.tenant, unused.units);
    let rules = std::slice::from_ref(&unused.charge);
    Asked { tenant, act: Act::Refund, cost, rules, idempotency: None }
}
