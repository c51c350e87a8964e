//! The guide's pages, embedded in the binary, at `/guide/`.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use rust_embed::RustEmbed;

use crate::embedded::{file, not_built, refuse_writes};

#[derive(RustEmbed)]
#[folder = "../../docs/dist"]
#[cfg_attr(not(feature = "embed"), allow_missing = true)]
struct Pages;

/// The policy of the pages, which contain no script and load nothing from other origins.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);
/// The caching of the pages: the next release changes them under the same names.
const CACHING: &str = "no-cache";

pub fn router() -> Router {
    let page = |request: Request| async move { page(&request) };
    // Relative links of the pages need the slash.
    let redirect = || async { Redirect::permanent("/guide/") };
    Router::new()
        .route("/guide", any(redirect))
        .route("/guide/", any(page))
        .route("/guide/{*path}", any(page))
}

fn page(request: &Request) -> Response {
    if let Some(refusal) = refuse_writes(request.method()) {
        return refusal;
    }
    let path = request.uri().path();
    let path = path.strip_prefix("/guide").unwrap_or(path).trim_start_matches('/');
    let path = if path.is_empty() || path.ends_with('/') {
        format!("{path}index.html")
    } else {
        path.to_owned()
    };
    let mut response = file::<Pages>(&path, request.headers(), CACHING).unwrap_or_else(|| {
        file::<Pages>("404.html", request.headers(), CACHING).map_or_else(
            || not_built("the guide"),
            |page| (StatusCode::NOT_FOUND, page).into_response(),
        )
    });
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}
