//! API keys, and their rights in the admin API.

use serde_json::json;

use super::support::Plane;

#[tokio::test]
async fn secret_is_shown_once_and_works_until_the_key_is_deleted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = json!({ "name": "ci", "scopes": ["write", "check"] });
    let made = plane.by(&ada, "POST", "keys").json(&body).send().await.expect(201);
    let (id, secret) = (made.text("/id"), made.text("/secret"));
    assert_eq!(made.body["scopes"], json!(["check", "write"]));
    assert!(secret.starts_with(&format!("weir_{}_", made.text("/hint"))));
    let list = plane.by(&ada, "GET", "keys").send().await.expect(200);
    assert_eq!(list.text("/data/0/id"), id);
    assert!(!list.body.to_string().contains(&secret));
    assert_eq!(list.body["data"][0]["last_used_at"], serde_json::Value::Null);

    let rules = format!("/v1/tenants/{}/rules", ada.tenant);
    plane.ask("GET", &rules).bearer(&secret).send().await.expect(200);
    plane.ask("GET", &rules).header("x-api-key", &secret).send().await.expect(200);
    let list = plane.by(&ada, "GET", "keys").send().await.expect(200);
    assert!(list.body["data"][0]["last_used_at"].is_string());
    plane.by(&ada, "DELETE", &format!("keys/{id}")).send().await.expect(204);
    plane.ask("GET", &rules).bearer(&secret).send().await.problem(401, "unauthenticated");
    plane.by(&ada, "DELETE", &format!("keys/{id}")).send().await.problem(404, "not_found");
}

#[tokio::test]
async fn repeated_creation_cannot_show_the_secret_again() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = json!({ "name": "ci", "scopes": ["check"] });
    let create =
        || plane.by(&ada, "POST", "keys").header("idempotency-key", "k").json(&body).send();
    let first = create().await.expect(201);
    let again = create().await.problem(409, "conflict");
    assert!(again.text("/detail").contains(&first.text("/id")));
    assert!(again.text("/request_id").starts_with("req_"));
}

#[tokio::test]
async fn scopes_are_roles_and_junk_is_refused_like_the_unknown() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rules = format!("/v1/tenants/{}/rules", ada.tenant);
    let keys = format!("/v1/tenants/{}/keys", ada.tenant);
    let tenant = format!("/v1/tenants/{}", ada.tenant);
    let rule = json!({ "name": "a", "limits": [{ "algorithm": "spacing", "interval_ms": 5 }] });
    let cases = [
        ("check", 403, 403, 403),
        ("read", 200, 403, 403),
        ("write", 200, 201, 403),
        ("admin", 200, 409, 201),
    ];
    for (scope, reads, writes, manages) in cases {
        let key = plane.key(&ada, &[scope]).await;
        plane.ask("GET", &rules).bearer(&key).send().await.expect(reads);
        plane.ask("POST", &rules).bearer(&key).json(&rule).send().await.expect(writes);
        let new = json!({ "name": "b", "scopes": ["read"] });
        plane.ask("POST", &keys).bearer(&key).json(&new).send().await.expect(manages);
        let gone = plane.ask("DELETE", &tenant).bearer(&key).json(&json!({ "name": "Acme" }));
        gone.send().await.problem(403, "forbidden");
        plane.ask("GET", "/v1/me").bearer(&key).send().await.problem(403, "forbidden");
    }
    let key = plane.key(&ada, &["admin"]).await;
    let mut seen = Vec::new();
    for wrong in
        [&key[1..], &key[..key.len() - 1], &key.to_lowercase(), &"weir_".repeat(10_000), "weir_"]
    {
        let answer = plane.ask("GET", &rules).bearer(wrong).send().await;
        let mut answer = answer.problem(401, "unauthenticated");
        answer.body["request_id"].take();
        seen.push(answer.body);
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "one and the same body");
    let query = format!("{rules}?api_key={key}");
    plane.ask("GET", &query).send().await.problem(400, "malformed");
}

#[tokio::test]
async fn rotation_overlaps_and_expiry_ends() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = json!({ "name": "ci", "scopes": ["read"] });
    let made = plane.by(&ada, "POST", "keys").json(&body).send().await.expect(201);
    let rotate = |overlap_s: u32| {
        let path = format!("keys/{}/rotate", made.text("/id"));
        let body = json!({ "overlap_s": overlap_s });
        let ask = plane.by(&ada, "POST", &path).json(&body);
        ask.send()
    };
    assert_eq!(rotate(3_000_000).await.refused_field(), "overlap_s");
    let rotated = rotate(60).await.expect(200);
    let (old, new) = (made.text("/secret"), rotated.text("/secret"));
    let rules = format!("/v1/tenants/{}/rules", ada.tenant);
    let with = |secret: String| plane.ask("GET", &rules).bearer(&secret).send();
    with(old.clone()).await.expect(200);
    with(new.clone()).await.expect(200);
    plane.advance(60_000);
    with(old).await.problem(401, "unauthenticated");
    with(new.clone()).await.expect(200);
    let newest = rotate(0).await.expect(200).text("/secret");
    with(new).await.problem(401, "unauthenticated");
    with(newest).await.expect(200);
}

#[tokio::test]
async fn bad_keys_are_refused_by_field() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for (body, field) in [
        (json!({ "name": "", "scopes": ["read"] }), "name"),
        (json!({ "name": "a", "scopes": [] }), "scopes"),
        (json!({ "name": "a", "scopes": ["root"] }), "scopes[0]"),
        (json!({ "name": "a" }), "scopes"),
        (
            json!({ "name": "a", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z" }),
            "expires_at",
        ),
        (json!({ "name": "a", "scopes": ["read"], "expires_at": "soon" }), "expires_at"),
        (json!({ "name": "a", "scopes": ["read"], "tenant_id": "x" }), "tenant_id"),
    ] {
        let answer = plane.by(&ada, "POST", "keys").json(&body).send().await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
}
