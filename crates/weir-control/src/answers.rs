//! Answers with a body. Their values can be stored for repeats.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use weir_http::json::Json;
use weir_http::problem::Problem;

use crate::etag::etag;

/// An answer with a body. If the body has a revision, the answer gets it as its `ETag`.
pub(crate) fn answer(status: StatusCode, body: &Value) -> Response {
    if body.is_null() {
        return status.into_response();
    }
    let mut response = (status, Json(body)).into_response();
    if let Some(revision) = body.get("revision").and_then(Value::as_u64) {
        response.headers_mut().insert(header::ETAG, etag(revision));
    }
    response
}

/// A body as a value. All bodies of this crate serialise.
pub(crate) fn to_value(body: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(body).map_err(Problem::internal)
}
