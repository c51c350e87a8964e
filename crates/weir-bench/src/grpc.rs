//! Closed loop of Envoy's rate limit service: calls over a few connections of HTTP/2, many in flight on each, as Envoy sends them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use weir_rls::{Descriptor, Entry, RateLimitRequest, RateLimitResponse};

use crate::closed::ClosedRun;
use crate::numbers::float;
use crate::variants::{SUBJECTS, Variant};

const CONNECTIONS: u16 = 4;
/// The code of a response that lets a request pass.
const PASSES: u32 = 1;
/// The bytes before a message.
const PREFIX_BYTES: usize = 5;

/// The counts of one task.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    requests: u64,
    refusals: u64,
    errors: u64,
}

/// Loads the rate limit service with this number of calls in flight.
pub async fn run(variant: &Variant, in_flight: u16, length: Duration) -> Result<ClosedRun> {
    let connections = in_flight.min(CONNECTIONS);
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for connection in 0..connections {
        let stream = TcpStream::connect(&variant.address).await.context("connect")?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .context("handshake")?;
        tokio::spawn(driver);
        let share = in_flight / connections;
        for caller in 0..share {
            let caller = Caller {
                sender: sender.clone(),
                uri: format!("http://{}{}", variant.address, variant.path),
                bearer: format!("Bearer {}", variant.bearer),
                subject: u32::from(connection * share + caller) * 4001 % SUBJECTS,
            };
            callers.spawn(caller.run(began + length));
        }
    }
    let mut all = Counts::default();
    while let Some(counts) = callers.join_next().await {
        let counts = counts.context("a caller panicked")?;
        all.requests += counts.requests;
        all.refusals += counts.refusals;
        all.errors += counts.errors;
    }
    ensure!(all.requests > 0, "no call was answered");
    let per_second = float(all.requests) / began.elapsed().as_secs_f64();
    let Counts { requests, refusals, errors } = all;
    Ok(ClosedRun { requests, per_second, refusals, errors })
}

/// One call in flight at a time.
struct Caller {
    sender: http2::SendRequest<Full<Bytes>>,
    uri: String,
    bearer: String,
    /// The last subject. The order defeats caches.
    subject: u32,
}

impl Caller {
    async fn run(mut self, until: Instant) -> Counts {
        let mut counts = Counts::default();
        while Instant::now() < until {
            self.subject = (self.subject + 7919) % SUBJECTS;
            match self.call().await {
                Ok(response) => {
                    counts.requests += 1;
                    counts.refusals += u64::from(response.overall_code != PASSES);
                }
                Err(_) => counts.errors += 1,
            }
        }
        counts
    }

    async fn call(&mut self) -> Result<RateLimitResponse> {
        let request = Request::post(&self.uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("authorization", &self.bearer)
            .body(Full::new(message(self.subject)))?;
        let response = self.sender.send_request(request).await?;
        let body = response.into_body().collect().await?;
        let ended_well = body
            .trailers()
            .and_then(|trailers| trailers.get("grpc-status"))
            .is_some_and(|status| status == "0");
        ensure!(ended_well, "an error of gRPC");
        let bytes = body.to_bytes();
        let message = bytes.get(PREFIX_BYTES..).context("a message has a prefix")?;
        Ok(RateLimitResponse::decode(message)?)
    }
}

/// The call about a subject, with the prefix of gRPC.
fn message(subject: u32) -> Bytes {
    let entry = |key: &str, value: String| Entry { key: key.to_owned(), value: value.into_bytes() };
    let entries = vec![entry("user", format!("u-{subject}")), entry("route", "/hot".to_owned())];
    let descriptors = vec![Descriptor { entries, ..Descriptor::default() }];
    let request = RateLimitRequest { domain: "api".to_owned(), descriptors, hits_addend: 1 };
    let length = u32::try_from(request.encoded_len()).unwrap_or(u32::MAX);
    let mut bytes = vec![0];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&request.encode_to_vec());
    bytes.into()
}
