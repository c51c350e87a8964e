//! A cluster: the slots that it covers, the spread of buckets over its primaries, and its settings.

use std::collections::HashMap;

use redis::aio::MultiplexedConnection;

use super::report::{Judgement, Report};
use crate::client::SlotMap;
use crate::error::RedisError;
use crate::slots;

/// The longest `cluster-node-timeout` that is recommended, in milliseconds.
const NODE_TIMEOUT_MAX_MS: u64 = 5_000;

/// Reports the slots and the spread of buckets.
pub(super) fn inspect(map: &SlotMap, report: &mut Report) {
    let covered = map.covered();
    let judgement = if covered == slots::COUNT { Judgement::Good } else { Judgement::Notice };
    report.add(judgement, "slots", format!("{covered} of {} are covered", slots::COUNT));
    let counts: Vec<_> = map.primaries().iter().map(|primary| map.bucket_count(primary)).collect();
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    let even = least.zip(most).is_some_and(|(least, most)| most <= least + least / 2 + 1);
    let judgement = if even { Judgement::Good } else { Judgement::Notice };
    let texts: Vec<_> = counts.iter().map(ToString::to_string).collect();
    let advice = if even { "" } else { "; primaries with equal ranges of slots share the load" };
    report.add(judgement, "spread", format!("{} buckets{advice}", texts.join(" + ")));
}

/// Reports the settings that decide how long a failover takes and what it affects. Nothing if `CONFIG` is not permitted.
pub(super) async fn inspect_settings(
    connection: &mut MultiplexedConnection,
    report: &mut Report,
) -> Result<(), RedisError> {
    let mut get = redis::cmd("CONFIG");
    get.arg("GET").arg("cluster-*");
    let settings: HashMap<String, String> = match get.query_async(connection).await {
        Err(error) if error.is_io_error() || error.is_timeout() => return Err(error.into()),
        // Managed services do not have it, and users often have no right to it.
        Err(_) => return Ok(()),
        Ok(settings) => settings,
    };
    if let Some(timeout_ms) =
        settings.get("cluster-node-timeout").and_then(|ms| ms.parse::<u64>().ok())
    {
        let slow = timeout_ms > NODE_TIMEOUT_MAX_MS;
        let judgement = if slow { Judgement::Notice } else { Judgement::Good };
        let advice =
            if slow { "; set 2000 to 5000, since a failover takes longer than this" } else { "" };
        report.add(judgement, "node timeout", format!("{timeout_ms} ms{advice}"));
    }
    if settings.get("cluster-require-full-coverage").is_some_and(|value| value == "yes") {
        let text = "cluster-require-full-coverage is on, so the loss of one primary and its replicas \
                    stops all others; set it to no";
        report.add(Judgement::Notice, "coverage", text);
    }
    Ok(())
}
