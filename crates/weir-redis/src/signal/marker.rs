//! Detects that Redis lost its data (`FLUSHALL`, a restart without a copy). A gate writes a key without expiry once; if the
//! key later has another value or is missing, data was lost.
//!
//! The denials that gates have cached and the units that they have leased are then no longer valid. Redis therefore tracks the
//! key, and tells of its loss at once. The key is also read at intervals, for servers that do not track keys.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::wake::Wake;
use crate::client::{Client, Server};
use crate::error::RedisError;

const EVERY: Duration = Duration::from_millis(500);
const TIMEOUT: Duration = Duration::from_millis(500);

/// Calls `wake` whenever the data of this marker's server was lost.
pub(super) async fn watch(client: &Client, marker: &str, wake: &impl Fn(Wake)) {
    watch_every(EVERY, client, marker, wake).await;
}

/// The same, with another interval in which the marker is read.
pub(super) async fn watch_every(
    every: Duration,
    client: &Client,
    marker: &str,
    wake: &impl Fn(Wake),
) {
    let mut known = None;
    loop {
        // An error gives no information about the data, so the marker is read again.
        if let Err(error) = compare(every, client, marker, &mut known, wake).await {
            tracing::debug!(%error, "could not read the marker");
        }
        sleep(EVERY).await;
    }
}

/// Compares the marker with the known one, until an error occurs.
async fn compare(
    every: Duration,
    client: &Client,
    marker: &str,
    known: &mut Option<String>,
    wake: &impl Fn(Wake),
) -> Result<(), RedisError> {
    let invalidated = Arc::<Notify>::default();
    let (mut connection, server) = connect(client, &invalidated).await?;
    while client.is_current(&server).await {
        let found: Option<String> =
            redis::cmd("GET").arg(marker).query_async(&mut connection).await?;
        if known.is_some() && found != *known {
            tracing::warn!("Redis lost its data: all counters restart");
            wake(Wake::DataLost);
        }
        *known = found;
        if known.is_none() {
            let own = format!("{:016x}", RandomState::new().hash_one(0));
            let mut set = redis::cmd("SET");
            let was_set: bool =
                set.arg(marker).arg(&own).arg("NX").query_async(&mut connection).await?;
            // Otherwise another gate was faster, and the next read returns its marker.
            *known = was_set.then_some(own);
        }
        // Either way the marker is read next, which has it tracked again.
        let _ = timeout(every, invalidated.notified()).await;
    }
    Err(RedisError::NotPrimary)
}

/// Connects so that `invalidated` is notified when the marker changes, unless the server refuses that.
async fn connect(
    client: &Client,
    invalidated: &Arc<Notify>,
) -> Result<(MultiplexedConnection, Server), RedisError> {
    match client.connect_tracking(TIMEOUT, Arc::clone(invalidated)).await {
        Err(RedisError::Refused(error)) => {
            tracing::debug!(%error, "Redis refuses to track keys for this user");
            client.connect(TIMEOUT).await
        }
        connected => connected,
    }
}
