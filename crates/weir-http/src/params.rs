//! Path and query parameters. Invalid ones are answered with problems.
//!
//! A path that does not parse is 404. A query that does not parse is 422, and so is a parameter of either with a control
//! character ([`refuse_control_characters`]).

use axum::extract::{
    FromRequestParts, Path as AxumPath, Query as AxumQuery, RawPathParams, Request,
};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use weir_wire::wrong_type;

use crate::bearer::is_credential;
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

/// The query of an operation without parameters: any parameter is 422, so that a field of the body that was written into the
/// address is not ignored.
#[derive(Debug, Clone, Copy)]
pub struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        refuse_others(&parts.uri, &[]).map(|()| Self)
    }
}

/// Refuses a query with a parameter that has none of these names. Credentials are left to [`crate::bearer`].
pub fn refuse_others(uri: &Uri, names: &[String]) -> Result<(), Problem> {
    if uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let Ok(AxumQuery(pairs)) = AxumQuery::<Vec<(String, String)>>::try_from_uri(uri) else {
        return Ok(());
    };
    let is_other = |name: &String| !names.contains(name) && !is_credential(name);
    match pairs.into_iter().map(|(name, _)| name).find(is_other) {
        Some(name) => Err(Problem::invalid_field(name, "is not a parameter of this operation")),
        None => Ok(()),
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
    if let Some(name) = text.strip_prefix("duplicate field `").and_then(|t| t.strip_suffix('`')) {
        return Problem::invalid_field(name, "must not be repeated");
    }
    match text.split_once(": ") {
        Some((field, reason)) if !field.contains([' ', '`']) => {
            Problem::invalid_field(field, described(reason))
        }
        _ => Problem::invalid_field("query", text),
    }
}

/// The reason in the words of this API: the parser's name what the standard library could not do.
fn described(reason: &str) -> String {
    let wanted = match reason {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "must be a whole number"
        }
        "number too large to fit in target type" => "is too large",
        "number too small to fit in target type" => "is too small",
        "provided string was not `true` or `false`" => "must be true or false",
        other => return wrong_type::described(other).unwrap_or_else(|| other.to_owned()),
    };
    wanted.to_owned()
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
        assert_eq!(field("/?limit=5&limit=5").await.as_deref(), Some("limit"));
    }

    #[tokio::test]
    async fn refusal_names_no_error_of_a_parser() {
        for (uri, reason) in [
            ("/?limit=x", "must be a whole number"),
            ("/?limit=", "must be a whole number"),
            ("/?limit=4294967296", "is too large"),
            ("/?limit=5&limit=5", "must not be repeated"),
        ] {
            let (mut parts, ()) = Request::get(uri).body(()).expect("valid").into_parts();
            let refused = Query::<Sample>::from_request_parts(&mut parts, &()).await;
            let problem = refused.expect_err("a refusal").body("");
            assert_eq!(problem.fields[0].reason, reason, "{uri}");
        }
    }

    #[test]
    fn parameters_that_an_operation_does_not_have_are_named() {
        let refused = |uri: &'static str| {
            let refused = refuse_others(&Uri::from_static(uri), &["limit".to_owned()]);
            refused.err().map(|problem| problem.body("").fields[0].field.clone())
        };
        for uri in ["/", "/?", "/?limit=1", "/?l%69mit=1", "/?api_key=x"] {
            assert_eq!(refused(uri), None, "{uri}");
        }
        assert_eq!(refused("/?limit=1&dry_run=true").as_deref(), Some("dry_run"));
        assert_eq!(refused("/?Limit").as_deref(), Some("Limit"));
    }
}
