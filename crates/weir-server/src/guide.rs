//! The guide's pages, embedded in the binary, at `/guide/`, and the list of them for language models, at `/llms.txt`.

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::{Redirect, Response};
use axum::routing::any;
use rust_embed::RustEmbed;

use crate::embedded;

#[derive(RustEmbed)]
#[folder = "../../docs/dist"]
#[cfg_attr(not(feature = "embed"), allow_missing = true)]
struct Pages;

/// The policy of the pages: their own scripts search, which fetches the index, and nothing comes from other origins.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

pub fn router() -> Router {
    let page = |request: Request| async move { page::<Pages>(&request) };
    // Relative links of the pages need the slash.
    let redirect = || async { Redirect::permanent("/guide/") };
    Router::new()
        .route("/guide", any(redirect))
        .route("/guide/", any(page))
        .route("/guide/{*path}", any(page))
        .route("/llms.txt", any(page))
}

fn page<Pages: RustEmbed>(request: &Request) -> Response {
    let path = request.uri().path();
    let path = path.strip_prefix("/guide").unwrap_or(path).trim_start_matches('/');
    let path = if path.is_empty() || path.ends_with('/') {
        format!("{path}index.html")
    } else {
        path.to_owned()
    };
    embedded::page::<Pages>(request, &path, POLICY, "the guide")
}

#[cfg(test)]
mod tests {
    use axum::body::{self, Body};

    use super::*;

    /// Files of the guide that need no build.
    #[derive(RustEmbed)]
    #[folder = "../../docs/theme"]
    struct Sources;

    #[derive(RustEmbed)]
    #[folder = "src/no-such-folder"]
    #[allow_missing = true]
    struct Nothing;

    fn get(path: &str) -> Request {
        Request::builder().uri(path).body(Body::empty()).expect("valid")
    }

    #[test]
    fn texts_say_that_they_are_unicode() {
        for (path, kind) in [
            ("/guide/page.html", "text/html; charset=utf-8"),
            ("/guide/guide.js", "text/javascript; charset=utf-8"),
        ] {
            let response = page::<Sources>(&get(path));
            assert_eq!(response.status(), 200, "{path}");
            assert_eq!(response.headers()["content-type"], kind, "{path}");
        }
    }

    #[tokio::test]
    async fn server_without_a_guide_says_how_to_build_one() {
        for path in ["/guide/", "/guide/rules.md", "/llms.txt"] {
            let response = page::<Nothing>(&get(path));
            assert_eq!(response.status(), 404, "{path}");
            let text = body::to_bytes(response.into_body(), 10_000).await.expect("a problem");
            let text = String::from_utf8_lossy(&text);
            assert!(
                text.contains("built without the guide: cargo xtask release"),
                "{path}: {text}"
            );
        }
    }
}
