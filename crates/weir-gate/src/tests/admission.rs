//! Answers without rules: the tenant's ceiling of checks, and limits that are turned off.

use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::support::Gate;

/// The status, the rate-limit headers and the body of a check's answer.
async fn check(gate: &Gate, path: &str, key: &str, body: &Value) -> (u16, Vec<String>, Value) {
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .body(Body::from(body.to_string()))
        .expect("a request");
    let response = gate.answer(request).await;
    let status = response.status().as_u16();
    let header = |name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(format!("{name}: {value}"))
    };
    let names = ["ratelimit-policy", "ratelimit", "retry-after", "x-ratelimit-limit"];
    let headers = names.into_iter().filter_map(header).collect();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (status, headers, serde_json::from_slice(&bytes).expect("JSON"))
}

#[tokio::test]
async fn checks_beyond_the_tenants_ceiling_are_429_tenant_rate_and_other_tenants_are_not_concerned()
{
    let (gate, a, b) = Gate::with(|tenant, _| tenant.checks_per_second = Some(1)).await;
    let body = json!({ "attributes": { "user": "u-1" } });
    let (status, _, answer) = check(&gate, "/check", &a.check, &body).await;
    assert_eq!((status, &answer["code"]), (200, &Value::Null));
    let mut refused = check(&gate, "/check", &a.check, &body).await;
    if refused.0 == 200 {
        // A second has passed.
        refused = check(&gate, "/check", &a.check, &body).await;
    }
    let (status, headers, answer) = refused;
    assert_eq!((status, &answer["code"]), (429, &json!("tenant_rate")));
    assert_eq!(
        (&answer["allowed"], &answer["denied_by"], &answer["limits"]),
        (&json!(false), &json!([]), &json!([]))
    );
    assert_eq!((&answer["limit"], &answer["remaining"]), (&json!(1), &json!(0)));
    let retry_after_ms = answer["retry_after_ms"].as_u64().expect("a number");
    assert!((1..=1_000).contains(&retry_after_ms), "{retry_after_ms}");
    assert_eq!(
        headers,
        [
            "ratelimit-policy: \"tenant_rate\";q=1;w=1",
            "ratelimit: \"tenant_rate\";r=0;t=1",
            "retry-after: 1",
            "x-ratelimit-limit: 1"
        ]
    );
    let text = gate.metrics();
    assert!(text.lines().any(|line| line.starts_with("weir_tenant_rate_denied_total ") && !line.ends_with(" 0")), "{text}");
    let (status, ..) = check(&gate, "/check", &b.check, &body).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn checks_that_no_rule_counts_are_counted_by_their_reason() {
    let (gate, a, _) = Gate::with_two_tenants().await;
    for (namespace, attribute) in [("default", "account"), ("nobody", "user"), ("default", "user")]
    {
        let body = json!({ "namespace": namespace, "attributes": { attribute: "u-1" } });
        let (status, _, answer) = check(&gate, "/check", &a.check, &body).await;
        assert_eq!((status, &answer["allowed"]), (200, &json!(true)));
    }
    let text = gate.metrics();
    for (reason, count) in [("namespace", 1), ("attribute", 1), ("conditions", 0)] {
        let line = format!("weir_unmatched_checks_total{{reason=\"{reason}\"}} {count}");
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn a_batch_counts_each_of_its_checks() {
    let (gate, a, _) = Gate::with(|tenant, _| tenant.checks_per_second = Some(3)).await;
    let checks: Vec<_> =
        (0..50).map(|at| json!({ "attributes": { "user": format!("u-{at}") } })).collect();
    let (status, _, answer) =
        check(&gate, "/check/batch", &a.check, &json!({ "checks": checks })).await;
    assert_eq!(status, 200);
    let results = answer["results"].as_array().expect("a list");
    let codes: Vec<_> = results.iter().map(|result| result["code"].as_str()).collect();
    assert_eq!(codes[..3], [None; 3]);
    assert_eq!(codes[3..], [Some("tenant_rate"); 47]);
}

#[tokio::test]
async fn a_default_ceiling_holds_for_tenants_without_their_own() {
    let (gate, a, b) = Gate::with(|tenant, installation| {
        tenant.checks_per_second = Some(100);
        installation.checks_per_second = 2;
    })
    .await;
    let checks: Vec<_> =
        (0..50).map(|at| json!({ "attributes": { "user": format!("u-{at}") } })).collect();
    for (key, admitted) in [(&a.check, 50), (&b.check, 2)] {
        let (_, _, answer) = check(&gate, "/check/batch", key, &json!({ "checks": checks })).await;
        let results = answer["results"].as_array().expect("a list");
        assert_eq!(results.iter().filter(|result| result["allowed"] == true).count(), admitted);
    }
}

#[tokio::test]
async fn limits_that_are_off_allow_every_check_and_take_nothing() {
    let body = json!({ "attributes": { "user": "u-1" } });
    let (gate, a, b) = Gate::with(|tenant, _| tenant.enforced = false).await;
    for _ in 0..5 {
        let (status, _, answer) = check(&gate, "/check", &a.check, &body).await;
        assert_eq!((status, &answer["code"]), (200, &json!("enforcement_off")));
        assert_eq!(answer["limits"], json!([]));
    }
    for expected in [200, 200, 429] {
        assert_eq!(check(&gate, "/check", &b.check, &body).await.0, expected, "the other tenant");
    }
    let (gate, a, b) = Gate::with(|_, installation| installation.enforced = false).await;
    for key in [&a.check, &b.check] {
        for _ in 0..5 {
            assert_eq!(check(&gate, "/check", key, &body).await.0, 200);
        }
    }
}
