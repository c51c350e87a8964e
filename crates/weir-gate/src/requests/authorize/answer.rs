//! The answer to a proxy.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_domain::profile::{Profile, Reads};
use weir_http::request_id::RequestId;
use weir_wire::check::CheckAnswer;

use super::denial;
use crate::requests::headers;

/// The answer of a profile, with the headers of the decision.
pub(super) fn of(profile: &Profile, answer: &CheckAnswer, id: Option<&RequestId>) -> Response {
    let mut response = if answer.allowed {
        // Envoy admits with 200 alone.
        match profile.reads() {
            Reads::ExtAuthz => StatusCode::OK.into_response(),
            _ => StatusCode::NO_CONTENT.into_response(),
        }
    } else {
        denied(profile.deny_status(), answer, id)
    };
    headers::add(answer, response.headers_mut());
    response
}

fn denied(status: u16, answer: &CheckAnswer, id: Option<&RequestId>) -> Response {
    let body = denial::body(status, answer, id);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let mut response = (status, Json(body)).into_response();
    let kind = HeaderValue::from_static(denial::CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
