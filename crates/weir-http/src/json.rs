//! JSON bodies of requests and answers.
//!
//! Reading is bounded in size ([`BodyLimit`]) and in time. A body that is not JSON is 400, another content type or a
//! compressed body 415, too large 413, too slow 408, and a field that is unknown, missing, repeated or of the wrong type is
//! 422 with its path.

use std::pin::pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_wire::check::{CheckBody, RecordBody, RefundBody};
use weir_wire::problem::ErrorCode;
use weir_wire::wrong_type;

use crate::problem::Problem;
use crate::serve::OverBudget;
use crate::unique_keys::UniqueKeys;

/// A JSON body: an extractor with the checks above, and an answer with `application/json`.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

/// A JSON body with a part that can be any JSON value, such as a list of lists. None of its other lists holds structs.
#[derive(Debug, Clone, Copy)]
pub struct JsonWithValue<T>(pub T);

/// An answer whose body is JSON text.
#[derive(Debug, Clone)]
pub struct JsonText(pub Vec<u8>);

/// The most bytes of a body. Set it with `axum::Extension` on a route; the default is 64 KiB.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// A body whose own parser refuses everything that [`parse`] checks beforehand: its maps refuse repeated names, and none of
/// its lists holds structs. It is parsed once, and a second time only to describe an error.
pub trait Strict: DeserializeOwned {}

impl Strict for CheckBody {}
impl Strict for RecordBody {}
impl Strict for RefundBody {}

/// A [`Strict`] JSON body.
#[derive(Debug, Clone, Copy)]
pub struct StrictJson<T>(pub T);

/// The longest time for a body to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

impl Default for BodyLimit {
    fn default() -> Self {
        Self(64 * 1024)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        parse(&read_json(request).await?).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonWithValue<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        parse_unique::<T, true>(&read_json(request).await?).map(Self)
    }
}

impl<S: Send + Sync, T: Strict> FromRequest<S> for StrictJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if is_json(request.headers()) {
            let bytes = read(request).await?;
            parse_strict(&bytes).map(Self)
        } else {
            Json::<T>::from_request(request, state).await.map(|Json(body)| Self(body))
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        // Large enough for most answers.
        let mut bytes = Vec::with_capacity(512);
        match serde_json::to_writer(&mut bytes, &self.0) {
            Ok(()) => JsonText(bytes).into_response(),
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

impl IntoResponse for JsonText {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        let headers = response.headers_mut();
        // This capacity holds the headers of a gate and those of every answer, so the map does not grow later.
        headers.reserve(20);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// Parses a body as the extractor does, for handlers that also need the bytes.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    parse_unique::<T, false>(bytes)
}

fn parse_unique<T: DeserializeOwned, const NESTED_LISTS: bool>(bytes: &[u8]) -> Result<T, Problem> {
    parse_once::<UniqueKeys<NESTED_LISTS>>(bytes)?;
    // Derived parsers also accept an array for a struct, field by field.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::invalid_field("body", "must be a JSON object"));
    }
    parse_json(bytes)
}

/// Parses bytes that are JSON.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.inner();
        // The parser of a word calls any other value a mistake of syntax.
        if error.is_data() {
            refusal(&path, error)
        } else {
            Problem::invalid_field(path, "must be a string")
        }
    })
}

fn parse_strict<T: Strict>(bytes: &[u8]) -> Result<T, Problem> {
    // Read as text, because a reader of bytes checks the encoding of each string apart.
    if bytes.first() == Some(&b'{')
        && let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(body) = serde_json::from_str(text)
    {
        return Ok(body);
    }
    parse(bytes)
}

async fn read_json(request: Request) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        let detail = "send the body as `Content-Type: application/json`";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    read(request).await
}

/// Reads a body as the extractor does: bounded in size and time.
pub async fn read(request: Request) -> Result<Bytes, Problem> {
    let BodyLimit(limit) = request.extensions().get().copied().unwrap_or_default();
    let too_large = || {
        Problem::new(ErrorCode::BodyTooLarge, format!("the body must have at most {limit} bytes"))
    };
    if request.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        let detail = "send the body without `Content-Encoding`";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut body = pin!(Limited::new(request.into_body(), limit).collect());
    // Most bodies arrive with their headers and need no timer.
    let read = match body.as_mut().now_or_never() {
        Some(read) => Ok(read),
        None => tokio::time::timeout(BODY_DEADLINE, body).await,
    };
    match read {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) if OverBudget::caused(&*error) => Err(Problem::unavailable(
            "the requests in progress of this client hold too many bytes: send fewer at a time",
        )),
        Ok(Err(_)) => Err(Problem::new(ErrorCode::Malformed, "the body is incomplete")),
        Err(_) => Err(Problem::new(ErrorCode::BodyTimeout, "the body did not arrive in 10 s")),
    }
}

/// Whether the content type is JSON, with or without parameters.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let mime = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    mime.eq_ignore_ascii_case("application/json")
}

fn parse_once<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| refusal(&error.path().to_string(), error.inner()))?;
    deserializer.end().map_err(|error| refusal(".", &error))?;
    Ok(value)
}

fn refusal(path: &str, error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    if !error.is_data() {
        return Problem::new(ErrorCode::Malformed, format!("the body is not JSON: {text}"));
    }
    let reason = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    let missing = reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let field = match (path, missing) {
        (".", Some(name)) => name.to_owned(),
        (path, Some(name)) => format!("{path}.{name}"),
        (".", None) => "body".to_owned(),
        (path, None) => path.to_owned(),
    };
    if missing.is_some() {
        return Problem::invalid_field(field, "is required");
    }
    match wrong_type::described(reason) {
        Some(described) => Problem::invalid_field(field, described),
        None => Problem::invalid_field(field, reason),
    }
}

#[cfg(test)]
mod tests;
