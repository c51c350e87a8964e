//! The customers' own view of their usage: the page `/u/`, and the element `<weir-usage>` for the tenant's own site. Their files are
//! embedded with those of the dashboard.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use rust_embed::RustEmbed;
use weir_http::problem::Problem;

use crate::embedded::{Files, file, not_built, refuse_writes};

/// The routes of the page, which can call gates at these origins, and of the element.
pub fn router(gate_origins: &[String]) -> Router {
    let policy = policy(gate_origins);
    let page = move |request: Request| {
        let policy = policy.clone();
        async move { page::<Files>(&request, policy) }
    };
    Router::new()
        // A redirect keeps what follows the #.
        .route("/u", any(|| async { Redirect::permanent("/u/") }))
        .route("/u/", any(page.clone()))
        .route("/u/{*path}", any(page))
        .route("/weir-usage.js", any(|request: Request| async move { element::<Files>(&request) }))
}

/// Any site can have the page in a frame. It has no session, so that nobody can be led to click on anything of worth.
fn policy(gate_origins: &[String]) -> HeaderValue {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' {}; \
         base-uri 'none'; form-action 'none'; frame-ancestors *",
        gate_origins.join(" ")
    );
    HeaderValue::from_str(&policy).expect("origins were checked to be plain")
}

fn page<Files: RustEmbed>(request: &Request, policy: HeaderValue) -> Response {
    if let Some(refusal) = refuse_writes(request.method()) {
        return refusal;
    }
    let path = match request.uri().path().trim_start_matches('/') {
        "u/" => "u/index.html",
        path => path,
    };
    match file::<Files>(path, request.headers(), "no-cache") {
        Some(mut response) => {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        None if path == "u/index.html" => not_built("the dashboard"),
        None => Problem::not_found().into_response(),
    }
}

/// The script is loaded by pages of other origins. Its name stays the same, so clients ask each time.
fn element<Files: RustEmbed>(request: &Request) -> Response {
    if let Some(refusal) = refuse_writes(request.method()) {
        return refusal;
    }
    match file::<Files>("weir-usage.js", request.headers(), "no-cache") {
        Some(mut response) => {
            let any_origin = HeaderValue::from_static("*");
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any_origin);
            response
        }
        None => not_built("the dashboard"),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    /// The files before they are copied.
    #[derive(RustEmbed)]
    #[folder = "../../frontend/public"]
    struct Sources;

    fn request(method: &str, path: &str) -> Request {
        Request::builder().method(method).uri(path).body(Body::empty()).expect("valid")
    }

    #[test]
    fn page_can_be_in_a_frame_and_calls_nothing_but_gates() {
        let policy = policy(&["https://gate.example".to_owned()]);
        for (path, kind) in
            [("/u/", "text/html"), ("/u/view.js", "text/javascript"), ("/u/view.css", "text/css")]
        {
            let response = page::<Sources>(&request("GET", path), policy.clone());
            assert_eq!(response.status(), 200, "{path}");
            let headers = response.headers();
            assert_eq!(headers["content-type"], format!("{kind}; charset=utf-8"), "{path}");
            let policy = headers["content-security-policy"].to_str().expect("text");
            assert!(policy.contains("connect-src 'self' https://gate.example;"), "{policy}");
            assert!(policy.ends_with("frame-ancestors *"), "{policy}");
            assert!(policy.starts_with("default-src 'none'"), "{policy}");
        }
        assert_eq!(page::<Sources>(&request("GET", "/u/other"), policy.clone()).status(), 404);
        assert_eq!(page::<Sources>(&request("POST", "/u/"), policy).status(), 405);
    }

    #[test]
    fn pages_of_any_origin_can_load_the_element() {
        let response = element::<Sources>(&request("GET", "/weir-usage.js"));
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/javascript; charset=utf-8");
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        assert_eq!(element::<Sources>(&request("DELETE", "/weir-usage.js")).status(), 405);
    }
}
