//! One connection, from its first bytes to its end.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::answer::{answer, counted, problem_of, refusal_bytes};
use super::body_budget::Budget;
use super::connection_state::ConnectionState;
use super::head::{HEAD_BYTES_MAX, HeadBounds, PROXIED_HEADERS_MAX};
use super::http1_stream::Http1Stream;
use super::http2_stream::Http2Stream;
use super::rarely::rarely;
use super::settings::ServeSettings;
use super::shared::Shared;
use super::tls::Stream;
use super::transport::{Protocol, Transport};
use crate::problem::Problem;

/// The interval at which a closing HTTP/2 connection looks whether its requests have ended.
const BUSY_PAUSE: Duration = Duration::from_millis(100);
/// The time in which a connection must end after the request to end.
const END_DEADLINE: Duration = Duration::from_secs(30);

pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) state: Arc<ConnectionState>,
    pub(super) peer: IpAddr,
    /// The budgets of the bodies of its requests.
    pub(super) budgets: Arc<[Budget]>,
}

impl Connection {
    /// Serves the connection until it ends, is evicted or cut, or is [`END_DEADLINE`] beyond its maximum age.
    pub(super) async fn run(self, stream: TcpStream, cut: &CancellationToken) {
        let end = async {
            tokio::select! {
                () = self.state.evicted() => {}
                () = cut.cancelled() => {}
                () = self.too_old() => {}
            }
        };
        tokio::select! {
            biased;
            () = self.serve(stream) => {}
            () = rarely(end) => {}
        }
    }

    async fn too_old(&self) {
        tokio::time::sleep(self.shared.settings.connection_age_max + END_DEADLINE).await;
        self.shared.settings.meters.cut();
        tracing::debug!(peer = %self.peer, "closed a connection at its maximum age");
    }

    /// Answers a connection beyond the bounds of the listener.
    pub(super) async fn refuse(self, stream: TcpStream) {
        let deadline = self.shared.settings.first_bytes_deadline;
        let opened = tokio::time::timeout(deadline, self.open(stream)).await;
        let Ok(Ok(mut transport)) = opened else { return };
        let detail = "too many open connections";
        let answer = refusal_bytes(&self.shared, Problem::unavailable(detail)).await;
        if transport.write_all(&answer).await.is_ok() {
            transport.close_after_reading().await;
        }
    }

    async fn serve(&self, stream: TcpStream) {
        let deadline = self.shared.settings.first_bytes_deadline;
        let detected = tokio::select! {
            biased;
            detected = tokio::time::timeout(deadline, self.detect(stream)) => detected,
            () = self.shared.closing.idle_end() => return,
        };
        let served = match detected {
            Ok(Ok((Protocol::Http1, _))) if !self.shared.settings.http1 => return,
            Ok(Ok((Protocol::Http1, transport))) => self.http1(transport).await,
            Ok(Ok((Protocol::Http2, transport))) => self.http2(transport).await,
            Ok(Err(_)) | Err(_) => return,
        };
        if let Err(error) = served {
            tracing::debug!(%error, peer = %self.peer, "connection ended early");
        }
    }

    async fn detect(&self, stream: TcpStream) -> io::Result<(Protocol, Transport)> {
        let mut transport = self.open(stream).await?;
        Ok((transport.detect_protocol().await?, transport))
    }

    /// Agrees on keys first, if the listener has TLS.
    async fn open(&self, stream: TcpStream) -> io::Result<Transport> {
        let settings = &self.shared.settings;
        let stream = match &settings.tls {
            None => Stream::Plain(stream),
            Some(tls) => tls.accept(stream).await.inspect_err(|error| {
                settings.meters.handshake_failed();
                tracing::debug!(%error, peer = %self.peer, "TLS handshake failed");
            })?,
        };
        Ok(Transport::new(stream, settings.write_deadline, &self.state))
    }

    async fn http1(&self, transport: Transport) -> hyper::Result<()> {
        let settings = &self.shared.settings;
        let &ServeSettings { headers_max, proxied_prefix, .. } = settings;
        let bounds = HeadBounds { headers_max, proxied_prefix };
        let mut stream = Http1Stream::new(transport, bounds, Arc::clone(&self.state));
        let service = service_fn(|request| {
            answer(&self.shared, &self.state, self.peer, counted(request, &self.budgets))
        });
        {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(settings.idle_deadline)
                .max_headers(headers_max.max(PROXIED_HEADERS_MAX))
                .max_buf_size(2 * HEAD_BYTES_MAX)
                // A client that has ended its sending side still gets its answer.
                .half_close(true)
                .serve_connection(TokioIo::new(&mut stream), service);
            tokio::pin!(connection);
            tokio::select! {
                biased;
                served = connection.as_mut() => served?,
                () = rarely(self.shared.closing.idle_end()) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await?;
                }
            }
        }
        let refusal = stream.refusal();
        let has_unread_bytes = stream.has_unread_bytes();
        let mut transport = stream.into_transport();
        if let Some(refusal) = refusal {
            settings.meters.malformed();
            let problem = problem_of(refusal);
            let _ = transport.write_all(&refusal_bytes(&self.shared, problem).await).await;
        }
        if has_unread_bytes {
            transport.close_after_reading().await;
        }
        Ok(())
    }

    async fn http2(&self, transport: Transport) -> hyper::Result<()> {
        let settings = &self.shared.settings;
        let shared = Arc::clone(&self.shared);
        let state = Arc::clone(&self.state);
        let peer = self.peer;
        let budgets = Arc::clone(&self.budgets);
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            let state = Arc::clone(&state);
            let request = counted(request, &budgets);
            async move { answer(&shared, &state, peer, request).await }
        });
        let stream = Http2Stream::new(transport, Arc::clone(&settings.meters));
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(settings.streams_max)
            .max_header_list_size(16 * 1024)
            .max_pending_accept_reset_streams(Some(20))
            .max_local_error_reset_streams(Some(128))
            .keep_alive_interval(Some(settings.idle_deadline))
            .keep_alive_timeout(settings.first_bytes_deadline)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        tokio::select! {
            biased;
            served = connection.as_mut() => return served,
            () = rarely(self.shared.closing.idle_end()) => {}
            () = rarely(self.idle_or_old()) => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            biased;
            served = connection.as_mut() => served,
            () = self.unresponsive() => Ok(()),
        }
    }

    /// Returns when a client has not ended its HTTP/2 connection in time after the `GOAWAY`: soon if it has no request in
    /// progress.
    async fn unresponsive(&self) {
        let ServeSettings { first_bytes_deadline, drain_deadline, .. } = self.shared.settings;
        tokio::time::sleep(first_bytes_deadline).await;
        let busy_until = Instant::now() + drain_deadline.saturating_sub(first_bytes_deadline);
        while self.state.idle_since().is_none() && Instant::now() < busy_until {
            tokio::time::sleep(BUSY_PAUSE).await;
        }
    }

    /// Returns when the client has sent no request and read nothing for too long, or at the maximum age.
    async fn idle_or_old(&self) {
        let settings = &self.shared.settings;
        loop {
            let now = Instant::now();
            let idle =
                self.state.idle_since().map(|since| now.duration_since(since)).unwrap_or_default();
            if idle >= settings.idle_deadline || self.state.age(now) >= settings.connection_age_max
            {
                return;
            }
            tokio::time::sleep(settings.idle_deadline.saturating_sub(idle)).await;
        }
    }
}
