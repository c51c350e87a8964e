//! The dashboard's files, embedded in the binary.
//!
//! The name of a file in `assets/` depends on its content, so clients can cache it for ever. Every other address outside the
//! API returns the same page, whose own router interprets the address.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rust_embed::RustEmbed;
use weir_http::problem::Problem;

use crate::embedded::{Files, file, not_built, refuse_writes};
use crate::{guide, reference, schemas, usage_view};

const PAGE: &str = "index.html";

/// Whether this binary has a dashboard. A build without frontend/dist has none.
pub fn is_built() -> bool {
    Files::get(PAGE).is_some()
}

/// The routes of the dashboard, whose page can call gates at these origins, of the guide, the API reference and the schema.
pub fn router(gate_origins: &[String]) -> Router {
    let policy = format!(
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' {}; \
         object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        gate_origins.join(" ")
    );
    let policy = HeaderValue::from_str(&policy).expect("origins were checked to be plain");
    let answer = move |request: Request| {
        let policy = policy.clone();
        async move { file_or_page::<Files>(&request, &policy) }
    };
    Router::new()
        .route("/", any(answer.clone()))
        .route("/{*path}", any(answer))
        .merge(usage_view::router(gate_origins))
        .merge(guide::router())
        .merge(reference::router(gate_origins))
        .merge(schemas::router())
}

fn file_or_page<Files: RustEmbed>(request: &Request, policy: &HeaderValue) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    if path.starts_with("api/") {
        return Problem::not_found().into_response();
    }
    if let Some(refusal) = refuse_writes(request.method()) {
        return refusal;
    }
    if let Some(response) = file::<Files>(path, request.headers(), caching(path)) {
        return response;
    }
    if path.starts_with("assets/") || path.contains('.') {
        return Problem::not_found().into_response();
    }
    match file::<Files>(PAGE, request.headers(), "no-cache") {
        Some(mut page) => {
            page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy.clone());
            page
        }
        None => not_built("the dashboard"),
    }
}

/// How long clients use a file without asking again. The icon of the site has a fixed name, so it is used for a day.
fn caching(path: &str) -> &'static str {
    match path {
        "icon.svg" => "public, max-age=86400",
        _ if path.starts_with("assets/") => "public, max-age=31536000, immutable",
        _ => "no-cache",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{self, Body};

    use super::*;

    #[derive(RustEmbed)]
    #[folder = "src/no-such-folder"]
    #[allow_missing = true]
    struct Nothing;

    #[test]
    fn only_files_that_are_named_by_their_content_are_cached_for_ever() {
        assert!(caching("assets/x-1.js").ends_with("immutable"));
        assert_eq!(caching("icon.svg"), "public, max-age=86400");
        for path in ["", "index.html", "assets", "t/x/rules"] {
            assert_eq!(caching(path), "no-cache", "{path}");
        }
    }

    #[test]
    fn pages_are_read_only_and_say_so() {
        for method in ["POST", "PUT", "OPTIONS", "TRACE", "DELETE"] {
            for path in ["/", "/rules", "/assets/x.js"] {
                let request = Request::builder().method(method).uri(path).body(Body::empty());
                let policy = HeaderValue::from_static("default-src 'self'");
                let response = file_or_page::<Files>(&request.expect("valid"), &policy);
                assert_eq!(response.status(), 405, "{method} {path}");
                assert_eq!(response.headers()["allow"], "GET,HEAD", "{method} {path}");
            }
        }
        let request = Request::builder().method("POST").uri("/api/v1/nothing").body(Body::empty());
        let policy = HeaderValue::from_static("default-src 'self'");
        assert_eq!(file_or_page::<Files>(&request.expect("valid"), &policy).status(), 404);
    }

    #[tokio::test]
    async fn server_without_a_dashboard_says_how_to_build_one() {
        for (path, is_page) in [("/", true), ("/t/x/rules", true), ("/api/v1/nothing", false)] {
            let request = Request::builder().uri(path).body(Body::empty()).expect("valid");
            let policy = HeaderValue::from_static("default-src 'self'");
            let response = file_or_page::<Nothing>(&request, &policy);
            assert_eq!(response.status(), 404, "{path}");
            let text = body::to_bytes(response.into_body(), 10_000).await.expect("a problem");
            let text = String::from_utf8_lossy(&text);
            let says = text.contains("built without the dashboard: cargo xtask release");
            assert_eq!(says, is_page, "{path}: {text}");
        }
    }
}
