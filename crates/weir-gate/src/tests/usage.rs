//! The usage that customers read: by the tokens of their tenant alone, and nothing of other customers.

use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use weir_domain::time::Timestamp;
use weir_http::view_token::{ViewKey, Viewer};
use weir_wire::stored::{StoredRule, StoredTenant};

use super::support::{DASHBOARD, Gate, Keys};

/// A time after that of the gate and of Redis.
const LATER_MS: i64 = 4_000_000_000_000;
const SHOP: &str = "https://shop.example.com";

/// A tenant whose customers are its users, with two limits, a hidden rule, a rule in shadow mode, and one that counts by more.
fn with_view(tenant: &mut StoredTenant) {
    let rule = |at: u16, name: &str, rest: Value| {
        let mut body = json!({ "name": name, "count_by": ["user"],
            "limits": [{ "algorithm": "fixed_window", "limit": 9, "window_ms": 86_400_000 }] });
        body.as_object_mut().expect("an object").extend(rest.as_object().expect("one").clone());
        let id = weir_domain::id::RuleId::from_u128(u128::from(at) << 100);
        let slots = vec![0];
        let body = body.to_string().into();
        StoredRule { id: id.to_string(), slots, body, revision: Some(1), newer_unreadable: None }
    };
    tenant.rules.extend([
        rule(2, "exports", json!({ "description": "Exports a day", "match": [{ "attribute": "path", "op": "equals", "value": "/x" }] })).into(),
        rule(3, "secret", json!({})).into(),
        rule(4, "trial", json!({ "mode": "shadow" })).into(),
        rule(5, "by-route", json!({ "count_by": ["user", "path"] })).into(),
    ]);
    tenant.rules.sort_by(|a, b| a.id.cmp(&b.id));
    tenant.customer_attribute = Some("user".to_owned());
    let hidden = json!([{ "namespace": "default", "rule": "secret" }]);
    let view = json!({
        "view": { "origins": [SHOP], "hidden_rules": hidden }, "keys": [key().public()],
    });
    tenant.customer_view = Some(view.to_string().into());
}

fn key() -> ViewKey {
    ViewKey::derive(&[1; 32])
}

fn token(key: &ViewKey, tenant: &str, customer: &str, expires_at_ms: i64) -> String {
    let expires_at = Timestamp::from_millis(expires_at_ms);
    let tenant = tenant.parse().expect("an id");
    key.sign(&Viewer { tenant, customer: customer.to_owned(), expires_at })
}

/// The status, the headers and the body of the usage that a page of an origin reads.
async fn usage(gate: &Gate, token: &str, origin: &str) -> (u16, HeaderMap, Value) {
    let request = Request::get("/usage")
        .header(header::ORIGIN, origin)
        .header(header::AUTHORIZATION, format!("Bearer {token}"));
    let response = gate.answer(request.body(Body::empty()).expect("a request")).await;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (status, headers, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn take(gate: &Gate, keys: &Keys, user: &str) {
    let body = json!({ "attributes": { "user": user, "path": "/x" } });
    assert_eq!(gate.send("post", "/check", Some(&keys.check), &body).await.0, 200);
}

#[tokio::test]
async fn customer_reads_its_own_counters_of_the_rules_that_it_may_see() {
    let (gate, keys, _) = Gate::with(|tenant, _| with_view(tenant)).await;
    take(&gate, &keys, "ada").await;
    take(&gate, &keys, "eve").await;
    take(&gate, &keys, "eve").await;
    let (status, headers, body) =
        usage(&gate, &token(&key(), &keys.tenant, "ada", LATER_MS), SHOP).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], SHOP);
    assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    let mut limits = body["limits"].as_array().expect("limits").clone();
    limits.sort_by_key(|limit| limit["rule"].to_string());
    let numbers: Vec<_> = limits
        .iter()
        .map(|limit| (limit["rule"].as_str(), limit["limit"].as_u64(), limit["used"].as_u64()))
        .collect();
    let expected = [(Some("exports"), Some(9), Some(1)), (Some("per-user"), Some(2), Some(1))];
    assert_eq!(numbers, expected);
    let of_exports = &limits[0];
    assert_eq!(of_exports["description"], "Exports a day");
    let shown: Vec<_> = of_exports.as_object().expect("an object").keys().cloned().collect();
    let fields =
        ["rule", "description", "algorithm", "limit", "used", "remaining", "reset_after_ms"];
    assert_eq!(shown, fields, "no condition and no attribute");
    assert!(!body.to_string().contains("eve"));
    let of_eve = usage(&gate, &token(&key(), &keys.tenant, "eve", LATER_MS), SHOP).await.2;
    assert_eq!(of_eve["customer"], "eve");
    assert!(of_eve["limits"].as_array().expect("limits").iter().all(|limit| limit["used"] == 2));
}

