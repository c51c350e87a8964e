//! The reference of both APIs, embedded in the binary, at `/docs/`.

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::{Redirect, Response};
use axum::routing::{any, get};
use rust_embed::RustEmbed;
use weir_http::json::Json;

use crate::embedded;

#[derive(RustEmbed)]
#[folder = "../../docs/dist-reference"]
#[cfg_attr(not(feature = "embed"), allow_missing = true)]
struct Pages;

/// The routes of the reference, whose pages can call this control plane and gates at these origins.
pub fn router(gate_origins: &[String]) -> Router {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; \
         connect-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        gate_origins.join(" ")
    );
    let policy = HeaderValue::from_str(&policy).expect("origins were checked to be plain");
    let page = move |request: Request| {
        let policy = policy.clone();
        async move { page::<Pages>(&request, policy) }
    };
    let gates = gate_origins.to_vec();
    Router::new()
        .route("/docs", any(|| async { Redirect::permanent("/docs/") }))
        .route("/docs/", any(page.clone()))
        // The pages offer them as the address of a gate.
        .route("/docs/gates.json", get(|| async move { Json(gates) }))
        .route("/docs/{*path}", any(page))
}

fn page<Files: RustEmbed>(request: &Request, policy: HeaderValue) -> Response {
    let path = request.uri().path().trim_start_matches("/docs/");
    let path = if path.is_empty() { "index.html" } else { path };
    embedded::page::<Files>(request, path, policy, "the API reference")
}

#[cfg(test)]
mod tests {
    use axum::body::{self, Body};

    use super::*;

    #[derive(RustEmbed)]
    #[folder = "src/no-such-folder"]
    #[allow_missing = true]
    struct Nothing;

    #[tokio::test]
    async fn server_without_the_reference_says_how_to_build_one() {
        let request = Request::builder().uri("/docs/").body(Body::empty()).expect("valid");
        let response = page::<Nothing>(&request, HeaderValue::from_static("default-src 'none'"));
        assert_eq!(response.status(), 404);
        let text = body::to_bytes(response.into_body(), 10_000).await.expect("a problem");
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("built without the API reference: cargo xtask release"), "{text}");
    }

    #[test]
    fn pages_are_read_only() {
        let request = Request::builder().method("POST").uri("/docs/").body(Body::empty());
        let policy = HeaderValue::from_static("default-src 'none'");
        assert_eq!(page::<Nothing>(&request.expect("valid"), policy).status(), 405);
    }
}
