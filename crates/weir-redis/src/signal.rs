//! The signal: "look, the rulebook is at version 42". Said after a change, heard by every gate.
//!
//! Pub/sub loses messages, so a signal is only a reason to look. A new subscription counts as one:
//! what was said while nobody listened is lost.

use std::time::Duration;

use futures_util::StreamExt as _;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use weir_domain::subject::SubjectKey;

use crate::error::RedisError;
use crate::keys::{FORGET_CHANNEL, RESET, SIGNAL_CHANNEL};

/// Says that the rulebook changed.
#[derive(Debug)]
pub struct Signal {
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// Why a follower should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// This version was announced.
    Announced(u64),
    /// A subscription began: something may have been missed.
    Subscribed,
    /// Units were given back to this subject.
    GivenBack(SubjectKey),
    /// This subject's counters were reset.
    Reset(SubjectKey),
    /// Something was said that is not a version.
    Unreadable,
    /// The subscription ended.
    Deaf,
}

const TIMEOUT: Duration = Duration::from_millis(500);
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(1);

impl Signal {
    /// A signal over `client`; it connects when it is first used.
    pub fn new(client: Client) -> Self {
        Self { client, connection: Mutex::new(None) }
    }

    /// Announces a version. An error means that gates hear of it from their timers.
    pub async fn publish(&self, version: u64) -> Result<(), RedisError> {
        let mut slot = self.connection.lock().await;
        for last_try in [false, true] {
            let connection = match &mut *slot {
                Some(connection) => connection,
                empty => empty.insert(self.connect().await?),
            };
            let mut command = redis::cmd("PUBLISH");
            command.arg(SIGNAL_CHANNEL).arg(version);
            match command.query_async::<i64>(connection).await {
                Ok(_) => return Ok(()),
                Err(error) => {
                    // A connection that idled may have died since; a fresh one is tried once.
                    *slot = None;
                    if last_try {
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(())
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(TIMEOUT))
            .set_response_timeout(Some(TIMEOUT));
        Ok(self.client.get_multiplexed_async_connection_with_config(&config).await?)
    }
}

/// Calls `wake` for each signal and each new subscription until `stop`.
pub async fn follow(client: Client, stop: CancellationToken, wake: impl Fn(Wake)) {
    let mut pause = RETRY_FIRST;
    while !stop.is_cancelled() {
        let heard = stop.run_until_cancelled(listen(&client, &wake)).await;
        wake(Wake::Deaf);
        if let Some(Ok(())) = heard {
            pause = RETRY_FIRST;
        } else if let Some(Err(error)) = heard {
            tracing::debug!(%error, "no subscription to the rulebook signal");
        }
        stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        pause = (pause * 2).min(RETRY_MAX);
    }
}

/// Listens until the connection ends.
async fn listen(client: &Client, wake: &impl Fn(Wake)) -> Result<(), RedisError> {
    let subscribe = async {
        let mut pubsub = client.get_async_pubsub().await?;
        pubsub.subscribe(&[SIGNAL_CHANNEL, FORGET_CHANNEL]).await?;
        Ok::<_, redis::RedisError>(pubsub)
    };
    let pubsub =
        tokio::time::timeout(TIMEOUT, subscribe).await.map_err(|_| RedisError::Timeout)??;
    wake(Wake::Subscribed);
    let mut messages = pubsub.into_on_message();
    while let Some(message) = messages.next().await {
        let said = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
        let why = if message.get_channel_name() == FORGET_CHANNEL {
            let subject = |hex| u128::from_str_radix(hex, 16).map(SubjectKey).ok();
            match said.strip_prefix(RESET) {
                Some(hex) => subject(hex).map(Wake::Reset),
                None => subject(said).map(Wake::GivenBack),
            }
        } else {
            said.parse().map(Wake::Announced).ok()
        };
        wake(why.unwrap_or(Wake::Unreadable));
    }
    Ok(())
}
