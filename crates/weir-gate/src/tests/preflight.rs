//! Preflight requests of browsers: only pages of the dashboard's origin can call a gate.

use axum::body::Body;
use axum::http::{HeaderName, Request, header};

use super::support::{DASHBOARD, Gate};

#[tokio::test]
async fn only_the_dashboards_origin_is_allowed_and_never_with_credentials() {
    let (gate, _, _) = Gate::with_two_tenants().await;
    for (origin, is_allowed) in [
        (DASHBOARD, true),
        ("https://limits.example.com.evil.example", false),
        ("http://limits.example.com", false),
        ("null", false),
    ] {
        let request = Request::builder()
            .method("OPTIONS")
            .uri("/check")
            .header(header::ORIGIN, origin)
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .header(header::ACCESS_CONTROL_REQUEST_HEADERS, "authorization,content-type");
        let response = gate.answer(request.body(Body::empty()).expect("a request")).await;
        let headers = response.headers();
        let allowed = headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!(allowed.is_some_and(|value| value == origin), is_allowed, "{origin}");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS), "{origin}");
    }
}

#[tokio::test]
async fn pages_of_that_origin_can_read_every_header_of_a_decision() {
    let (gate, keys, _) = Gate::with_two_tenants().await;
    let ask = || {
        let request = Request::post("/check")
            .header(header::ORIGIN, DASHBOARD)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", keys.check));
        gate.answer(request.body(Body::from(r#"{"attributes":{"user":"u"}}"#)).expect("a request"))
    };
    for _ in 0..2 {
        ask().await;
    }
    let denied = ask().await;
    let exposed = denied.headers()[header::ACCESS_CONTROL_EXPOSE_HEADERS].to_str().expect("text");
    let exposed: Vec<&str> = exposed.split(',').collect();
    let is_limit_header = |name: &&str| name.contains("ratelimit") || *name == "retry-after";
    let sent: Vec<&str> =
        denied.headers().keys().map(HeaderName::as_str).filter(is_limit_header).collect();
    assert_eq!(sent.len(), 7, "{sent:?}");
    assert!(sent.iter().all(|name| exposed.contains(name)), "{sent:?} {exposed:?}");
}
