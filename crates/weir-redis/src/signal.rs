//! The signal that announces a version of the rulebook. It is published after a change and received by every gate.
//!
//! Pub/sub loses messages, so a signal only wakes a gate, which then reads the version itself. A new subscription wakes
//! it too, because messages published before are lost.
//!
//! In a cluster, a gate subscribes at every primary that serves buckets, and knows the buckets about which it receives
//! announcements. A message reaches all nodes over the bus of the cluster, but only the subscribers of its own node for
//! sure, and nothing tells the others if the bus is cut.

mod announcer;
mod marker;
mod primaries;
mod primary;
mod subscription;
mod wake;

use tokio_util::sync::CancellationToken;

pub use self::announcer::Signal;
pub use self::wake::Wake;
use crate::client::Client;
use crate::keys::MARKER;
use crate::placement::Buckets;

/// Calls `wake` for each signal, each new subscription and each loss of data until `stop`.
pub async fn follow(client: Client, stop: CancellationToken, wake: impl Fn(Wake)) {
    let following = async {
        if client.is_cluster() {
            primaries::follow(&client, &wake).await;
        } else {
            primary::follow(&client, MARKER, &wake).await;
        }
    };
    stop.run_until_cancelled(following).await;
    wake(Wake::Disconnected(Buckets::NONE));
}

#[cfg(test)]
mod cluster_tests;
#[cfg(test)]
mod tests;
