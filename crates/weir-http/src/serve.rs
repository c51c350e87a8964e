//! The accept loop of a plane, with the bounds that `axum::serve` lacks.
//!
//! A connection counts against a cap; it must show its first bytes, its headers and its requests in time; HTTP/1.1 and
//! HTTP/2 with prior knowledge are told apart by those first bytes. On shutdown nothing new is accepted, requests in
//! flight finish, and what is left at the deadline is cut.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::opening::{Opening, Protocol};
use crate::client_address::TrustedProxies;
use crate::plane::Plane;

mod opening;

/// The bounds of a listener.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// Connections at a time; more wait in the backlog of the operating system.
    pub connections_max: usize,
    /// From the connection until its first bytes tell the protocol.
    pub first_bytes_deadline: Duration,
    /// From the first byte of a request (or the end of the last one) until its headers are complete.
    pub headers_deadline: Duration,
    /// Headers of one request.
    pub headers_max: usize,
    /// Requests in flight on one HTTP/2 connection.
    pub streams_max: u32,
    /// After shutdown was asked for, until connections are cut.
    pub drain_deadline: Duration,
    /// Peers that may say whom a request comes from.
    pub trusted_proxies: TrustedProxies,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            connections_max: 8192,
            first_bytes_deadline: Duration::from_secs(5),
            headers_deadline: Duration::from_secs(30),
            headers_max: 64,
            streams_max: 128,
            drain_deadline: Duration::from_secs(20),
            trusted_proxies: TrustedProxies::default(),
        }
    }
}

/// Serves until `shutdown`, then drains. Requests carry their [`ClientAddress`](crate::client_address::ClientAddress).
pub async fn serve(
    listener: TcpListener,
    plane: Plane,
    settings: ServeSettings,
    shutdown: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(settings.connections_max));
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        let Some((permit, stream, peer)) = accepted else {
            continue;
        };
        let (plane, settings) = (plane.clone(), settings.clone());
        let (shutdown, cut) = (shutdown.clone(), cut.clone());
        connections.spawn(async move {
            let connection = Connection { plane, settings, shutdown, peer };
            tokio::select! {
                () = connection.run(stream) => {}
                () = cut.cancelled() => {}
            }
            drop(permit);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(settings.drain_deadline, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "cut what did not end in time");
        cut.cancel();
        connections.wait().await;
    }
}

type Accepted = (tokio::sync::OwnedSemaphorePermit, TcpStream, SocketAddr);

async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = Arc::clone(permits).acquire_owned().await.expect("the semaphore is never closed");
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are small and complete: waiting to fill a packet only adds latency.
            let _ = stream.set_nodelay(true);
            Some((permit, stream, peer))
        }
        Err(error) => {
            tracing::warn!(%error, "could not accept a connection");
            // Out of descriptors: trying again at once would spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

struct Connection {
    plane: Plane,
    settings: ServeSettings,
    shutdown: CancellationToken,
    peer: SocketAddr,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        let opening = Opening::read(stream);
        let opened = tokio::select! {
            opened = tokio::time::timeout(self.settings.first_bytes_deadline, opening) => opened,
            () = self.shutdown.cancelled() => return,
        };
        let Ok(Ok((protocol, stream))) = opened else {
            return;
        };
        let served = match protocol {
            Protocol::Http1 => self.http1(stream).await,
            Protocol::Http2 => self.http2(stream).await,
        };
        if let Err(error) = served {
            tracing::debug!(%error, peer = %self.peer, "connection ended early");
        }
    }

    async fn http1(&self, stream: Opening) -> hyper::Result<()> {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.headers_deadline)
            .max_headers(self.settings.headers_max)
            .max_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), service_fn(|request| self.answer(request)));
        tokio::pin!(connection);
        tokio::select! {
            served = connection.as_mut() => return served,
            () = self.shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    }

    async fn http2(&self, stream: Opening) -> hyper::Result<()> {
        let (plane, peer) = (self.plane.clone(), self.peer);
        let trusted_proxies = self.settings.trusted_proxies.clone();
        let service = service_fn(move |request| {
            let (plane, trusted_proxies) = (plane.clone(), trusted_proxies.clone());
            async move { answer(&plane, &trusted_proxies, peer, request).await }
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.settings.streams_max)
            .max_header_list_size(16 * 1024)
            .max_pending_accept_reset_streams(Some(20))
            .max_local_error_reset_streams(Some(128))
            .keep_alive_interval(Some(self.settings.headers_deadline))
            .keep_alive_timeout(self.settings.first_bytes_deadline)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        tokio::select! {
            served = connection.as_mut() => return served,
            () = self.shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    }

    async fn answer(&self, request: Request<Incoming>) -> io::Result<axum::response::Response> {
        answer(&self.plane, &self.settings.trusted_proxies, self.peer, request).await
    }
}

async fn answer(
    plane: &Plane,
    trusted_proxies: &TrustedProxies,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> io::Result<axum::response::Response> {
    let mut request = request.map(Body::new);
    let client = trusted_proxies.client(peer.ip(), request.headers());
    let used_tls = trusted_proxies.used_tls(peer.ip(), request.headers());
    request.extensions_mut().insert(client);
    let mut response = plane.answer(request).await;
    if used_tls {
        let year = HeaderValue::from_static("max-age=31536000");
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    Ok(response)
}

#[cfg(test)]
mod tests;
