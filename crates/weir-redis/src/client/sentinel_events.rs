//! Listens to what Sentinels publish about failovers.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::queried::QUERY_TIMEOUT;
use crate::error::RedisError;

/// The subscriptions to all Sentinels. Dropping them ends them.
#[derive(Debug)]
pub(super) struct SentinelEvents {
    /// Changes with each event.
    event: watch::Sender<()>,
    _subscriptions: JoinSet<()>,
}

/// A Sentinel begins a failover, selects the replica, or names the new primary.
const CHANNELS: [&str; 3] = ["+try-failover", "+selected-slave", "+switch-master"];
/// The time after which a failed subscription is repeated. Meanwhile the interval of the comparisons finds a failover.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The time after which a silent subscription is renewed, because a Sentinel that was cut off does not close it.
const RENEW_AFTER: Duration = Duration::from_secs(30);

impl SentinelEvents {
    /// Must be called in a runtime.
    pub(super) fn subscribe(sentinels: impl Iterator<Item = redis::Client>) -> Self {
        let event = watch::Sender::new(());
        let subscriptions = sentinels.map(|sentinel| listen(sentinel, event.clone())).collect();
        Self { event, _subscriptions: subscriptions }
    }

    /// A receiver that sees each event from now on.
    pub(super) fn receiver(&self) -> watch::Receiver<()> {
        self.event.subscribe()
    }
}

async fn listen(sentinel: redis::Client, changed: watch::Sender<()>) {
    loop {
        if listen_once(&sentinel, &changed).await.is_err() {
            sleep(RETRY_AFTER).await;
        }
    }
}

/// Returns when the subscription was silent for long, with an error when it could not be made or has ended.
async fn listen_once(
    sentinel: &redis::Client,
    changed: &watch::Sender<()>,
) -> Result<(), RedisError> {
    let subscribe = async {
        let mut subscription = sentinel.get_async_pubsub().await?;
        subscription.subscribe(&CHANNELS).await?;
        Ok::<_, RedisError>(subscription)
    };
    let mut subscription =
        timeout(QUERY_TIMEOUT, subscribe).await.map_err(|_| RedisError::Away)??;
    // A failover that began before the subscription is found by a comparison.
    changed.send_replace(());
    let mut messages = subscription.on_message();
    while let Ok(message) = timeout(RENEW_AFTER, messages.next()).await {
        message.ok_or(RedisError::Away)?;
        changed.send_replace(());
    }
    Ok(())
}
