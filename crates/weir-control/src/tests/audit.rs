//! The audit log over the API: its entries and its readers.

use serde_json::{Value, json};
use weir_domain::id::TenantId;

use super::support::{Member, PASSWORD, Plane};
use crate::actor::denied;

/// The newest entry with this action.
async fn newest(plane: &Plane, path: &str, token: &str, action: &str) -> Value {
    let path = format!("{path}?action={action}&limit=1");
    let log = plane.ask("GET", &path).bearer(token).send().await.expect(200);
    let entry = log.body["data"][0].clone();
    assert_eq!(entry["action"], action, "{:#}", log.body);
    entry
}

async fn newest_of(plane: &Plane, member: &Member, action: &str) -> Value {
    newest(plane, &format!("/v1/tenants/{}/audit", member.tenant), &member.token, action).await
}

async fn suspend(plane: &Plane, operator: &Member, tenant: &str, suspended: bool) {
    let path = format!("/v1/operator/tenants/{tenant}");
    let body = json!({ "suspended": suspended });
    plane.ask("PATCH", &path).bearer(&operator.token).json(&body).send().await.expect(200);
}

#[tokio::test]
async fn changes_show_what_was_before() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let key = json!({ "name": "k", "scopes": ["read"] });
    let key = plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201).text("/id");
    let overlap = json!({ "overlap_s": 5 });
    plane.by(&ada, "POST", &format!("keys/{key}/rotate")).json(&overlap).send().await.expect(200);
    assert_eq!(newest_of(&plane, &ada, "key.rotate").await["before"]["id"], key);

    let webhook = json!({ "name": "w", "url": "http://127.0.0.1:9/" });
    let webhook = plane.by(&ada, "POST", "webhooks").json(&webhook).send().await.expect(201);
    let webhook = webhook.text("/webhook/id");
    let path = format!("webhooks/{webhook}/rotate");
    plane.by(&ada, "POST", &path).json(&overlap).send().await.expect(200);
    assert_eq!(newest_of(&plane, &ada, "webhook.rotate").await["before"]["id"], webhook);

    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let rule = json!({ "name": "login", "count_by": ["user"], "limits": limits });
    let rule = plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201).text("/id");
    let exception = |action: &str, user: &str| json!({ "rule_id": rule, "subject": { "user": user }, "action": action });
    let bulk = |overrides: Vec<Value>| json!({ "overrides": overrides });
    let first = bulk(vec![exception("deny", "u-1")]);
    plane.by(&ada, "POST", "overrides/bulk").json(&first).send().await.expect(200);
    let second = bulk(vec![exception("allow", "u-1"), exception("allow", "u-2")]);
    plane.by(&ada, "POST", "overrides/bulk").json(&second).send().await.expect(200);
    let entry = newest_of(&plane, &ada, "override.bulk").await;
    assert_eq!(entry["before"]["replaced"][0]["override"]["action"], "deny");
    assert_eq!(entry["before"]["replaced"].as_array().map(Vec::len), Some(1));

    let renamed = json!({ "name": "Ada L." });
    plane.ask("PATCH", "/v1/me").bearer(&ada.token).json(&renamed).send().await.expect(200);
    let entry = newest(&plane, "/v1/me/audit", &ada.token, "user.rename").await;
    assert_eq!(entry["before"], json!({ "name": "ada" }));
    assert_eq!(entry["after"], renamed);

    let operator = plane.operator("op@example.com").await;
    suspend(&plane, &operator, &ada.tenant, true).await;
    assert_eq!(
        newest_of(&plane, &ada, "tenant.suspend").await["before"],
        json!({ "suspended": false })
    );
    suspend(&plane, &operator, &ada.tenant, false).await;
    assert_eq!(
        newest_of(&plane, &ada, "tenant.resume").await["before"],
        json!({ "suspended": true })
    );
}

#[tokio::test]
async fn write_refused_because_of_suspension_has_an_entry() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let operator = plane.operator("op@example.com").await;
    suspend(&plane, &operator, &ada.tenant, true).await;
    let body = json!({ "name": "New name" });
    plane.by(&ada, "PATCH", "").json(&body).send().await.problem(403, "forbidden");
    let entry = newest_of(&plane, &ada, "access.denied").await;
    assert_eq!(entry["object_id"], format!("PATCH /tenants/{}", ada.tenant));
    assert_eq!(entry["actor"]["name"], "ada@example.com");
}

