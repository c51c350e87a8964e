//! Ceilings of a tenant, and the switch that turns limits off.

use serde_json::{Value, json};

use super::support::{Answer, Member, Plane};

async fn set(plane: &Plane, op: &Member, tenant: &str, values: Value) -> Answer {
    let path = format!("/v1/operator/tenants/{tenant}/ceilings");
    plane.ask("PUT", &path).bearer(&op.token).json(&values).send().await
}

fn rule(name: &str) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    json!({ "name": name, "limits": limits })
}

#[tokio::test]
async fn operators_set_ceilings_and_members_read_their_own() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    let own = plane.by(&ada, "GET", "ceilings").send().await.expect(200);
    assert_eq!(
        (&own.body["in_force"]["api_keys"], &own.body["own"]["api_keys"]),
        (&json!(100), &Value::Null)
    );

    let defaults = plane.ask("PUT", "/v1/operator/ceilings").bearer(&op.token);
    let defaults = defaults.json(&json!({ "api_keys": 7, "rules": 9 })).send().await.expect(200);
    assert_eq!(defaults.body["in_force"]["api_keys"], 7);
    let before = plane.by(&ada, "GET", "replicas").send().await.expect(200);
    set(&plane, &op, &ada.tenant, json!({ "rules": 3 })).await.expect(200);
    let own = plane.by(&ada, "GET", "ceilings").send().await.expect(200);
    let shown = ["rules", "api_keys"].map(|name| own.body["in_force"][name].clone());
    assert_eq!(shown, [json!(3), json!(7)]);
    let after = plane.by(&ada, "GET", "replicas").send().await.expect(200);
    assert_eq!(before.body, after.body, "gates serve no ceiling but that of checks a second");
    let ceilings = json!({ "rules": 3, "checks_per_second": 1_000 });
    set(&plane, &op, &ada.tenant, ceilings).await.expect(200);
    let after = plane.by(&ada, "GET", "replicas").send().await.expect(200);
    assert!(before.body["tenant_version"].as_u64() < after.body["tenant_version"].as_u64());

    let wrong = set(&plane, &op, &ada.tenant, json!({ "api_keys": 0 })).await;
    assert_eq!(wrong.expect(422).text("/fields/0/reason"), "must be from 1 to 10000");
    set(&plane, &op, &ada.tenant, json!({ "apikeys": 1 })).await.expect(422);
    let own = plane.by(&ada, "GET", "ceilings").send().await.expect(200);
    assert_eq!(own.body["own"]["rules"], 3, "what is refused changes nothing");
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    assert_eq!(log.text("/data/0/action"), "tenant.ceilings");
    assert_eq!(log.body["data"][0]["after"]["rules"], 3);
    set(&plane, &ada, &ada.tenant, json!({ "rules": 10_000 })).await.problem(404, "not_found");
}

#[tokio::test]
async fn no_more_rules_and_keys_than_the_ceiling_and_the_refusal_names_it() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    set(&plane, &op, &ada.tenant, json!({ "rules": 2, "api_keys": 2 })).await.expect(200);
    for name in ["a", "b"] {
        plane.by(&ada, "POST", "rules").json(&rule(name)).send().await.expect(201);
        let key = json!({ "name": name, "scopes": ["read"] });
        plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201);
    }
    let refused = plane.by(&ada, "POST", "rules").json(&rule("c")).send().await.expect(409);
    assert_eq!(refused.text("/detail"), "the tenant has 2, and its ceiling `rules` is 2");
    let key = json!({ "name": "c", "scopes": ["read"] });
    let refused = plane.by(&ada, "POST", "keys").json(&key).send().await.expect(409);
    assert_eq!(refused.text("/detail"), "the tenant has 2, and its ceiling `api_keys` is 2");

    // Another key can be created after one is revoked.
    let keys = plane.by(&ada, "GET", "keys").send().await.expect(200);
    let path = format!("keys/{}", keys.text("/data/0/id"));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201);
}