#[tokio::test]
async fn forged_expired_and_foreign_tokens_are_refused() {
    let (gate, keys, others) = Gate::with(|tenant, _| with_view(tenant)).await;
    let good = token(&key(), &keys.tenant, "ada", LATER_MS);
    assert_eq!(usage(&gate, &good, SHOP).await.0, 200);
    let (head, signature) = good.rsplit_once('.').expect("two parts");
    let for_eve = token(&ViewKey::derive(&[2; 32]), &keys.tenant, "eve", LATER_MS);
    let wrong = [
        token(&ViewKey::derive(&[2; 32]), &keys.tenant, "ada", LATER_MS),
        token(&key(), &others.tenant, "ada", LATER_MS),
        token(&key(), "tenant_00000000000000000000000001", "ada", LATER_MS),
        token(&key(), &keys.tenant, "ada", 1_763_726_400_000),
        format!("{}.{signature}", for_eve.rsplit_once('.').expect("two parts").0),
        format!("{head}."),
        head.to_owned(),
        format!("{good}A"),
        keys.check.clone(),
        "x".repeat(4_000),
    ];
    for token in &wrong {
        let (status, headers, body) = usage(&gate, token, SHOP).await;
        assert_eq!((status, &body["code"]), (401, &json!("unauthenticated")), "{token}");
        let allowed = &headers[header::ACCESS_CONTROL_ALLOW_ORIGIN];
        assert_eq!(allowed, "*", "a page can tell it from a gate that does not answer");
    }
    let in_the_address = gate.send("get", &format!("/usage?token={good}"), None, &json!({})).await;
    assert_eq!(in_the_address.0, 400);
    // The token is no key.
    let body = json!({ "attributes": { "user": "ada" } });
    assert_eq!(gate.send("post", "/check", Some(&good), &body).await.0, 401);
    assert_eq!(gate.send("post", "/usage", Some(&good), &body).await.0, 405);
}

#[tokio::test]
async fn pages_of_other_origins_cannot_read_it_and_any_page_may_ask() {
    let (gate, keys, _) = Gate::with(|tenant, _| with_view(tenant)).await;
    let token = token(&key(), &keys.tenant, "ada", LATER_MS);
    for (origin, is_allowed) in [(SHOP, true), (DASHBOARD, true), ("https://evil.example", false)] {
        let (_, headers, _) = usage(&gate, &token, origin).await;
        let allowed = headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!(allowed.is_some_and(|value| value == origin), is_allowed, "{origin}");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS), "{origin}");
    }
    let asked = Request::options("/usage")
        .header(header::ORIGIN, "https://any.example")
        .header(header::ACCESS_CONTROL_REQUEST_METHOD, "GET");
    let answer = gate.answer(asked.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(answer.headers()[header::ACCESS_CONTROL_ALLOW_HEADERS], "authorization");
}

#[tokio::test]
async fn answer_is_repeated_for_a_second_and_the_tenants_ceiling_applies() {
    let (gate, keys, _) = Gate::with(|tenant, _| {
        with_view(tenant);
        tenant.checks_per_second = Some(1);
    })
    .await;
    let of = |customer: &str| token(&key(), &keys.tenant, customer, LATER_MS);
    let (status, _, first) = usage(&gate, &of("ada"), SHOP).await;
    assert_eq!(status, 200);
    let (status, headers, body) = usage(&gate, &of("eve"), SHOP).await;
    assert_eq!((status, &body["code"]), (429, &json!("too_many_requests")));
    assert!(headers.contains_key(header::RETRY_AFTER));
    let (status, _, again) = usage(&gate, &of("ada"), SHOP).await;
    assert_eq!((status, again), (200, first), "the counters are not read again");
}