#[tokio::test]
async fn denial_about_another_tenant_is_read_by_the_person_and_by_operators() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let operator = plane.operator("op@example.com").await;
    let path = format!("/v1/tenants/{}/rules", ada.tenant);
    plane.ask("GET", &path).bearer(&eve.token).send().await.problem(404, "not_found");
    for (log, token) in [("/v1/me/audit", &eve.token), ("/v1/operator/audit", &operator.token)] {
        let entry = newest(&plane, log, token, "access.denied").await;
        assert_eq!(entry["object_id"], format!("GET {}", path.trim_start_matches("/v1")), "{log}");
        assert_eq!(entry["actor"]["name"], "eve@example.com", "{log}");
    }
    let own = plane.ask("GET", "/v1/me/audit?action=access.denied").bearer(&ada.token);
    assert_eq!(own.send().await.expect(200).body["data"], json!([]), "not Ada's affair");
}

#[tokio::test]
async fn denials_beyond_ten_a_minute_are_counted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let key = plane.key(&ada, &["read"]).await;
    let body = json!({ "name": "New name" });
    let path = format!("/v1/tenants/{}", ada.tenant);
    for _ in 0..25 {
        let ask = plane.ask("PATCH", &path).bearer(&key).json(&body);
        ask.send().await.problem(403, "forbidden");
    }
    let log = plane.by(&ada, "GET", "audit?action=access.denied").send().await.expect(200);
    assert_eq!(log.body["data"].as_array().map(Vec::len), Some(10));
    plane.advance(60_000);
    denied::record_counted(&plane.state, false).await;
    let entry = newest_of(&plane, &ada, "access.denied_more").await;
    assert_eq!(entry["after"]["count"], 15);
    assert_eq!(entry["actor"]["kind"], "key");
}

#[tokio::test]
async fn refused_log_ins_are_read_by_owners_and_those_of_unknown_addresses_by_operators() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let operator = plane.operator("op@example.com").await;
    for email in ["ada@example.com", "nobody@example.com", "a password typed here"] {
        let body = json!({ "email": email, "password": "wrong horse staple" });
        plane
            .ask("POST", "/v1/auth/login")
            .json(&body)
            .send()
            .await
            .problem(401, "unauthenticated");
    }
    // The entries are written after the answer.
    let path = "/v1/operator/audit?action=user.login_refused";
    let recorded = async || {
        let log = plane.ask("GET", path).bearer(&operator.token).send().await.expect(200);
        log.body["data"].as_array().map_or(0, Vec::len)
    };
    let all = async { while recorded().await < 3 {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), all).await.expect("recorded");
    let entry = newest_of(&plane, &ada, "user.login_refused").await;
    assert_eq!(entry["actor"]["name"], "ada@example.com");
    let key = plane.key(&ada, &["admin"]).await;
    let path = format!("/v1/tenants/{}/audit?action=user", ada.tenant);
    let log = plane.ask("GET", &path).bearer(&key).send().await.expect(200);
    assert_eq!(log.body["data"], json!([]), "for owners only");
    let path = "/v1/operator/audit?action=user.login_refused";
    let log = plane.ask("GET", path).bearer(&operator.token).send().await.expect(200);
    let emails: Vec<_> = (0..3).map(|at| log.body["data"][at]["after"]["email"].clone()).collect();
    assert_eq!(json!(emails), json!([null, "nobody@example.com", "ada@example.com"]));
    assert_eq!(log.body["data"][1]["actor"]["kind"], "anonymous");
}

#[tokio::test]
async fn log_of_a_deleted_tenant_is_readable_for_the_operator() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let operator = plane.operator("op@example.com").await;
    let delete = plane.by(&ada, "DELETE", "").json(&json!({ "name": "Acme" }));
    delete.send().await.expect(204);
    let path = format!("/v1/operator/tenants/{}/audit", ada.tenant);
    let log = plane.ask("GET", &path).bearer(&operator.token).send().await.expect(200);
    assert_eq!(log.text("/data/0/action"), "tenant.delete");
    assert_eq!(log.text("/data/1/action"), "tenant.create");
    assert_eq!(log.text("/data/0/tenant_id"), ada.tenant);
    plane.ask("GET", &path).bearer(&ada.token).send().await.problem(404, "not_found");
    let never = TenantId::from_u128(7);
    let path = format!("/v1/operator/tenants/{never}/audit");
    let log = plane.ask("GET", &path).bearer(&operator.token).send().await.expect(200);
    assert_eq!(log.body["data"], json!([]));
}