#[tokio::test]
async fn rules_that_every_check_meets_have_no_more_limits_than_the_ceiling() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    set(&plane, &op, &ada.tenant, json!({ "limits_per_check": 2 })).await.expect(200);
    for name in ["a", "b"] {
        plane.by(&ada, "POST", "rules").json(&rule(name)).send().await.expect(201);
    }
    let refused = plane.by(&ada, "POST", "rules").json(&rule("c")).send().await.expect(422);
    assert!(refused.text("/fields/0/reason").ends_with("the most is 2"), "{}", refused.body);
}

#[tokio::test]
async fn a_hundred_keys_are_enough_for_a_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let key = json!({ "name": "k", "scopes": ["read"] });
    for _ in 0..100 {
        plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201);
    }
    let refused = plane.by(&ada, "POST", "keys").json(&key).send().await.expect(409);
    assert_eq!(refused.text("/detail"), "the tenant has 100, and its ceiling `api_keys` is 100");
}

#[tokio::test]
async fn only_the_newest_revisions_of_a_rule_are_retained() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    set(&plane, &op, &ada.tenant, json!({ "revisions_per_rule": 3 })).await.expect(200);
    let made = plane.by(&ada, "POST", "rules").json(&rule("a")).send().await.expect(201);
    let path = format!("rules/{}", made.text("/id"));
    for revision in 1..8 {
        let tag = format!("\"{revision}\"");
        let edit = plane.by(&ada, "PUT", &path).header("if-match", &tag).json(&rule("a"));
        edit.send().await.expect(200);
    }
    let list = plane.by(&ada, "GET", &format!("{path}/revisions")).send().await.expect(200);
    let revisions: Vec<_> = list.body["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["revision"].clone())
        .collect();
    assert_eq!(revisions, [8, 7, 6].map(Value::from));
    let revert = plane.by(&ada, "POST", &format!("{path}/revert"));
    assert_eq!(revert.json(&json!({ "revision": 1 })).send().await.refused_field(), "revision");
}

#[tokio::test]
async fn webhooks_are_tested_ten_times_a_minute_at_most() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let webhook = json!({ "name": "w", "url": "http://127.0.0.1:9/" });
    let webhook = plane.by(&ada, "POST", "webhooks").json(&webhook).send().await.expect(201);
    let path = format!("webhooks/{}/test", webhook.text("/webhook/id"));
    for _ in 0..10 {
        plane.by(&ada, "POST", &path).send().await.expect(202);
    }
    let refused = plane.by(&ada, "POST", &path).send().await.expect(429);
    assert_eq!(refused.text("/detail"), "the tenant's ceiling `webhook_tests_per_minute` is 10");
    let wait: i64 =
        refused.headers["retry-after"].to_str().expect("ascii").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    plane.advance(wait * 1000);
    plane.by(&ada, "POST", &path).send().await.expect(202);
}

#[tokio::test]
async fn admin_requests_beyond_the_ceiling_are_refused_and_other_tenants_are_not() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let op = plane.operator("op@example.com").await;
    let values = json!({ "admin_requests_per_second": 5 });
    set(&plane, &op, &eve.tenant, values).await.expect(200);
    let mut refused = None;
    for _ in 0..20 {
        let answer = plane.by(&eve, "GET", "rules").send().await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("20 requests in 20 ms exceed 5 a second");
    assert_eq!(refused.body["code"], "too_many_requests");
    assert_eq!(refused.text("/detail"), "the tenant's ceiling `admin_requests_per_second` is 5");
    assert_eq!(refused.headers["retry-after"], "1");
    for _ in 0..20 {
        plane.by(&ada, "GET", "rules").send().await.expect(200);
    }
    plane.advance(1_000);
    plane.by(&eve, "GET", "rules").send().await.expect(200);
}

