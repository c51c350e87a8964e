//! The settings of a listener.

use std::sync::Arc;
use std::time::Duration;

use super::meters::ListenerMeters;
use super::tls::Tls;
use crate::client_address::TrustedProxies;

/// The bounds of a listener.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// The most connections at a time.
    pub connections_max: usize,
    /// The most connections at a time of one address, or of one IPv6 network of 64 bits. Trusted proxies are exempt.
    pub connections_per_address_max: usize,
    /// The longest time until the first bytes identify the protocol.
    pub first_bytes_deadline: Duration,
    /// HTTP/1.1: the longest time from the end of a request to the complete head of the next. HTTP/2: the longest time in
    /// which a client sends no request and reads nothing.
    pub idle_deadline: Duration,
    /// The longest time in which a write makes no progress.
    pub write_deadline: Duration,
    /// The age at which a connection is asked to end. Half a minute later it is cut.
    pub connection_age_max: Duration,
    /// The certificate. `None`: connections are not encrypted.
    pub tls: Option<Arc<Tls>>,
    /// Whether connections of HTTP/1 are served, or closed.
    pub http1: bool,
    /// The most bytes of bodies that the requests in progress of one connection hold. A body beyond it fails.
    pub body_bytes_per_connection_max: usize,
    /// The same for one address, or one IPv6 network of 64 bits. Trusted proxies are exempt.
    pub body_bytes_per_address_max: usize,
    /// The most headers of one request.
    pub headers_max: usize,
    /// The beginning of targets of which only proxies ask. Such requests contain what the proxies' clients send, so they can have
    /// more headers, any host, and control characters, which the plane gets as bytes that are no text.
    pub proxied_prefix: Option<&'static str>,
    /// The most requests in flight on one HTTP/2 connection.
    pub streams_max: u32,
    /// The most requests in flight on all connections; others are refused with 503.
    pub requests_max: usize,
    /// The longest wait of a request for this process. When all waits are longer for some time, such requests are refused
    /// with 503.
    pub wait_max: Duration,
    /// The time from the request to shut down until connections are cut.
    pub drain_deadline: Duration,
    /// The proxies that can name the client of a request.
    pub trusted_proxies: TrustedProxies,
    /// The metrics of the listener.
    pub meters: Arc<ListenerMeters>,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            connections_max: 8192,
            connections_per_address_max: 1024,
            first_bytes_deadline: Duration::from_secs(5),
            idle_deadline: Duration::from_secs(30),
            write_deadline: Duration::from_secs(30),
            connection_age_max: Duration::from_hours(1),
            tls: None,
            http1: true,
            body_bytes_per_connection_max: 16 << 20,
            body_bytes_per_address_max: 128 << 20,
            headers_max: 64,
            proxied_prefix: None,
            streams_max: 128,
            requests_max: 8192,
            wait_max: Duration::from_millis(100),
            drain_deadline: Duration::from_secs(20),
            trusted_proxies: TrustedProxies::default(),
            meters: Arc::default(),
        }
    }
}
