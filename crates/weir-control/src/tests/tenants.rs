//! Tenants, and operations of operators on them.

use serde_json::json;

use super::support::Plane;
use crate::{ControlSettings, Signup};

#[tokio::test]
async fn tenants_are_made_listed_renamed_and_deleted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let create = |name: &str| {
        plane.ask("POST", "/v1/tenants").bearer(&ada.token).json(&json!({ "name": name })).send()
    };
    let second = create("Second").await.expect(201).text("/id");
    assert_eq!(create("").await.refused_field(), "name");
    let list = plane.ask("GET", "/v1/tenants?limit=1").bearer(&ada.token).send().await.expect(200);
    let next = format!("/v1/tenants?cursor={}", list.text("/next_cursor"));
    let rest = plane.ask("GET", &next).bearer(&ada.token).send().await.expect(200);
    assert_eq!(rest.body["data"].as_array().map(Vec::len), Some(1));
    assert!(rest.body["next_cursor"].is_null());

    let path = format!("/v1/tenants/{second}");
    let rename = plane.ask("PATCH", &path).bearer(&ada.token).json(&json!({ "name": "Renamed" }));
    assert_eq!(rename.send().await.expect(200).text("/name"), "Renamed");
    let read = plane.ask("GET", &path).bearer(&ada.token).send().await.expect(200);
    assert_eq!((read.text("/name"), read.text("/role")), ("Renamed".into(), "owner".into()));

    let delete = |name: &str| {
        plane.ask("DELETE", &path).bearer(&ada.token).json(&json!({ "name": name })).send()
    };
    assert_eq!(delete("Second").await.refused_field(), "name");
    delete("Renamed").await.expect(204);
    plane.ask("GET", &path).bearer(&ada.token).send().await.problem(404, "not_found");
}

#[tokio::test]
async fn repeated_creation_makes_one_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let create = |name: &str, key: &str| {
        let ask = plane.ask("POST", "/v1/tenants").bearer(&ada.token);
        ask.header("idempotency-key", key).json(&json!({ "name": name })).send()
    };
    let first = create("Second", "k1").await.expect(201);
    let again = create("Second", "k1").await.expect(201);
    assert_eq!(first.body, again.body);
    assert_eq!(create("Third", "k1").await.refused_field(), "Idempotency-Key");
    let other = create("Second", "k2").await.expect(201);
    assert_ne!(first.body["id"], other.body["id"]);
    assert_eq!(create("Second", &"k".repeat(129)).await.refused_field(), "Idempotency-Key");
}

#[tokio::test]
async fn only_operators_make_tenants_where_sign_up_is_closed() {
    let settings = ControlSettings { signup: Signup::Open, ..ControlSettings::default() };
    let open = Plane::with(settings).await;
    let ada = open.member("ada@example.com").await;
    drop(ada);
    let closed = Plane::with(ControlSettings::default()).await;
    let body = json!({ "name": "Mine" });
    closed.ask("POST", "/v1/tenants").json(&body).send().await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn operators_list_and_suspend_and_others_cannot_tell() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    let key = plane.key(&ada, &["read"]).await;
    let list = plane.ask("GET", "/v1/operator/tenants").bearer(&op.token).send().await.expect(200);
    assert_eq!(list.body["data"].as_array().map(Vec::len), Some(2));
    let all = plane.ask("GET", "/v1/operator/tenants").bearer(&ada.token).send().await;
    all.problem(404, "not_found");

    let path = format!("/v1/operator/tenants/{}", ada.tenant);
    let suspend = |suspended: bool, token: &str| {
        let body = json!({ "suspended": suspended });
        plane.ask("PATCH", &path).bearer(token).json(&body).send()
    };
    suspend(true, &ada.token).await.problem(404, "not_found");
    assert_eq!(suspend(true, &op.token).await.expect(200).body["suspended"], true);
    plane.by(&ada, "GET", "rules").send().await.expect(200);
    let rule = json!({ "name": "a", "limits": [{ "algorithm": "spacing", "interval_ms": 5 }] });
    let answer = plane.by(&ada, "POST", "rules").json(&rule).send().await;
    answer.problem(403, "forbidden");
    let path = format!("/v1/tenants/{}", ada.tenant);
    plane.ask("GET", &path).bearer(&key).send().await.problem(403, "forbidden");
    suspend(false, &op.token).await.expect(200);
    plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201);
    plane.ask("GET", &path).bearer(&key).send().await.expect(200);
}

