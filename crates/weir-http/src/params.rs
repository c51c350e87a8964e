//! Path and query parameters. Invalid ones are answered with problems.
//!
//! A path that does not parse is 404. A query that does not parse is 422, and so is a parameter of either with a control
//! character ([`refuse_control_characters`]).

use axum::extract::{
    FromRequestParts, Path as AxumPath, Query as AxumQuery, RawPathParams, Request,
};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// The parameters of the path.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

/// The parameters of the query.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match AxumPath::<T>::from_request_parts(parts, state).await {
            Ok(AxumPath(value)) => Ok(Self(value)),
            Err(_) => Err(Problem::not_found()),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match AxumQuery::<T>::try_from_uri(&parts.uri) {
            Ok(AxumQuery(value)) => Ok(Self(value)),
            Err(error) => Err(refusal(&error.body_text())),
        }
    }
}

/// Middleware for the routes of a plane: a parameter with a control character, such as `%00`, is 422 and names the
/// parameter. Postgres refuses the character 0 in a text, and no name or id contains any of them.
pub async fn refuse_control_characters(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match with_control_character(&mut parts).await {
        Some(name) => {
            Problem::invalid_field(name, "must not contain control characters").into_response()
        }
        None => next.run(Request::from_parts(parts, body)).await,
    }
}

/// The name of the first parameter with a control character. Control characters of the name are removed.
async fn with_control_character(parts: &mut Parts) -> Option<String> {
    // The parser of the address refuses control characters that are not percent-encoded.
    if !parts.uri.path().contains('%')
        && !parts.uri.query().is_some_and(|query| query.contains('%'))
    {
        return None;
    }
    let has_one = |text: &str| text.chars().any(char::is_control);
    if let Ok(path) = RawPathParams::from_request_parts(parts, &()).await
        && let Some((name, _)) = path.iter().find(|(_, value)| has_one(value))
    {
        return Some(name.to_owned());
    }
    let AxumQuery(pairs) = AxumQuery::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    let (name, _) = pairs.into_iter().find(|(name, value)| has_one(name) || has_one(value))?;
    Some(name.chars().filter(|char| !char.is_control()).collect())
}

/// The text is `Failed to deserialize query string: [path: ]reason`.
fn refusal(text: &str) -> Problem {
    let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text);
    if let Some(name) = text.strip_prefix("missing field `").and_then(|t| t.strip_suffix('`')) {
        return Problem::invalid_field(name, "is required");
    }
    match text.split_once(": ") {
        Some((field, reason)) if !field.contains([' ', '`']) => {
            Problem::invalid_field(field, reason)
        }
        _ => Problem::invalid_field("query", text),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Sample {
        limit: u32,
    }

    async fn field(uri: &str) -> Option<String> {
        let (mut parts, ()) = Request::get(uri).body(()).expect("valid").into_parts();
        let answer = Query::<Sample>::from_request_parts(&mut parts, &()).await;
        answer.err().map(|problem| problem.body("").fields[0].field.clone())
    }

    #[tokio::test]
    async fn refused_query_names_the_parameter() {
        assert_eq!(field("/?limit=5").await, None);
        assert_eq!(field("/?limit=x").await.as_deref(), Some("limit"));
        assert_eq!(field("/").await.as_deref(), Some("limit"));
        assert_eq!(field("/?limit=5&limti=3").await.as_deref(), Some("limti"));
    }
}
