//! A proxy's question: its answer, the values that a client can change, and the failures that are Weir's own.

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::support::{DASHBOARD, Gate, Keys, stored_profiles};

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }
}

fn profile(name: &str, more: &Value) -> Value {
    let mut body = json!({
        "name": name, "reads": "forward_auth",
        "attributes": {
            "user": { "from": "header", "name": "X-User" },
            "method": { "from": "method" },
            "route": { "from": "path" },
        },
    });
    let fields = more.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body
}

/// A gate whose first tenant has these profiles, and a rule of two a day for each user.
async fn gate(profiles: Vec<Value>) -> (Gate, Keys, Keys) {
    Gate::with(|tenant, _| tenant.profiles = stored_profiles(profiles)).await
}

async fn ask(gate: &Gate, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = Request::builder().method(method).uri(path).header("host", "gate:8081");
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let response = gate.answer(request.body(Body::empty()).expect("a request")).await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    }
}

/// The headers with which a proxy describes a request of this user.
fn described<'a>(key: &'a str, user: &'a str) -> [(&'static str, &'a str); 5] {
    [
        ("x-weir-key", key),
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/v1/me"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-user", user),
    ]
}

#[tokio::test]
async fn proxy_gets_the_decision_with_its_headers() {
    let (gate, keys, _) = gate(vec![
        profile("edge", &json!({})),
        profile("nginx", &json!({ "deny_status": 403 })),
        profile("envoy", &json!({ "reads": "ext_authz" })),
    ])
    .await;
    for (name, allowed, denied) in [("edge", 204, 429), ("nginx", 204, 403), ("envoy", 200, 429)] {
        let path = format!("/authorize/{name}");
        for status in [allowed, allowed, denied] {
            let answer = ask(&gate, "GET", &path, &described(&keys.check, name)).await;
            assert_eq!(answer.status, status, "{name}: {}", answer.body);
            assert_eq!(answer.header("x-ratelimit-limit"), Some("2"));
            assert!(
                answer.header("ratelimit").is_some_and(|text| text.starts_with("\"per-user\""))
            );
            assert_eq!(answer.header("retry-after").is_some(), status == denied);
            assert_eq!(answer.header("x-weir-error"), None);
            if status == denied {
                assert_eq!(answer.header("content-type"), Some("application/problem+json"));
                assert_eq!(answer.body["code"], "too_many_requests");
                assert_eq!(answer.body["status"], status);
                assert_eq!(answer.header("x-request-id"), answer.body["request_id"].as_str());
            } else {
                assert_eq!(answer.body, Value::Null);
            }
        }
    }
}

#[tokio::test]
async fn query_of_the_request_itself_is_the_clients_behind_the_name_of_the_profile() {
    let rule = json!({
        "name": "per-page", "count_by": ["page"],
        "limits": [{ "algorithm": "fixed_window", "limit": 1, "window_ms": 86_400_000 }],
    });
    let envoy = json!({ "reads": "ext_authz", "attributes": { "page": { "from": "query", "name": "page" } } });
    let (gate, keys) =
        Gate::with_rules_and_profiles(vec![rule], vec![profile("envoy", &envoy)]).await;
    let headers = described(&keys.check, "u-1");
    for (behind, status) in [
        ("/?page=1", 200),
        ("/a?b&page=1", 429),
        // The query of the question, not of the client's request.
        ("?page=1", 200),
        ("?page=1", 200),
    ] {
        let answer = ask(&gate, "GET", &format!("/authorize/envoy{behind}"), &headers).await;
        assert_eq!(answer.status, status, "{behind}: {}", answer.body);
    }
}

#[tokio::test]
async fn every_method_and_path_of_a_client_is_a_question() {
    let rule = json!({
        "name": "writes", "count_by": ["user", "method", "route"],
        "limits": [{ "algorithm": "fixed_window", "limit": 1, "window_ms": 86_400_000 }],
    });
    let (gate, keys) = Gate::with_rules_and_profiles(
        vec![rule],
        vec![profile("envoy", &json!({ "reads": "ext_authz" }))],
    )
    .await;
    let headers = described(&keys.check, "u-1");
    let origin =
        [headers.as_slice(), &[("origin", DASHBOARD), ("access-control-request-method", "POST")]]
            .concat();
    for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"] {
        for path in ["", "/", "//", "/v1/me?token=x&namespace=evil&deny_status=200", "/%ff%00"] {
            let target = format!("/authorize/envoy{path}");
            // A path without anything behind the name is `/`, and so is `//`.
            let repeated = ["/", "//"].contains(&path);
            for status in if repeated { [429, 429] } else { [200, 429] } {
                let answer = ask(&gate, method, &target, &origin).await;
                assert_eq!(answer.status, status, "{method} {target}: {}", answer.body);
                assert!(answer.header("access-control-allow-origin").is_none());
            }
        }
    }
}