#[tokio::test]
async fn person_reads_the_own_log_and_nobody_elses() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    plane.member("eve@example.com").await;
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    plane.ask("POST", "/v1/auth/login").json(&body).send().await.expect(200);
    let log = plane.ask("GET", "/v1/me/audit").bearer(&ada.token).send().await.expect(200);
    let actions: Vec<_> = log.body["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["action"].as_str().expect("text"))
        .collect();
    assert_eq!(actions, ["user.login", "user.signup"]);
    assert_eq!(log.body["data"][0]["seq"], 2);
}

#[tokio::test]
async fn log_can_be_followed_by_a_key_that_can_do_nothing_else() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let key = plane.key(&ada, &["audit"]).await;
    let read = plane.key(&ada, &["read"]).await;
    let ask = |query: String, key: &str| {
        plane.ask("GET", &format!("/v1/tenants/{}/{query}", ada.tenant)).bearer(key).send()
    };
    let first = ask("audit?order=asc&limit=1".to_owned(), &key).await.expect(200);
    let first_seq = first.body["data"][0]["seq"].as_u64().expect("a number");
    assert_eq!(first_seq, 1);
    let rest = ask(format!("audit?order=asc&after={first_seq}"), &key).await.expect(200);
    let rest: Vec<_> = rest.body["data"].as_array().expect("entries").clone();
    let numbers: Vec<_> = rest.iter().filter_map(|entry| entry["seq"].as_u64()).collect();
    assert_eq!(numbers, (2..2 + rest.len() as u64).collect::<Vec<_>>());
    assert_eq!(rest.iter().filter(|entry| entry["action"] == "key.create").count(), 2);
    let last = numbers.last().expect("an entry");
    let none = ask(format!("audit?order=asc&after={last}"), &key).await.expect(200);
    assert_eq!(none.body, json!({ "data": [], "next_cursor": null }));

    ask("audit?order=asc".to_owned(), &read).await.problem(403, "forbidden");
    ask("rules".to_owned(), &key).await.problem(403, "forbidden");
    let other = plane.member("eve@example.com").await;
    let path = format!("/v1/tenants/{}/audit?order=asc", other.tenant);
    plane.ask("GET", &path).bearer(&key).send().await.problem(404, "not_found");
}

#[tokio::test]
async fn log_is_answered_as_lines_of_ocsf() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    plane.key(&ada, &["read"]).await;
    let body = plane.by(&ada, "GET", "audit?order=asc&format=ocsf").open().await;
    let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let numbers: Vec<_> =
        events.iter().map(|event| event["metadata"]["sequence"].clone()).collect();
    let expected: Vec<_> = (1..=events.len()).map(|seq| json!(seq)).collect();
    assert_eq!(numbers, expected);
    let made = events.iter().find(|event| event["api"]["operation"] == "key.create");
    let made = made.expect("the key is in the log");
    assert_eq!((&made["class_uid"], &made["activity_id"]), (&json!(6003), &json!(1)));
    assert_eq!(made["actor"]["user"]["name"], "ada@example.com");
    assert_eq!(made["metadata"]["tenant_uid"], ada.tenant);
}

#[tokio::test]
async fn parameters_that_contradict_each_other_are_refused() {
    let plane = Plane::start().await;
    let operator = plane.operator("olga@example.com").await;
    for (path, field) in [
        ("me/audit?after=1", "after"),
        ("me/audit?format=ocsf", "format"),
        ("me/audit?order=asc&action=rule", "action"),
        ("me/audit?order=asc&cursor=x", "cursor"),
        ("me/audit?order=asc&limit=201", "limit"),
        ("me/audit?order=asc&after=9007199254740992", "after"),
        ("operator/audit?order=asc", "order"),
    ] {
        let answer = plane.ask("GET", &format!("/v1/{path}")).bearer(&operator.token).send().await;
        assert_eq!(answer.refused_field(), field, "{path}");
    }
    for path in ["me/audit?order=up", "me/audit?order=asc&after=-1", "me/audit?order=asc&after=x"] {
        let answer = plane.ask("GET", &format!("/v1/{path}")).bearer(&operator.token).send().await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.body);
    }
}
