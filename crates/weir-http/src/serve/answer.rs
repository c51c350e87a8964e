//! The answer to one request: a refusal while the process is overloaded, else the answer of the plane.

use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderValue, Request, Version, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use weir_wire::problem::ErrorCode;

use super::body_budget::{Budget, CountedBody, Held};
use super::connection_state::ConnectionState;
use super::head::Refusal;
use super::overload::{Admitted, Shed};
use super::paced_body::{PART_BYTES, PacedBody};
use super::settings::ServeSettings;
use super::shared::Shared;
use crate::problem::Problem;

/// Answers a request of the connection `state` from `peer`.
pub(super) async fn answer(
    shared: &Shared,
    state: &Arc<ConnectionState>,
    peer: IpAddr,
    (mut request, held): (Request<Body>, Option<Arc<Held>>),
) -> io::Result<Response> {
    let now = Instant::now();
    let ServeSettings { trusted_proxies, connection_age_max, tls, .. } = &shared.settings;
    let waited = state.waited(now);
    let in_progress = state.begin(now);
    let client = trusted_proxies.client(peer, request.headers());
    let used_tls = tls.is_some() || trusted_proxies.used_tls(peer, request.headers());
    let version = request.version();
    let admitted = admit(shared, &request, waited, now);
    let mut response = match &admitted {
        Err(problem) => shared.plane.refuse(problem.clone()),
        Ok(_) => {
            request.extensions_mut().insert(client);
            shared.plane.answer(request).await
        }
    };
    if used_tls {
        let year = HeaderValue::from_static("max-age=31536000");
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    let ends = state.age(now) > *connection_age_max || shared.closing.has_begun();
    // If the rest of the body was not read, the connection cannot carry another request.
    if version <= Version::HTTP_11 && (state.body_pending() || ends) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    drop((in_progress, held));
    Ok(paced(response, version, state))
}

/// A request whose body counts against the budgets of its connection until the request is answered.
pub(super) fn counted(
    request: Request<Incoming>,
    budgets: &Arc<[Budget]>,
) -> (Request<Body>, Option<Arc<Held>>) {
    if request.body().is_end_stream() {
        return (request.map(Body::new), None);
    }
    let held = Held::new(budgets);
    (request.map(|body| Body::new(CountedBody::new(body, &held))), Some(held))
}

/// Admits the request, unless it is ambiguous or the process is overloaded. Health checks are always admitted.
fn admit<'a>(
    shared: &'a Shared,
    request: &Request<Body>,
    waited: std::time::Duration,
    now: Instant,
) -> Result<Option<Admitted<'a>>, Problem> {
    if request.version() == Version::HTTP_2 && !names_one_host(request) {
        shared.settings.meters.malformed();
        let detail = "`:authority` and `host` must name the same host";
        return Err(Problem::new(ErrorCode::Malformed, detail));
    }
    match shared.overload.admit(waited, now.duration_since(shared.started)) {
        Ok(admitted) => Ok(Some(admitted)),
        Err(_) if matches!(request.uri().path(), "/healthz" | "/readyz") => Ok(None),
        Err(shed) => {
            shared.settings.meters.shed(shed);
            let detail = match shed {
                Shed::Waited => "the server is overloaded: requests wait too long",
                Shed::InFlight => "the server is overloaded: too many requests are in progress",
            };
            Err(Problem::unavailable(detail))
        }
    }
}

fn names_one_host(request: &Request<Body>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (request.uri().authority(), hosts.next(), hosts.next()) {
        (Some(_), None, _) | (None, Some(_), None) => true,
        (Some(authority), Some(host), None) => {
            authority.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes())
        }
        _ => false,
    }
}

/// Observes the progress of large and open-ended answers.
fn paced(response: Response, version: Version, state: &Arc<ConnectionState>) -> Response {
    let is_watched = match response.body().size_hint().exact() {
        Some(bytes) => version == Version::HTTP_2 && bytes > PART_BYTES as u64,
        None => true,
    };
    if !is_watched {
        return response;
    }
    response.map(|body| Body::new(PacedBody::new(body, Arc::clone(state))))
}

/// The bytes of an answer to a refused head or a refused connection.
pub(super) async fn refusal_bytes(shared: &Shared, problem: Problem) -> Vec<u8> {
    let response = shared.plane.refuse(problem);
    let (head, body) = response.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let reason = head.status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", head.status.as_u16());
    for (name, value) in &head.headers {
        let _ = write!(text, "{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    let _ = write!(text, "connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

/// The problem that answers a refused head.
pub(super) fn problem_of(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Malformed(detail) => Problem::new(ErrorCode::Malformed, detail),
        Refusal::TooLarge(headers_max) => {
            let kib = super::head::HEAD_BYTES_MAX / 1024;
            let detail =
                format!("a request can have {headers_max} headers and {kib} KiB before its body");
            Problem::new(ErrorCode::HeadersTooLarge, detail)
        }
    }
}
