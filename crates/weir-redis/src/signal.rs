//! The signal that announces a version of the rulebook. It is published after a change and received by every gate.
//!
//! Pub/sub loses messages, so a signal only wakes a gate, which then reads the version itself. A new subscription wakes
//! it too, because messages published before are lost.

mod announcer;
mod marker;
mod subscription;
mod wake;

use tokio_util::sync::CancellationToken;

pub use self::announcer::Signal;
pub use self::wake::Wake;
use crate::client::Client;

/// Calls `wake` for each signal, each new subscription and each loss of data until `stop`.
pub async fn follow(client: Client, stop: CancellationToken, wake: impl Fn(Wake)) {
    let listening = subscription::keep(&client, &wake);
    let watching = marker::watch(&client, &wake);
    stop.run_until_cancelled(async { tokio::join!(listening, watching) }).await;
    wake(Wake::Disconnected);
}

#[cfg(test)]
mod tests;