#[tokio::test]
async fn limits_are_turned_off_by_a_tenants_admins_and_by_operators_and_it_is_in_the_log() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    let off = json!({ "enforcement": "off" });
    let answer = plane.by(&ada, "PATCH", "").json(&off).send().await.expect(200);
    assert_eq!(
        (answer.text("/enforcement"), answer.text("/installation_enforcement")),
        ("off".into(), "on".into())
    );
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    assert_eq!(log.text("/data/0/action"), "tenant.enforcement");
    let change = ["before", "after"].map(|side| log.body["data"][0][side]["enforcement"].clone());
    assert_eq!(change, [json!("on"), json!("off")]);

    let loaded = plane.database.gate.load_rulebook(None).await.expect("a load");
    assert!(loaded.enforced && !loaded.tenants.iter().all(|tenant| tenant.enforced));
    plane.by(&ada, "PATCH", "").json(&json!({ "enforcement": "on" })).send().await.expect(200);
    let everywhere =
        |token: &str| plane.ask("PUT", "/v1/operator/enforcement").bearer(token).json(&off).send();
    everywhere(&ada.token).await.problem(404, "not_found");
    everywhere(&op.token).await.expect(200);
    let version = loaded.version;
    let loaded = plane.database.gate.load_rulebook(Some(version)).await.expect("a load");
    assert!(!loaded.enforced && loaded.version.number > version.number);
    let tenant = plane.by(&ada, "GET", "").send().await.expect(200);
    assert_eq!(tenant.text("/installation_enforcement"), "off");
    plane.by(&ada, "PATCH", "").json(&json!({ "enforcement": "maybe" })).send().await.expect(422);
}

#[tokio::test]
async fn operators_replace_the_regions_and_gates_load_them() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    let ask = |method, token: &str| plane.ask(method, "/v1/operator/regions").bearer(token);
    let read = ask("GET", &op.token).send().await.expect(200);
    assert_eq!(read.body, json!({ "home": null, "regions": [] }));
    let region =
        |name: &str| json!({ "name": name, "gates": [format!("https://{name}.example.com:8443")] });
    let both = json!({ "home": "eu", "regions": [region("eu"), region("us")] });
    ask("PUT", &ada.token).json(&both).send().await.problem(404, "not_found");
    let before = plane.database.gate.load_rulebook(None).await.expect("a load").version;
    ask("PUT", &op.token).json(&both).send().await.expect(200);
    assert_eq!(ask("GET", &op.token).send().await.expect(200).body, both);
    let loaded = plane.database.gate.load_rulebook(Some(before)).await.expect("a load");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&loaded.regions).expect("json"), both);
    let no_home = json!({ "home": "asia", "regions": [region("eu")] });
    let refused = ask("PUT", &op.token).json(&no_home).send().await.expect(422);
    assert_eq!(refused.text("/fields/0/field"), "home");
    assert_eq!(ask("GET", &op.token).send().await.expect(200).body, both);
    let log = plane.ask("GET", "/v1/operator/audit?action=installation.regions").bearer(&op.token);
    assert_eq!(log.send().await.expect(200).text("/data/0/after/home"), "eu");
}

#[tokio::test]
async fn statistics_days_above_the_retention_of_the_installation_are_refused_with_the_bound() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let op = plane.operator("op@example.com").await;
    set(&plane, &op, &ada.tenant, json!({ "statistics_days": 730 })).await.expect(200);
    let longer = json!({ "statistics_days": 731 });
    let refused = set(&plane, &op, &ada.tenant, longer.clone()).await.expect(422);
    assert_eq!(refused.text("/fields/0/field"), "statistics_days");
    let bound = "must be from 1 to 730, the days that `WEIR_STATS_DAYS` retains";
    assert_eq!(refused.text("/fields/0/reason"), bound);
    let defaults = plane.ask("PUT", "/v1/operator/ceilings").bearer(&op.token).json(&longer);
    assert_eq!(defaults.send().await.refused_field(), "statistics_days");
    let own = plane.by(&ada, "GET", "ceilings").send().await.expect(200);
    assert_eq!(own.body["own"]["statistics_days"], 730);
}
