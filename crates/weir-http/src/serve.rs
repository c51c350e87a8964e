//! The accept loop of a listener, with the bounds that `axum::serve` lacks.
//!
//! - Connections are bounded in all and by address. A full listener closes the connection that has been idle for
//!   longest; if none is idle, the new one is answered with 503.
//! - Every connection ends: it has deadlines for its first bytes, for each request's head, for idling, for writes
//!   that make no progress, and a maximum age.
//! - The bytes of bodies that requests in progress hold are bounded by connection and by address, and the control frames of
//!   an HTTP/2 connection by its requests.
//! - HTTP/1.1 heads are checked strictly before they are parsed. HTTP/2 needs prior knowledge, or TLS.
//! - Requests that have waited too long for this process are refused with 503 at once.
//! - On shutdown connections in the backlog are still accepted, then the port closes. Each connection ends with its next
//!   answer, or soon if it is idle, and connections left at the deadline are cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::body_budget::Budget;
use self::closing::Closing;
use self::connection::Connection;
use self::connection_state::ConnectionState;
use self::overload::Overload;
use self::registry::Registry;
use self::shared::Shared;
use crate::plane::Plane;

pub use self::bind::{BACKLOG, bind};
pub use self::body_budget::OverBudget;
pub use self::meters::ListenerMeters;
pub use self::settings::ServeSettings;
pub use self::tls::{Tls, TlsError, TlsFiles};

mod answer;
mod bind;
mod body_budget;
mod chunks;
mod closing;
mod connection;
mod connection_state;
mod control_frames;
mod head;
mod http1_stream;
mod http2_stream;
pub(crate) mod meters;
mod overload;
mod paced_body;
mod rarely;
mod registry;
mod settings;
mod shared;
mod tls;
mod transport;

/// The most refused connections that are answered at a time; the others are closed without an answer.
const REFUSALS_MAX: usize = 64;
/// The shortest time between two log lines about failures to accept.
const ACCEPT_LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Serves until `shutdown`, then drains. Requests carry their [`ClientAddress`](crate::client_address::ClientAddress).
pub async fn serve(
    listener: TcpListener,
    plane: Plane,
    settings: ServeSettings,
    shutdown: CancellationToken,
) {
    let drain_deadline = settings.drain_deadline;
    let overload = Overload::new(settings.wait_max, settings.requests_max);
    let started = Instant::now();
    let mut acceptor = Acceptor {
        registry: Registry::new(settings.connections_max, settings.connections_per_address_max),
        shared: Arc::new(Shared {
            plane,
            settings,
            overload,
            started,
            closing: Closing::default(),
        }),
        connections: TaskTracker::new(),
        cut: CancellationToken::new(),
        refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
        next_log: started,
    };
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => acceptor.accept(stream, peer),
                Err(error) => acceptor.accept_failed(&error).await,
            },
        }
    }
    acceptor.shared.closing.begin();
    acceptor.accept_backlog(listener);
    acceptor.drain(drain_deadline).await;
}

struct Acceptor {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    connections: TaskTracker,
    cut: CancellationToken,
    refusals: Arc<Semaphore>,
    next_log: Instant,
}

impl Acceptor {
    fn accept(&self, stream: TcpStream, peer: SocketAddr) {
        // Answers are small and written at once, so waiting to fill a packet only adds latency.
        let _ = stream.set_nodelay(true);
        let peer = peer.ip().to_canonical();
        let state = ConnectionState::new(Instant::now());
        let is_limited = !self.shared.settings.trusted_proxies.contains(peer);
        let admitted = self.registry.admit(peer, is_limited, &state);
        let shared = Arc::clone(&self.shared);
        let meters = Arc::clone(&shared.settings.meters);
        let cut = self.cut.clone();
        match admitted {
            Ok((entry, evicted)) => {
                let budgets = budgets(&shared.settings, is_limited.then(|| entry.body_bytes()));
                let connection = Connection { shared, state, peer, budgets };
                meters.evicted(evicted);
                meters.opened();
                self.connections.spawn(async move {
                    connection.run(stream, &cut).await;
                    meters.closed();
                    drop(entry);
                });
            }
            Err(full) => {
                meters.refused(full);
                let connection = Connection { shared, state, peer, budgets: Arc::new([]) };
                if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
                    self.connections.spawn(async move {
                        tokio::select! {
                            () = connection.refuse(stream) => {}
                            () = cut.cancelled() => {}
                        }
                        drop(permit);
                    });
                }
            }
        }
    }

    /// Handles a failure to accept, usually because file descriptors ran out. It closes idle connections and waits, because
    /// an immediate retry would spin.
    async fn accept_failed(&mut self, error: &std::io::Error) {
        let meters = &self.shared.settings.meters;
        meters.accept_failed();
        let evicted = self.registry.make_room();
        meters.evicted(evicted);
        if Instant::now() >= self.next_log {
            self.next_log = Instant::now() + ACCEPT_LOG_INTERVAL;
            tracing::warn!(%error, closed_idle = evicted, "could not accept a connection");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    /// Accepts the connections that the operating system has opened already, and closes the port. Their clients would else
    /// see a reset.
    fn accept_backlog(&self, listener: TcpListener) {
        // The runtime's listener can miss connections that arrived since it last polled.
        let Ok(listener) = listener.into_std() else { return };
        while let Ok((stream, peer)) = listener.accept() {
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = stream {
                self.accept(stream, peer);
            }
        }
    }

    async fn drain(self, deadline: Duration) {
        self.connections.close();
        if tokio::time::timeout(deadline, self.connections.wait()).await.is_err() {
            tracing::warn!(
                connections = self.connections.len(),
                "closed connections that did not end in time"
            );
            self.cut.cancel();
            self.connections.wait().await;
        }
    }
}

/// The budgets of a connection: its own, and that of its address.
fn budgets(settings: &ServeSettings, of_address: Option<Arc<AtomicUsize>>) -> Arc<[Budget]> {
    let own = Budget::new(Arc::default(), settings.body_bytes_per_connection_max);
    let of_address = of_address.map(|used| Budget::new(used, settings.body_bytes_per_address_max));
    std::iter::once(own).chain(of_address).collect()
}

#[cfg(test)]
mod tests;
