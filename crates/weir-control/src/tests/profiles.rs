//! Profiles, by which proxies ask.

use serde_json::{Value, json};

use super::support::Plane;

fn body(name: &str) -> Value {
    json!({
        "name": name, "reads": "forward_auth", "namespace": "api",
        "attributes": {
            "ip": { "from": "address" },
            "user": { "from": "header", "name": "X-User" },
            "client": { "from": "header", "name": "Authorization", "hash": true },
            "session": { "from": "cookie", "name": "sid", "hash": true },
            "plan": { "from": "query", "name": "plan", "default": "free" },
            "account": { "from": "segment", "path": "/accounts/{id}/*", "name": "id" },
            "route": { "from": "path", "templates": ["/accounts/{id}/*"], "default": "other" },
        },
        "cost": { "from": "header", "name": "X-Cost" },
        "idempotency": { "from": "header", "name": "Idempotency-Key" },
    })
}

#[tokio::test]
async fn profile_is_written_listed_replaced_and_deleted_and_each_change_is_in_the_audit_log() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for name in ["zeta", "edge"] {
        let made = plane.by(&ada, "POST", "profiles").json(&body(name)).send().await.expect(201);
        assert_eq!(
            (&made.body["trusted_hops"], &made.body["deny_status"]),
            (&json!(1), &json!(429))
        );
        assert_eq!(made.body["attributes"]["ip"]["ipv6_prefix"], 64);
        assert_eq!(made.body["cost"]["default"], 1);
        assert!(made.body["rulebook_version"].as_u64().is_some_and(|version| version > 0));
    }
    let list = plane.by(&ada, "GET", "profiles?limit=1").send().await.expect(200);
    assert_eq!(list.body["data"][0]["name"], "edge");
    let next = format!("profiles?cursor={}", list.text("/next_cursor"));
    let next = plane.by(&ada, "GET", &next).send().await.expect(200);
    assert_eq!(
        (&next.body["data"][0]["name"], &next.body["next_cursor"]),
        (&json!("zeta"), &Value::Null)
    );

    let path = format!("profiles/{}", list.text("/data/0/id"));
    let nginx = json!({
        "name": "nginx", "reads": "auth_request", "deny_status": 403,
        "attributes": { "route": { "from": "path" } },
    });
    let put = |etag: &'static str, body: &Value| {
        plane.by(&ada, "PUT", &path).header("if-match", etag).json(body)
    };
    plane.by(&ada, "PUT", &path).json(&nginx).send().await.problem(428, "precondition_required");
    put("\"7\"", &nginx).send().await.problem(412, "stale");
    put("\"1\"", &body("zeta")).send().await.problem(409, "name_taken");
    let put = put("\"1\"", &nginx).send().await.expect(200);
    assert_eq!((&put.body["revision"], &put.body["cost"]), (&json!(2), &json!(1)));
    let read = plane.by(&ada, "GET", &path).send().await.expect(200);
    assert_eq!((&read.headers["etag"], &read.body), (&put.headers["etag"], &put.body));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    plane.by(&ada, "GET", &path).send().await.problem(404, "not_found");

    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let entries = log.body["data"].as_array().expect("entries").iter();
    let entries = entries.filter(|entry| entry["object_kind"] == "profile");
    let shown: Vec<_> = entries
        .map(|entry| (entry["action"].as_str(), &entry["before"]["name"], &entry["after"]["name"]))
        .collect();
    let (zeta, edge, nginx) = (json!("zeta"), json!("edge"), json!("nginx"));
    assert_eq!(
        shown,
        [
            (Some("profile.delete"), &nginx, &Value::Null),
            (Some("profile.update"), &edge, &nginx),
            (Some("profile.create"), &Value::Null, &edge),
            (Some("profile.create"), &Value::Null, &zeta),
        ]
    );
}

#[tokio::test]
async fn wrong_fields_of_a_profile_are_named_and_nothing_is_stored() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for (field, value) in [
        ("reads", json!("guess")),
        ("name", json!("A")),
        ("trusted_hops", json!(0)),
        ("deny_status", json!(401)),
        ("attributes", json!({})),
        ("attributes.ip", json!({ "from": "address", "name": "x" })),
        ("attributes.ip", json!({ "from": "host", "fold": ["case"] })),
        ("attributes.ip", json!({ "from": "path", "fold": ["case", "case"] })),
        ("attributes.ip.fold[0]", json!({ "from": "path", "fold": ["accents"] })),
        ("attributes.ip.ipv6_prefix", json!({ "from": "address", "ipv6_prefix": 129 })),
        ("attributes.ip.name", json!({ "from": "header", "name": "X-Forwarded-For" })),
        ("attributes.ip.hash", json!({ "from": "header", "name": "Cookie" })),
        ("attributes.ip", json!({ "from": "query" })),
        ("attributes.ip", json!({ "from": "segment", "name": "id" })),
        ("attributes.ip", json!({ "from": "header", "name": "x", "path": "/{x}" })),
        ("attributes.ip.hash", json!({ "from": "cookie", "name": "sid" })),
        ("attributes.ip.path", json!({ "from": "segment", "name": "id", "path": "/a*/{id}" })),
        ("attributes.ip.templates[0]", json!({ "from": "path", "templates": ["/A"] })),
        ("cost", json!(0)),
        ("cost.name", json!({ "from": "header", "name": "" })),
        ("idempotency.name", json!({ "from": "header", "name": "X-Weir-Key" })),
        ("guess", json!(true)),
    ] {
        let mut wrong = body("edge");
        match field.split_once('.') {
            Some(("attributes", _)) => wrong["attributes"]["ip"] = value,
            Some((part, _)) => wrong[part] = value,
            None => wrong[field] = value,
        }
        let answer = plane.by(&ada, "POST", "profiles").json(&wrong).send().await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["fields"][0]["field"]),
            (422, &json!(field)),
            "{}",
            answer.body
        );
    }
    let list = plane.by(&ada, "GET", "profiles").send().await.expect(200);
    assert_eq!(list.body["data"], json!([]));
}

