//! Watches whether Redis drops keys when its memory is full. It must not: a subject whose counters are dropped begins anew, and
//! more is admitted than the limits.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::error::RedisError;
use crate::suitability::info;

/// The behaviour of the primaries when their memory is full.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Eviction {
    /// The `maxmemory-policy` of a primary that evicts keys. `None` also if Redis does not permit `INFO`.
    pub policy: Option<String>,
    /// Keys that the primaries evicted since the last report; in the first, since they started.
    pub evicted: u64,
}

const EVERY: Duration = Duration::from_secs(10);
/// The pause after an error.
const RETRY: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(2);

/// Reports the behaviour of the primaries every ten seconds until `stop`.
pub async fn watch(client: Client, stop: CancellationToken, report: impl Fn(Eviction)) {
    let mut totals = HashMap::new();
    let watching = async {
        loop {
            match read(&client, &mut totals).await {
                Ok(found) => {
                    report(found);
                    sleep(EVERY).await;
                }
                Err(error) => {
                    tracing::debug!(%error, "could not read the eviction policy of Redis");
                    sleep(RETRY).await;
                }
            }
        }
    };
    stop.run_until_cancelled(watching).await;
}

/// Asks each primary. `totals` are the evicted keys of each primary in the last report.
async fn read(client: &Client, totals: &mut HashMap<String, u64>) -> Result<Eviction, RedisError> {
    let mut found = Eviction::default();
    for primary in client.primaries().await? {
        let (mut connection, _) = primary.connect(TIMEOUT).await?;
        let memory = info(&mut connection, "memory").await?;
        let policy = memory.get("maxmemory_policy").filter(|policy| *policy != "noeviction");
        found.policy = found.policy.or_else(|| policy.cloned());
        let stats = info(&mut connection, "stats").await?;
        let total = stats.get("evicted_keys").and_then(|text| text.parse().ok()).unwrap_or(0);
        let name = primary.node().map(ToString::to_string).unwrap_or_default();
        found.evicted += newly_evicted(totals.insert(name, total), total);
    }
    Ok(found)
}

/// The part of a total that is new. A smaller total is that of a server that started anew, or of another one.
fn newly_evicted(before: Option<u64>, total: u64) -> u64 {
    before.and_then(|before| total.checked_sub(before)).unwrap_or(total)
}

#[cfg(test)]
mod tests {
    use super::newly_evicted;

    #[test]
    fn evicted_keys_are_counted_once_and_from_zero_after_a_restart() {
        for (before, total, new) in
            [(None, 3, 3), (Some(3), 3, 0), (Some(3), 8, 5), (Some(8), 2, 2)]
        {
            assert_eq!(newly_evicted(before, total), new, "{before:?} {total}");
        }
    }
}
