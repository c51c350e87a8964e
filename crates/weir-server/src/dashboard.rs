//! The dashboard's files, from inside the binary.
//!
//! Files under `assets/` have their content in their name and may be kept for ever; every other
//! address that is not the API's is the one page, whose own router takes it from there.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rust_embed::{EmbeddedFile, RustEmbed};
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;

#[derive(RustEmbed)]
#[folder = "../../frontend/dist"]
#[allow_missing = true]
struct Files;

/// The dashboard; its page may talk to gates at these origins.
pub fn router(gate_origins: &[String]) -> Router {
    let policy = format!(
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' {}; \
         object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        gate_origins.join(" ")
    );
    let policy = HeaderValue::from_str(&policy).expect("origins were checked to be plain");
    let answer = move |request: Request| {
        let policy = policy.clone();
        async move { file_or_page(&request, &policy) }
    };
    Router::new().route("/", any(answer.clone())).route("/{*path}", any(answer))
}

fn file_or_page(request: &Request, policy: &HeaderValue) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    if path.starts_with("api/") {
        return Problem::not_found().into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return method_not_allowed();
    }
    let compressed = accepts_brotli(request.headers());
    if let Some(response) = file(path, compressed) {
        return response;
    }
    if path.starts_with("assets/") || path.contains('.') {
        return Problem::not_found().into_response();
    }
    match file("index.html", compressed) {
        Some(mut page) => {
            page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy.clone());
            page
        }
        None => Problem::not_found().into_response(),
    }
}

fn method_not_allowed() -> Response {
    let detail = "the header `Allow` names the methods of this path";
    let problem = Problem::new(ErrorCode::MethodNotAllowed, detail);
    ([(header::ALLOW, "GET,HEAD")], problem).into_response()
}

fn file(path: &str, compressed: bool) -> Option<Response> {
    if path.is_empty() || path.rsplit('.').next() == Some("br") {
        return None;
    }
    let plain = Files::get(path)?;
    let kind = plain.metadata.mimetype().to_owned();
    let forever = path.starts_with("assets/");
    let caching = if forever { "public, max-age=31536000, immutable" } else { "no-cache" };
    let smaller = if compressed { Files::get(&format!("{path}.br")) } else { None };
    let encoding = smaller.is_some().then_some("br");
    let EmbeddedFile { data, .. } = smaller.unwrap_or(plain);
    let mut response = data.into_owned().into_response();
    let headers = response.headers_mut();
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, &kind);
    set(header::CACHE_CONTROL, caching);
    set(header::VARY, "accept-encoding");
    if let Some(encoding) = encoding {
        set(header::CONTENT_ENCODING, encoding);
    }
    Some(response)
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|all| {
        all.split(',').any(|one| one.split(';').next() == Some("br") || one.trim() == "br")
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn pages_are_read_only_and_say_so() {
        for method in ["POST", "PUT", "OPTIONS", "TRACE", "DELETE"] {
            for path in ["/", "/rules", "/assets/x.js"] {
                let request = Request::builder().method(method).uri(path).body(Body::empty());
                let policy = HeaderValue::from_static("default-src 'self'");
                let response = file_or_page(&request.expect("valid"), &policy);
                assert_eq!(response.status(), 405, "{method} {path}");
                assert_eq!(response.headers()["allow"], "GET,HEAD", "{method} {path}");
            }
        }
        let request = Request::builder().method("POST").uri("/api/v1/nothing").body(Body::empty());
        let policy = HeaderValue::from_static("default-src 'self'");
        assert_eq!(file_or_page(&request.expect("valid"), &policy).status(), 404);
    }
}