#[tokio::test]
async fn every_write_is_in_the_audit_log() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    plane.by(&ada, "PATCH", "").json(&json!({ "name": "Renamed" })).send().await.expect(200);
    plane.key(&ada, &["read"]).await;
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let actions: Vec<_> = (0..3).map(|at| log.text(&format!("/data/{at}/action"))).collect();
    assert_eq!(actions, ["key.create", "tenant.rename", "tenant.create"]);
    assert_eq!(log.text("/data/1/actor/name"), "ada@example.com");
    assert_eq!(log.text("/data/1/before/name"), "Acme");
    assert_eq!(log.text("/data/1/after/name"), "Renamed");
    assert_eq!(log.text("/data/1/ip"), "127.0.0.1");
    assert!(log.text("/data/1/request_id").starts_with("req_"));
    assert!(!log.body.to_string().contains("secret"), "no secret in the log");
}

#[tokio::test]
async fn denials_are_in_the_log_of_the_denied_caller() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let key = plane.key(&ada, &["read"]).await;
    let theirs = format!("/v1/tenants/{}/rules", eve.tenant);
    plane.ask("GET", &theirs).bearer(&key).send().await.problem(404, "not_found");
    let keys = format!("/v1/tenants/{}/keys", ada.tenant);
    for _ in 0..20 {
        plane.ask("DELETE", &format!("{keys}/x")).bearer(&key).send().await.expect(403);
    }
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let entries = log.body["data"].as_array().expect("a list");
    let denials = entries.iter().filter(|entry| entry["action"] == "access.denied");
    assert_eq!(denials.count(), 10, "ten a minute");
    assert!(log.text("/data/0/object_id").starts_with("DELETE /tenants/tenant_"));
    let others = plane.by(&eve, "GET", "audit").send().await.expect(200);
    assert!(!others.body.to_string().contains("access.denied"));
}

#[tokio::test]
async fn replicas_answer_the_versions_to_wait_for() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let answer = plane.by(&ada, "GET", "replicas").send().await.expect(200);
    assert_eq!(answer.body["data"], json!([]));
    assert_eq!(answer.body["rulebook_version"], answer.body["tenant_version"]);
}

#[tokio::test]
async fn requests_for_ids_that_the_tenant_lacks_are_in_its_log_whether_another_tenant_has_them_or_not()
 {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let body = json!({ "name": "theirs", "scopes": ["check"] });
    let theirs = plane.by(&eve, "POST", "keys").json(&body).send().await.expect(201);
    let theirs = theirs.text("/id");
    let missing = weir_domain::id::KeyId::from_u128(7).to_string();
    for id in [&theirs, &missing] {
        let path = format!("keys/{id}");
        plane.by(&ada, "DELETE", &path).send().await.problem(404, "not_found");
        let found = plane.by(&ada, "GET", &format!("audit?action=access&search={id}"));
        let found = found.send().await.expect(200);
        assert_eq!(found.text("/data/0/action"), "access.denied");
        let operation = format!("DELETE /tenants/{}/{path}", ada.tenant);
        assert_eq!(found.text("/data/0/object_id"), operation);
    }
    // The number of entries is bounded, and the rest are counted.
    for _ in 0..20 {
        plane.by(&ada, "DELETE", &format!("keys/{theirs}")).send().await.expect(404);
    }
    let log = plane.by(&ada, "GET", "audit?action=access&limit=200").send().await.expect(200);
    assert_eq!(log.body["data"].as_array().map(Vec::len), Some(10));
    let log = plane.by(&eve, "GET", "audit?action=access").send().await.expect(200);
    assert_eq!(log.body["data"], json!([]), "the other tenant's log reveals nothing");
}