#[tokio::test]
async fn failures_of_weir_are_503_with_their_reason_and_take_nothing() {
    let (gate, keys, others) = gate(vec![profile("edge", &json!({}))]).await;
    let of = |path: &'static str, key: &str, without: &'static str| {
        let all = described(key, "u-1").map(|(name, value)| (name, value.to_owned()));
        let gate = &gate;
        async move {
            let sent: Vec<(&str, &str)> = all
                .iter()
                .filter(|(name, _)| *name != without)
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            ask(gate, "GET", path, &sent).await
        }
    };
    for (path, key, without, reason) in [
        ("/authorize/edge", "weir_nobody", "", "unauthenticated"),
        ("/authorize/edge", &keys.check, "x-weir-key", "unauthenticated"),
        ("/authorize/edge", &keys.read, "", "forbidden"),
        ("/authorize/edge", &others.check, "", "unknown_profile"),
        ("/authorize/other", &keys.check, "", "unknown_profile"),
        ("/authorize/EDGE", &keys.check, "", "unknown_profile"),
        ("/authorize", &keys.check, "", "unknown_profile"),
        ("/authorize/", &keys.check, "", "unknown_profile"),
        ("/authorize//edge", &keys.check, "", "unknown_profile"),
        ("/authorize/edge", &keys.check, "x-forwarded-uri", "missing_header"),
        ("/authorize/edge", &keys.check, "x-forwarded-method", "missing_header"),
    ] {
        let answer = of(path, key, without).await;
        let found = (answer.status, answer.header("x-weir-error"));
        assert_eq!(found, (503, Some(reason)), "{path} without {without}: {}", answer.body);
        assert_eq!(answer.body["code"], "unavailable");
        assert_eq!(answer.header("ratelimit"), None);
    }
    let counted = gate.metrics();
    assert!(
        counted.contains("weir_authorize_errors_total{reason=\"missing_header\"} 2"),
        "{counted}"
    );
    let answer = of("/authorize/edge", &keys.check, "").await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (204, Some("1")));
}

/// Two keys are no key: the client can have sent the other one.
#[tokio::test]
async fn credentials_of_the_client_change_nothing() {
    let (gate, keys, others) = gate(vec![profile("edge", &json!({}))]).await;
    let headers = described(&keys.check, "u-1");
    let own = [
        ("authorization", format!("Bearer {}", others.check)),
        ("x-api-key", others.check.clone()),
        ("cookie", "token=x".to_owned()),
    ];
    for (at, (name, value)) in own.iter().enumerate() {
        let headers = [headers.as_slice(), &[(*name, value.as_str())]].concat();
        let answer = ask(&gate, "GET", "/authorize/edge", &headers).await;
        assert_eq!(answer.status, if at < 2 { 204 } else { 429 }, "{name}");
    }
    let two = [headers.as_slice(), &[("x-weir-key", others.check.as_str())]].concat();
    let answer = ask(&gate, "GET", "/authorize/edge", &two).await;
    assert_eq!(answer.header("x-weir-error"), Some("unauthenticated"));
}

#[tokio::test]
async fn a_question_that_a_proxy_repeats_counts_once() {
    let header = json!({ "idempotency": { "from": "header", "name": "X-Request-Id" } });
    let (gate, keys, _) = gate(vec![profile("edge", &header)]).await;
    let send = async |user: &str, id: &str| {
        let headers = [described(&keys.check, user).as_slice(), &[("x-request-id", id)]].concat();
        ask(&gate, "GET", "/authorize/edge", &headers).await
    };
    let id = format!("{}-{}", keys.tenant, "r-1");
    for _ in 0..4 {
        assert_eq!(send("u-1", &id).await.header("x-ratelimit-remaining"), Some("1"));
    }
    // The same key for another request: no error, and no free request.
    for (status, remaining) in [(204, "1"), (204, "0"), (429, "0")] {
        let answer = send("u-2", &id).await;
        let found = (answer.status, answer.header("x-ratelimit-remaining"));
        assert_eq!(found, (status, Some(remaining)), "{}", answer.body);
    }
    assert_eq!(send("u-1", "").await.header("x-ratelimit-remaining"), Some("0"));
}

#[tokio::test]
async fn cost_comes_from_a_header() {
    let cost = json!({ "cost": { "from": "header", "name": "X-Cost", "default": 1 } });
    let (gate, keys, _) = gate(vec![profile("edge", &cost)]).await;
    let send = async |cost: &str| {
        let headers = [described(&keys.check, "u-1").as_slice(), &[("x-cost", cost)]].concat();
        ask(&gate, "GET", "/authorize/edge", &headers).await
    };
    assert_eq!(send("3").await.status, 429, "more than the limit");
    assert_eq!(send("2").await.header("x-ratelimit-remaining"), Some("0"));
}
