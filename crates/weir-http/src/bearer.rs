//! Credentials. They are accepted in headers only.

use axum::http::{HeaderMap, HeaderName, Uri, header};
use percent_encoding::percent_decode_str;
use weir_wire::problem::ErrorCode;

use crate::problem::Problem;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The credential of a request: `Authorization: Bearer …`, else `X-Api-Key`.
///
/// A request with two credentials is unauthenticated: either could be the intended one. A credential in the address is
/// refused, because addresses are logged.
pub fn credential<'a>(headers: &'a HeaderMap, uri: &Uri) -> Result<&'a str, Problem> {
    if uri.query().is_some_and(names_a_secret) {
        let detail = "credentials belong into a header, never into the address";
        return Err(Problem::new(ErrorCode::Malformed, detail));
    }
    let authorization = headers.get_all(header::AUTHORIZATION).iter();
    let api_key = headers.get_all(X_API_KEY).iter();
    let mut all = authorization.map(|v| (true, v)).chain(api_key.map(|v| (false, v)));
    let (Some((is_bearer, value)), None) = (all.next(), all.next()) else {
        return Err(Problem::unauthenticated());
    };
    let text = value.to_str().map_err(|_| Problem::unauthenticated())?;
    let secret = if is_bearer { bearer(text) } else { Some(text) };
    secret.filter(|secret| !secret.is_empty()).ok_or_else(Problem::unauthenticated)
}

fn bearer(text: &str) -> Option<&str> {
    let (scheme, secret) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret)
}

/// Whether a query parameter of this name would be a credential.
pub fn is_credential(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "access_token",
        "api_key",
        "api-key",
        "apikey",
        "authorization",
        "bearer",
        "key",
        "token",
        "weir-key",
        "weir_key",
        "x-api-key",
    ];
    NAMES.iter().any(|credential| name.eq_ignore_ascii_case(credential))
}

fn names_a_secret(query: &str) -> bool {
    query
        .split('&')
        .map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name))
        .map(|name| percent_decode_str(name).decode_utf8_lossy())
        .any(|name| is_credential(&name))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn found(uri: &'static str, headers: &[(&'static str, &'static str)]) -> Result<String, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let credential = credential(&map, &Uri::from_static(uri));
        credential.map(str::to_owned).map_err(|problem| problem.code().status())
    }

    #[test]
    fn exactly_one_credential_counts_and_only_in_a_header() {
        assert_eq!(found("/", &[("authorization", "Bearer a")]), Ok("a".into()));
        assert_eq!(found("/", &[("authorization", "bearer a")]), Ok("a".into()));
        assert_eq!(found("/", &[("x-api-key", "a")]), Ok("a".into()));
        assert_eq!(found("/", &[]), Err(401));
        assert_eq!(found("/", &[("authorization", "Basic a")]), Err(401));
        assert_eq!(found("/", &[("authorization", "Bearer")]), Err(401));
        assert_eq!(found("/", &[("authorization", "Bearer a"), ("x-api-key", "b")]), Err(401));
        for name in ["API_KEY", "key", "bearer", "weir_key", "api%5fkey", "%61pi%5Fkey", "token"] {
            let uri = format!("/?x=1&{name}=a").leak();
            assert_eq!(found(uri, &[("x-api-key", "a")]), Err(400), "{name}");
        }
        for name in ["deny_status", "api%5", "%", "keys", "api%zzkey"] {
            let uri = format!("/?{name}=a").leak();
            assert_eq!(found(uri, &[("x-api-key", "a")]), Ok("a".into()), "{name}");
        }
    }
}
