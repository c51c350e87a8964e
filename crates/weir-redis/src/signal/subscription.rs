//! The subscription of a gate. A connection on which Redis does not answer a ping in time counts as lost, since a half-open
//! connection delivers nothing and never ends.

use std::time::Duration;

use futures_util::StreamExt as _;
use redis::aio::{PubSubSink, PubSubStream};
use redis::{Msg, Value};
use tokio::time::{Instant, sleep, timeout};
use weir_domain::subject::SubjectKey;

use super::wake::Wake;
use crate::client::Client;
use crate::error::RedisError;
use crate::keys::{INVALIDATION_CHANNEL, RESET, SIGNAL_CHANNEL};
use crate::placement::Buckets;

const SUBSCRIBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The interval of pings. The sum of it and the next constant bounds the time until a dead subscription is detected.
const PING_EVERY: Duration = Duration::from_millis(500);
const PING_TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Subscribes, and again whenever a subscription ends.
pub(super) async fn keep(client: &Client, wake: &impl Fn(Wake)) {
    let mut pause = RETRY_FIRST;
    loop {
        let began = Instant::now();
        let Err(error) = listen(client, wake).await;
        wake(Wake::Disconnected(Buckets::NONE));
        tracing::debug!(%error, "could not subscribe to the rulebook signal");
        if began.elapsed() > RETRY_MAX {
            pause = RETRY_FIRST;
        }
        sleep(pause).await;
        pause = (pause * 2).min(RETRY_MAX);
    }
}

/// Listens until the connection ends or is silent.
async fn listen(client: &Client, wake: &impl Fn(Wake)) -> Result<Never, RedisError> {
    let subscribe = async {
        let (mut pubsub, server) = client.subscribe().await?;
        pubsub.subscribe(&[SIGNAL_CHANNEL, INVALIDATION_CHANNEL]).await?;
        Ok::<_, RedisError>((pubsub, server))
    };
    let subscribed = timeout(SUBSCRIBE_TIMEOUT, subscribe).await;
    let (pubsub, server) = subscribed.map_err(|_| RedisError::Timeout)??;
    wake(Wake::Subscribed(Buckets::ALL));
    let (sink, messages) = pubsub.split();
    tokio::select! {
        error = ping(sink) => Err(error),
        () = receive(messages, wake) => Err(RedisError::Away),
        () = client.moved(&server) => Err(RedisError::NotPrimary),
    }
}

/// A type without values.
enum Never {}

/// Pings until an answer does not arrive in time.
async fn ping(mut sink: PubSubSink) -> RedisError {
    loop {
        sleep(PING_EVERY).await;
        match timeout(PING_TIMEOUT, sink.ping::<Value>()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return error.into(),
            Err(_) => return RedisError::Timeout,
        }
    }
}

/// Calls `wake` for each message until the connection ends.
async fn receive(mut messages: PubSubStream, wake: &impl Fn(Wake)) {
    while let Some(message) = messages.next().await {
        wake(parse(&message).unwrap_or(Wake::Malformed));
    }
}

fn parse(message: &Msg) -> Option<Wake> {
    let text = std::str::from_utf8(message.get_payload_bytes()).ok()?;
    if message.get_channel_name() != INVALIDATION_CHANNEL {
        return text.parse().map(Wake::Announced).ok();
    }
    let subject = |hex| u128::from_str_radix(hex, 16).map(SubjectKey).ok();
    match text.strip_prefix(RESET) {
        Some(text) => {
            let (tenant, hex) = text.split_once(':')?;
            Some(Wake::Reset(tenant.parse().ok()?, subject(hex)?))
        }
        None => subject(text).map(Wake::Refunded),
    }
}
