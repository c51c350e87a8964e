//! The signal: "look, the rulebook is at version 42". Published after a change, received by every gate.
//!
//! Pub/sub loses messages, so a signal is only a reason to look. A new subscription counts as one:
//! what was published while nobody listened is lost.

mod announcer;
mod marker;
mod subscription;

use redis::Client;
use tokio_util::sync::CancellationToken;
use weir_domain::subject::SubjectKey;

pub use self::announcer::Signal;

/// Why a follower should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// This version was announced.
    Announced(u64),
    /// A subscription began: something was possibly missed.
    Subscribed,
    /// Units were refunded to this subject.
    Refunded(SubjectKey),
    /// This subject's counters were reset.
    Reset(SubjectKey),
    /// A message that is neither a version nor a subject.
    Malformed,
    /// The subscription ended, or Redis does not answer on it. Noticed within two seconds.
    Disconnected,
    /// Redis lost its data: counters that were there are gone. Noticed within about half a second.
    DataLost,
}

/// Calls `wake` for each signal, each new subscription and each loss of data until `stop`.
pub async fn follow(client: Client, stop: CancellationToken, wake: impl Fn(Wake)) {
    let listening = subscription::keep(&client, &wake);
    let watching = marker::watch(&client, &wake);
    stop.run_until_cancelled(async { tokio::join!(listening, watching) }).await;
    wake(Wake::Disconnected);
}

#[cfg(test)]
mod tests;
