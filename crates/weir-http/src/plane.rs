//! What surrounds every route of a plane: request id, deadline, panics, security headers, one log line.
//!
//! Problems get their request id here, and what was our fault is logged here, once, with its causes.

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use weir_wire::problem::ErrorCode;

use crate::problem::Problem;
use crate::request_id::RequestIds;

/// What a plane may set about its surroundings.
#[derive(Debug, Clone)]
pub struct PlaneSettings {
    /// Where request ids come from.
    pub request_ids: RequestIds,
    /// How long a request may take, body included; beyond it is 503.
    pub request_deadline: Duration,
}

/// Wraps a finished router; nothing may be added outside of it.
pub fn wrap(router: Router, settings: PlaneSettings) -> Router {
    router
        .fallback(|| async { Problem::not_found() })
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(settings, surround))
}

/// The policy every answer carries unless a route sets its own.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
     object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

async fn method_not_allowed() -> Problem {
    Problem::new(ErrorCode::MethodNotAllowed, "the header `Allow` names the methods of this path")
}

#[expect(clippy::needless_pass_by_value, reason = "the layer hands the payload over")]
fn panicked(payload: Box<dyn Any + Send>) -> Response {
    let said = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    Problem::internal(format!("panic: {said}")).into_response()
}

async fn surround(
    State(settings): State<PlaneSettings>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = settings.request_ids.next();
    request.extensions_mut().insert(id);
    let method = request.method().clone();
    let uri = request.uri().clone();
    let answered = tokio::time::timeout(settings.request_deadline, next.run(request)).await;
    let mut response = answered.unwrap_or_else(|_| {
        Problem::unavailable("the request took longer than it may").into_response()
    });
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        *response.body_mut() = problem.rendered(id.as_str());
        response.headers_mut().remove(header::CONTENT_LENGTH);
        if let Some(cause) = problem.cause_chain() {
            tracing::error!(request.id = %id, %method, path = uri.path(), code = problem.code().as_str(), cause, "request failed");
        }
    }
    tracing::debug!(request.id = %id, %method, path = uri.path(), status = response.status().as_u16(), "request served");
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert("x-request-id", value);
    }
    add_security_headers(headers);
    response
}

fn add_security_headers(headers: &mut HeaderMap) {
    const ALWAYS: [(HeaderName, &str); 4] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    const UNLESS_SET: [(HeaderName, &str); 2] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in UNLESS_SET {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests;
