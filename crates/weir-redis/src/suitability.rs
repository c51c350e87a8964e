//! A report for the operator: whether Weir can use a Redis, with one finding for each property.

mod cluster;
mod report;
mod rights;
mod server;

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::Instant;
use weir_domain::time::Timestamp;

pub use self::report::{Finding, Judgement, Report};
pub(crate) use self::server::info;
use crate::client::Client;
use crate::error::RedisError;
use crate::limiter;
use crate::placement::Bucket;

const TIMEOUT: Duration = Duration::from_secs(3);
/// The number of measured round trips.
const PINGS: usize = 21;
/// The difference of two clocks that a synchronised machine does not have.
const SKEW_MAX: Duration = Duration::from_millis(250);

/// Inspects Redis as a gate with this budget would use it. Writes a few keys and removes them. `now` is the clock of this
/// machine.
pub async fn inspect(client: &Client, budget: Duration, now: impl Fn() -> Timestamp) -> Report {
    let mut report = Report::default();
    match client.unsuitable(TIMEOUT).await {
        Ok(None) => report.add(Judgement::Good, "address", client.describe().await),
        Ok(Some(reason)) => {
            report.add(Judgement::Bad, "address", reason.to_string());
            return report;
        }
        Err(error) => {
            report.add(Judgement::Bad, "address", format!("no connection: {}", error.cause()));
            return report;
        }
    }
    if let Err(error) = inspect_primaries(client, budget, &now, &mut report).await {
        report.add(Judgement::Bad, "connection", format!("it failed: {}", error.cause()));
    }
    report
}

/// Inspects the only primary, or each of a cluster.
async fn inspect_primaries(
    client: &Client,
    budget: Duration,
    now: &impl Fn() -> Timestamp,
    report: &mut Report,
) -> Result<(), RedisError> {
    let mut tags = Vec::new();
    if client.is_cluster() {
        let map = client.slot_map(TIMEOUT).await?;
        cluster::inspect(&map, report);
        for primary in map.primaries() {
            tags.extend(map.first_bucket_of(&primary).map(Bucket::tag));
        }
    } else {
        tags.push("check-redis");
    }
    let mut reports = Vec::new();
    for (primary, tag) in client.primaries().await?.into_iter().zip(tags) {
        let mut own = Report::default();
        if let Err(error) = inspect_server(&primary, tag, (budget, now), &mut own).await {
            own.add(Judgement::Bad, "connection", format!("it failed: {}", error.cause()));
        }
        let name = primary.node().map(ToString::to_string).unwrap_or_default();
        reports.push((name, own));
    }
    report.add_merged(reports);
    Ok(())
}

/// Inspects one server. `tag` is the hash tag of the keys that it writes.
async fn inspect_server(
    client: &Client,
    tag: &str,
    (budget, now): (Duration, &impl Fn() -> Timestamp),
    report: &mut Report,
) -> Result<(), RedisError> {
    let mut connection = client.connect(TIMEOUT).await?.0;
    server::inspect(&mut connection, report).await?;
    if client.is_cluster() {
        cluster::inspect_settings(&mut connection, report).await?;
    }
    functions(&mut connection, report).await;
    round_trip(&mut connection, budget, report).await?;
    clock(&mut connection, now, report).await?;
    rights::inspect(client, &mut connection, tag, report).await?;
    tracking(client, report).await;
    Ok(())
}

/// Whether Redis reports the loss of its data, so that gates need not look for it.
async fn tracking(client: &Client, report: &mut Report) {
    match client.connect_tracking(TIMEOUT, Arc::default()).await {
        Ok(_) => report.add(Judgement::Good, "data loss", "gates are notified at once"),
        Err(error) => {
            let text = format!(
                "gates notice it after up to half a second, because `HELLO 3` or `CLIENT TRACKING` fails: {error}"
            );
            report.add(Judgement::Notice, "data loss", text);
        }
    }
}

/// Whether Redis runs the limiter.
async fn functions(connection: &mut MultiplexedConnection, report: &mut Report) {
    let Err(error) = limiter::probe_program(connection).await else {
        return report.add(Judgement::Good, "functions", "they run");
    };
    let needed = limiter::missing(&error).map(|needed| format!("{needed}; "));
    let text = format!("{}they do not run: {}", needed.unwrap_or_default(), error.cause());
    report.add(Judgement::Bad, "functions", text);
}

async fn round_trip(
    connection: &mut MultiplexedConnection,
    budget: Duration,
    report: &mut Report,
) -> Result<(), RedisError> {
    let mut measured = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let sent = Instant::now();
        redis::cmd("PING").query_async::<()>(connection).await?;
        measured.push(sent.elapsed());
    }
    measured.sort_unstable();
    let median = measured[PINGS / 2];
    let judgement = match () {
        () if median >= budget => Judgement::Bad,
        () if median * 2 > budget => Judgement::Notice,
        () => Judgement::Good,
    };
    let advice = if judgement == Judgement::Good {
        String::new()
    } else {
        format!("; set WEIR_REDIS_BUDGET_MS to {} or more", (median * 2).as_millis() + 1)
    };
    let text = format!("{median:.1?} with a budget of {budget:?}{advice}");
    report.add(judgement, "round trip", text);
    Ok(())
}

async fn clock(
    connection: &mut MultiplexedConnection,
    now: &impl Fn() -> Timestamp,
    report: &mut Report,
) -> Result<(), RedisError> {
    let (before, sent) = (now(), Instant::now());
    let time: (u64, u64) = redis::cmd("TIME").query_async(connection).await?;
    let here_ms = before.as_millis() + i64::try_from(sent.elapsed().as_millis() / 2).unwrap_or(0);
    let (seconds, micros) = time;
    let there_ms = i64::try_from(seconds * 1_000 + micros / 1_000).unwrap_or(i64::MAX);
    let skew_ms = there_ms - here_ms;
    let large = u128::from(skew_ms.unsigned_abs()) > SKEW_MAX.as_millis();
    let judgement = if large { Judgement::Notice } else { Judgement::Good };
    let advice = if large { "; synchronise the clocks of Redis and its replicas" } else { "" };
    report.add(judgement, "clock", format!("{skew_ms:+} ms from this machine{advice}"));
    Ok(())
}

#[cfg(test)]
mod tests;
