//! Every answer, errors too, has its surroundings.

use axum::body::Body;
use axum::routing::get;
use http_body_util::BodyExt;
use weir_wire::problem::ProblemBody;

use super::*;

async fn ask(method: &str, path: &str) -> (Response, Option<ProblemBody>) {
    let router = Router::new()
        .route("/fine", get(|| async { "fine" }).post(|| async { "fine" }))
        .route("/panic", get(|| async { panic!("secret words") as &str }))
        .route("/slow", get(|| async { std::future::pending::<&str>().await }));
    let settings = PlaneSettings {
        request_ids: RequestIds::new(|| 33),
        request_deadline: Some(Duration::from_millis(50)),
    };
    let request = Request::builder().method(method).uri(path);
    let request = request.header("x-request-id", "mine").body(Body::empty()).expect("valid");
    let response = Plane::new(with_fallbacks(router), settings).answer(request).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("a short body").to_bytes();
    let problem = serde_json::from_slice(&bytes).ok();
    (Response::from_parts(parts, Body::empty()), problem)
}

#[tokio::test]
async fn every_failure_is_a_problem_with_the_request_id() {
    let cases = [
        ("GET", "/missing", 404),
        ("DELETE", "/fine", 405),
        ("TRACE", "/fine", 405),
        ("GET", "/panic", 500),
        ("GET", "/slow", 503),
    ];
    for (method, path, status) in cases {
        let (response, problem) = ask(method, path).await;
        let problem = problem.expect("a problem");
        assert_eq!(response.status(), status, "{method} {path}");
        assert_eq!(problem.status, status);
        assert_eq!(problem.request_id, "req_00000000000000000000000011");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert!(!problem.detail.contains("secret"), "{problem:?}");
    }
    let (response, _) = ask("DELETE", "/fine").await;
    assert_eq!(response.headers()["allow"], "GET,HEAD,POST");
}

#[tokio::test]
async fn every_answer_has_the_security_headers_and_our_request_id() {
    for path in ["/fine", "/missing", "/panic"] {
        let (response, _) = ask("GET", path).await;
        let headers = response.headers();
        assert_eq!(headers["x-request-id"], "req_00000000000000000000000011");
        assert_eq!(headers["content-security-policy"], CONTENT_SECURITY_POLICY);
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert!(headers.contains_key("referrer-policy"));
        assert!(headers.contains_key("cross-origin-opener-policy"));
        assert!(headers.contains_key("cross-origin-resource-policy"));
        assert!(!headers.contains_key("server"));
    }
}
