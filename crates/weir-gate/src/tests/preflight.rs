//! Browsers ask first: only pages of the dashboard's origin may call a gate.

use axum::body::Body;
use axum::http::{Request, header};

use super::support::{DASHBOARD, Gate};

#[tokio::test]
async fn only_the_dashboards_origin_is_let_in_and_never_with_credentials() {
    let (gate, _, _) = Gate::with_two_tenants().await;
    for (origin, let_in) in [
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
        assert_eq!(allowed.is_some_and(|it| it == origin), let_in, "{origin}");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS), "{origin}");
    }
}
