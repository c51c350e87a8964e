//! The answer to a proxy.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_domain::profile::{Profile, Reads};
use weir_http::request_id::RequestId;
use weir_wire::check::CheckAnswer;
use weir_wire::problem::{ErrorCode, ProblemBody};

use crate::headers;

/// The answer of a profile, with the headers of the decision.
pub(super) fn of(profile: &Profile, answer: &CheckAnswer, id: Option<&RequestId>) -> Response {
    let mut response = if answer.allowed {
        // Envoy admits with 200 alone.
        match profile.reads() {
            Reads::ExtAuthz => StatusCode::OK.into_response(),
            Reads::ForwardAuth | Reads::AuthRequest => StatusCode::NO_CONTENT.into_response(),
        }
    } else {
        denied(profile.deny_status(), answer, id)
    };
    headers::add(answer, response.headers_mut());
    response
}

fn denied(status: u16, answer: &CheckAnswer, id: Option<&RequestId>) -> Response {
    let code = ErrorCode::TooManyRequests;
    let detail = match answer.retry_after_ms {
        Some(ms) => format!("retry in {} s", ms.div_ceil(1000).max(1)),
        None => "this request is never permitted".to_owned(),
    };
    let body = ProblemBody {
        kind: code.urn(),
        title: code.title().to_owned(),
        status,
        detail,
        code,
        request_id: id.map_or("", RequestId::as_str).to_owned(),
        fields: Vec::new(),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let mut response = (status, Json(body)).into_response();
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