#[tokio::test]
async fn number_of_profiles_is_bounded() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for nth in 0..weir_domain::profile::PROFILES_PER_TENANT_MAX {
        let name = format!("p-{nth}");
        plane.by(&ada, "POST", "profiles").json(&body(&name)).send().await.expect(201);
    }
    let refused = plane.by(&ada, "POST", "profiles").json(&body("more")).send().await;
    refused.problem(409, "conflict");
}

#[tokio::test]
async fn domain_of_the_rate_limit_service_has_one_profile() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let profile = |name: &str, domain: &str| {
        json!({
            "name": name, "reads": "rate_limit_service", "namespace": "api", "domain": domain,
            "rename": { "remote_address": "ip" },
        })
    };
    let make = |body: Value| plane.by(&ada, "POST", "profiles").json(&body).send();
    let made = make(profile("envoy", "eg/default/http")).await.expect(201);
    assert_eq!(made.body["domain"], "eg/default/http");
    assert_eq!(made.body["rename"], json!({ "remote_address": "ip" }));
    make(profile("other", "*")).await.expect(201);
    make(profile("twin", "eg/default/http")).await.problem(409, "name_taken");
    make(body("edge")).await.expect(201);
    make(body("another")).await.expect(201);
    let without = json!({ "name": "none", "reads": "rate_limit_service" });
    let refused = make(without).await.problem(422, "invalid");
    assert_eq!(refused.body["fields"][0]["field"], "domain");
}

#[tokio::test]
async fn revisions_of_a_profile_are_listed_restored_and_bounded() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let made = plane.by(&ada, "POST", "profiles").json(&body("edge")).send().await.expect(201);
    let path = format!("profiles/{}", made.text("/id"));
    let nginx = json!({
        "name": "nginx", "reads": "auth_request", "deny_status": 403,
        "attributes": { "route": { "from": "path" } },
    });
    let put = plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(&nginx);
    let put = put.send().await.expect(200);
    let revisions = async |query: &str| {
        let ask = plane.by(&ada, "GET", &format!("{path}/revisions{query}"));
        ask.send().await.expect(200).body
    };
    let list = revisions("").await;
    assert_eq!(list["data"][0]["revision"], 2);
    assert_eq!(list["data"][0]["before"]["name"], "edge");
    assert_eq!(list["data"][0]["after"]["name"], "nginx");
    assert_eq!(list["data"][1]["before"], Value::Null);
    assert_eq!(list["data"][1]["actor"]["name"], "ada@example.com");
    let first = revisions("?limit=1").await;
    let next = format!("?limit=1&cursor={}", first["next_cursor"].as_str().expect("a cursor"));
    assert_eq!(revisions(&next).await["data"][0]["revision"], 1);

    let revert = |etag: &'static str, revision: Value| {
        let ask = plane.by(&ada, "POST", &format!("{path}/revert")).header("if-match", etag);
        ask.json(&json!({ "revision": revision })).send()
    };
    assert_eq!(revert("\"2\"", json!(7)).await.refused_field(), "revision");
    revert("\"1\"", json!(1)).await.problem(412, "stale");
    let reverted = revert("\"2\"", json!(1)).await.expect(200);
    assert_eq!((&reverted.body["revision"], &reverted.body["name"]), (&json!(3), &json!("edge")));
    assert!(reverted.body["rulebook_version"].as_u64() > put.body["rulebook_version"].as_u64());
    let mut shown = plane.by(&ada, "GET", &path).send().await.expect(200).body;
    let of_answers = ["managed_by", "edited", "revision", "rulebook_version", "warnings"];
    for field in ["id", "created_at", "updated_at"].into_iter().chain(of_answers) {
        shown.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(shown, list["data"][1]["after"]);
    let log = plane.by(&ada, "GET", "audit?action=profile.revert").send().await.expect(200);
    assert_eq!(log.body["data"][0]["before"]["name"], "nginx");
    assert_eq!(log.body["data"][0]["after"]["name"], "edge");

    // A name that another profile took meanwhile.
    plane.by(&ada, "POST", "profiles").json(&body("nginx")).send().await.expect(201);
    revert("\"3\"", json!(2)).await.problem(409, "name_taken");

    let operator = plane.operator("root@example.com").await;
    let ceilings = format!("/v1/operator/tenants/{}/ceilings", ada.tenant);
    let set = plane.ask("PUT", &ceilings).bearer(&operator.token);
    set.json(&json!({ "revisions_per_rule": 2 })).send().await.expect(200);
    revert("\"3\"", json!(1)).await.expect(200);
    let retained = revisions("").await;
    let retained: Vec<_> = retained["data"].as_array().expect("a list").iter().collect();
    assert_eq!(retained.iter().map(|row| &row["revision"]).collect::<Vec<_>>(), [4, 3]);
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    let gone = plane.by(&ada, "GET", &format!("{path}/revisions")).send();
    gone.await.problem(404, "not_found");
}
