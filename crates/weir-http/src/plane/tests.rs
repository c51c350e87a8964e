//! Every answer, including errors, has the headers and the body that a plane adds.

use axum::routing::get;
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
async fn process_that_stops_is_not_ready_and_answers_everything_else() {
    let ok = || get(|| async { "fine" });
    let router = Router::new().route("/readyz", ok()).route("/healthz", ok());
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 33), request_deadline: None };
    let leaving = CancellationToken::new();
    let plane = Plane::new(with_fallbacks(router), settings).unready_after(leaving.clone());
    let status = async |path: &str| {
        let request = Request::builder().uri(path).body(Body::empty()).expect("valid");
        plane.answer(request).await.status().as_u16()
    };
    assert_eq!((status("/readyz").await, status("/healthz").await), (200, 200));
    leaving.cancel();
    assert_eq!((status("/readyz").await, status("/healthz").await), (503, 200));
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

#[tokio::test]
async fn plane_for_programs_has_a_short_policy_and_the_other_headers() {
    let router = Router::new().route("/fine", get(|| async { "fine" }));
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 33), request_deadline: None };
    let plane = Plane::new(with_fallbacks(router), settings);
    let mut answers = Vec::new();
    for plane in [plane.clone(), plane.for_programs()] {
        let request = Request::builder().uri("/fine").body(Body::empty()).expect("valid");
        answers.push(plane.answer(request).await.headers().clone());
    }
    let policies = answers.iter_mut().map(|headers| headers.remove("content-security-policy"));
    let expected = [CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"];
    assert!(policies.eq(expected.map(|policy| Some(HeaderValue::from_static(policy)))));
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn plane_for_proxies_leaves_out_what_only_browsers_obey() {
    let router = Router::new().route("/fine", get(|| async { "fine" }));
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 33), request_deadline: None };
    let plane = Plane::new(with_fallbacks(router), settings).for_proxies();
    let request = Request::builder().uri("/fine").body(Body::empty()).expect("valid");
    let response = plane.answer(request).await;
    let names: Vec<_> = response.headers().keys().map(HeaderName::as_str).collect();
    assert_eq!(names, ["content-type", "content-length", "x-request-id"]);
    assert!(response.headers()["x-request-id"].is_sensitive(), "no HTTP/2 table holds it");
}

#[tokio::test]
async fn surface_says_which_paths_are_served() {
    let fine = || get(|| async { "own_metric 1\n" });
    let router = ["/check", "/healthz", "/metrics", "/openapi.json", "/docs", "/docs/{*file}"]
        .into_iter()
        .fold(Router::new(), |router, path| router.route(path, fine()));
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
    let plane = Plane::new(with_fallbacks(router), settings).with_meters("gate", Arc::default());
    for (surface, served) in [
        (Surface::Everything, [200, 200, 200, 200, 200]),
        (Surface::WithoutOperations, [200, 200, 404, 404, 404]),
        (Surface::OperationsOnly, [404, 200, 200, 200, 200]),
    ] {
        let plane = plane.clone().serving(surface);
        let paths = ["/check", "/healthz", "/metrics", "/openapi.json", "/docs/index.html"];
        for (path, status) in paths.into_iter().zip(served) {
            let request = Request::builder().uri(path).body(Body::empty()).expect("valid");
            let response = plane.answer(request).await;
            assert_eq!(response.status(), status, "{surface:?} {path}");
        }
    }
    let request = Request::builder().uri("/metrics").body(Body::empty()).expect("valid");
    let body = plane.answer(request).await.into_body().collect().await.expect("a short body");
    let text = String::from_utf8(body.to_bytes().to_vec()).expect("text");
    assert!(
        text.starts_with("own_metric 1\n# HELP weir_connections Open connections.\n"),
        "{text}"
    );
    assert!(text.contains("weir_connections{listener=\"gate\"} 0\n"), "{text}");
}
