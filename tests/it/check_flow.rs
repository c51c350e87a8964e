//! From sign-up to a decision: the answers of `/check`, `/check/batch` and `/refund` on both gates.

mod decisions;
mod overrides;
mod repeats;
mod subjects;

use serde_json::{Value, json};

use crate::harness::{Reply, Tenant, shared};

/// A rule that admits `limit` units an hour for each user.
fn hourly(name: &str, limit: u64) -> Value {
    json!({ "name": name, "count_by": ["user"],
        "limits": [{ "algorithm": "sliding_window_log", "limit": limit, "window_ms": 3_600_000 }] })
}

fn of(user: &str) -> Value {
    json!({ "attributes": { "user": user } })
}

/// `body` with one field replaced.
fn with(body: Value, field: &str, value: impl Into<Value>) -> Value {
    let mut body = body;
    body[field] = value.into();
    body
}

#[tokio::test]
async fn answers_have_exactly_the_body_and_the_headers_of_the_contract() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = json!({ "namespace": "api", "name": "login-per-user",
        "match": [{ "attribute": "route", "op": "equals", "value": "/login" }],
        "count_by": ["user"],
        "limits": [{ "algorithm": "sliding_window_log", "limit": 2, "window_ms": 60_000 }] });
    let rule = tenant.rule(&rule).await;
    let body = json!({ "namespace": "api", "attributes": { "user": "u-17", "route": "/login" } });

    let first = tenant.check(0, &body).await.expect(200);
    assert_eq!(first.body, whole(&rule.id, &first, true, 1));
    assert_eq!(first.number("/reset_after_ms"), 60_000);
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(
        headers(&first),
        [
            ("x-ratelimit-limit", Some("2".to_owned())),
            ("x-ratelimit-remaining", Some("1".to_owned())),
            ("x-ratelimit-reset", Some("60".to_owned())),
            ("ratelimit-policy", Some("\"login-per-user\";q=2;w=60".to_owned())),
            ("ratelimit", Some("\"login-per-user\";r=1;t=60".to_owned())),
            ("retry-after", None),
            ("x-ratelimit-retry-after", None),
        ]
    );

    let second = tenant.check(1, &body).await.expect(200);
    assert_eq!(second.body, whole(&rule.id, &second, true, 0));

    for gate in [0, 1] {
        let denied = tenant.check(gate, &body).await.expect(429);
        assert_denied_as_the_contract_says(&rule.id, &denied);
        let url = format!("{}/check?deny_status=200", tenant.stack.gates[gate].url);
        let denied = tenant.http.post(&url, &tenant.key, &body).await.expect(200);
        assert_denied_as_the_contract_says(&rule.id, &denied);
    }
    let url = format!("{}/check?deny_status=429", tenant.stack.gates[0].url);
    tenant.http.post(&url, &tenant.key, &body).await.expect(429);
}

fn assert_denied_as_the_contract_says(rule_id: &str, denied: &Reply) {
    assert_eq!(denied.body, whole(rule_id, denied, false, 0));
    let (retry_ms, reset_ms) = (denied.number("/retry_after_ms"), denied.number("/reset_after_ms"));
    assert!((1..=60_000).contains(&retry_ms), "{retry_ms}");
    assert!((retry_ms..=60_000).contains(&reset_ms), "{retry_ms} {reset_ms}");
    let (retry_s, reset_s) = (retry_ms.div_ceil(1_000), reset_ms.div_ceil(1_000));
    assert_eq!(
        headers(denied),
        [
            ("x-ratelimit-limit", Some("2".to_owned())),
            ("x-ratelimit-remaining", Some("0".to_owned())),
            ("x-ratelimit-reset", Some(reset_s.to_string())),
            ("ratelimit-policy", Some("\"login-per-user\";q=2;w=60".to_owned())),
            ("ratelimit", Some(format!("\"login-per-user\";r=0;t={reset_s}"))),
            ("retry-after", Some(retry_s.to_string())),
            ("x-ratelimit-retry-after", Some(retry_s.to_string())),
        ]
    );
}

/// The whole body, with the times and the version of the reply.
fn whole(rule_id: &str, reply: &Reply, allowed: bool, remaining: u64) -> Value {
    let (retry, reset) = (reply.number("/retry_after_ms"), reply.number("/reset_after_ms"));
    assert_eq!(retry == 0, allowed);
    let mut body = json!({
        "allowed": allowed,
        "denied_by": if allowed { json!([]) } else { json!(["login-per-user"]) },
        "retry_after_ms": retry, "cache_for_ms": retry.min(1_000), "delay_ms": 0,
        "limit": 2, "remaining": remaining, "reset_after_ms": reset,
        "limits": [
            { "rule": "login-per-user", "rule_id": rule_id, "algorithm": "sliding_window_log",
              "mode": "enforce", "allowed": allowed, "limit": 2, "remaining": remaining,
              "window_ms": 60_000, "reset_after_ms": reset, "retry_after_ms": retry, "delay_ms": 0 } ],
        "degraded": null,
        "rulebook_version": reply.number("/rulebook_version"),
    });
    if allowed {
        let charge = reply.text("/charge");
        assert!(charge.starts_with("chg_"), "{charge}");
        body["charge"] = json!(charge);
    }
    body
}

fn headers(reply: &Reply) -> [(&'static str, Option<String>); 7] {
    const NAMES: [&str; 7] = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "ratelimit-policy",
        "ratelimit",
        "retry-after",
        "x-ratelimit-retry-after",
    ];
    NAMES.map(|name| (name, reply.header(name).map(str::to_owned)))
}

#[tokio::test]
async fn nothing_matches_means_allowed_with_nulls_and_without_headers() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 1)).await;
    let lacks_the_subject = json!({ "attributes": { "ip": "203.0.113.9" } });
    let elsewhere = json!({ "namespace": "elsewhere", "attributes": { "user": "u-1" } });
    for body in [lacks_the_subject, elsewhere, json!({})] {
        let reply = tenant.check(0, &body).await.expect(200);
        let version = reply.number("/rulebook_version");
        let expected = json!({ "allowed": true, "denied_by": [], "retry_after_ms": 0,
            "cache_for_ms": 0, "delay_ms": 0, "limit": null, "remaining": null, "reset_after_ms": null,
            "limits": [],
            "degraded": null, "rulebook_version": version });
        assert_eq!(reply.body, expected);
        assert!(headers(&reply).iter().all(|(_, value)| value.is_none()), "{:?}", reply.headers);
    }
}

#[tokio::test]
async fn key_is_accepted_in_either_header() {
    let tenant = Tenant::sign_up(shared().await).await;
    let url = format!("{}/check", tenant.stack.gates[0].url);
    let request = tenant.http.request(reqwest::Method::POST, &url).json(&json!({}));
    let reply = request.header("x-api-key", &tenant.key).send().await.expect("answered");
    assert_eq!(reply.status().as_u16(), 200);
}
