//! The search across a tenant: every kind is found by a part of a name, and never in another tenant.

use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{AuditId, GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{Flush, Scope, SketchEntry, SketchRow};

use super::support::{Answer, Member, Plane};

/// The kinds, with the name or the value of each hit.
fn shown(found: &Answer) -> Vec<(String, String)> {
    let data = found.body["data"].as_array().expect("a list");
    let text = |hit: &Value| match hit["subject"].as_object() {
        Some(subject) => {
            let one = |(name, value): (&String, &Value)| {
                format!("{name}={}", value.as_str().unwrap_or(""))
            };
            subject.iter().map(one).collect::<Vec<_>>().join(",")
        }
        None => hit["name"].as_str().unwrap_or_default().to_owned(),
    };
    data.iter()
        .map(|hit| (hit["kind"].as_str().unwrap_or_default().to_owned(), text(hit)))
        .collect()
}

async fn search(plane: &Plane, member: &Member, text: &str) -> Answer {
    plane.by(member, "GET", &format!("search?q={text}")).send().await
}

/// A rule for each customer, an override, an alert and a webhook. Returns the id of the rule.
async fn furnish(plane: &Plane, member: &Member) -> String {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let rule = async |name: &str, count_by: Value| {
        let rule =
            json!({ "namespace": "api", "name": name, "count_by": count_by, "limits": limits });
        plane.by(member, "POST", "rules").json(&rule).send().await.expect(201).text("/id")
    };
    let id = rule("api-per-customer", json!(["customer"])).await;
    rule("also-per-customer", json!(["customer"])).await;
    rule("per-user", json!(["user"])).await;
    rule("per-user-and-ip", json!(["user", "ip"])).await;
    let exception =
        json!({ "rule_id": id, "subject": { "customer": "Umbrella" }, "action": "allow" });
    plane.by(member, "POST", "overrides").json(&exception).send().await.expect(201);
    let webhook = json!({ "name": "PagerDuty", "url": "https://events.example.com/umbrella" });
    let webhook = plane.by(member, "POST", "webhooks").json(&webhook).send().await.expect(201);
    let alert = json!({
        "name": "Token volume", "webhook_id": webhook.text("/webhook/id"), "kind": "denial_share", "share_percent": 5,
    });
    plane.by(member, "POST", "alerts").json(&alert).send().await.expect(201);
    id
}

/// Counts a subject as a gate does, 20 hours ago.
async fn count(plane: &Plane, member: &Member, rule: &str, value: &str) {
    let tenant_id: TenantId = member.tenant.parse().expect("an id");
    let rule_id: RuleId = rule.parse().expect("an id");
    let at = Timestamp::from_millis(plane.now_ms()).plus_ms(-20 * 3_600_000);
    let gate_id = GateId::from_u128(tenant_id.to_u128());
    let flush = Flush { gate_id, boot_id: 9, region: None, oldest_minute: at, age: Duration::ZERO };
    let subject = json!({ "customer": value });
    let entry = SketchEntry { rule_id, subject, checks: 3_000, denied: 2_091, shadow_denied: 0 };
    let sketch = SketchRow { tenant_id, at, checks: 3_000, floor: 0, entries: vec![entry] };
    let mut tx = plane.database.gate.begin("tests.count", Scope::Gate(gate_id)).await.expect("tx");
    tx.top_subjects().write(&flush, &[sketch]).await.expect("write");
    tx.commit().await.expect("commit");
}

#[tokio::test]
async fn bare_word_finds_subjects_and_every_kind_of_object() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let id = furnish(&plane, &ada).await;
    count(&plane, &ada, &id, "umbrella").await;
    let texts = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned())).collect()
    };

    let found = search(&plane, &ada, "umbrella").await.expect(200);
    let expected = [
        ("subject", "customer=umbrella"),
        ("subject", "user=umbrella"),
        ("override", "customer=Umbrella"),
        ("webhook", "PagerDuty"),
    ];
    assert_eq!(shown(&found), texts(&expected), "by value, in any case; the subject once");
    assert_eq!(found.text("/data/0/detail"), "at least 2,091 denials in the last day");
    assert_eq!(found.text("/data/1/detail"), "", "it is not known");
    assert_eq!(found.text("/data/2/detail"), "api-per-customer");
    let part = shown(&search(&plane, &ada, "mbrel").await.expect(200));
    assert_eq!(part[0], ("subject".to_owned(), "customer=umbrella".to_owned()));
    for (text, kind, name) in [
        ("per-customer", "rule", "api-per-customer"),
        ("token%20vol", "alert", "Token volume"),
        ("pagerduty", "webhook", "PagerDuty"),
        ("ADA@example", "member", "ada"),
        (&id, "rule", "api-per-customer"),
    ] {
        let found = shown(&search(&plane, &ada, text).await.expect(200));
        let hit = (kind.to_owned(), name.to_owned());
        assert!(found.contains(&hit), "{text}: {found:?}");
    }
    assert_eq!(search(&plane, &ada, "").await.refused_field(), "q");
    assert_eq!(search(&plane, &ada, &"x".repeat(257)).await.refused_field(), "q");
}

#[tokio::test]
async fn entries_of_the_audit_log_and_keys_are_found_by_admins_only() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    furnish(&plane, &ada).await;
    let reader = plane.key(&ada, &["read"]).await;
    let entries = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let (entry, request) = (entries.text("/data/0/id"), entries.text("/data/0/request_id"));
    let found = search(&plane, &ada, &entry).await.expect(200);
    let hit = |found: &Answer| found.body["data"].as_array().and_then(|all| all.last().cloned());
    let last = hit(&found).expect("a hit");
    assert_eq!((&last["kind"], &last["name"]), (&json!("audit"), &json!(request)));
    let keys = plane.by(&ada, "GET", "keys").send().await.expect(200);
    let name = keys.text("/data/0/name").replace(' ', "%20");
    let kinds = |found: &Answer| shown(found).into_iter().map(|hit| hit.0).collect::<Vec<_>>();
    assert!(kinds(&search(&plane, &ada, &name).await.expect(200)).contains(&"key".to_owned()));
    let path = format!("/v1/tenants/{}/search?q=", ada.tenant);
    for text in [&entry, &name] {
        let found = plane.ask("GET", &format!("{path}{text}")).bearer(&reader).send().await;
        let found = kinds(&found.expect(200));
        assert!(!found.iter().any(|kind| ["audit", "key"].contains(&kind.as_str())), "{found:?}");
    }
    let found = plane.ask("GET", &format!("{path}umbrella")).bearer(&reader).send().await;
    assert!(!kinds(&found.expect(200)).contains(&"webhook".to_owned()), "a URL can be a secret");
    let missing = search(&plane, &ada, &AuditId::from_u128(1).to_string()).await.expect(200);
    assert!(!kinds(&missing).contains(&"audit".to_owned()));
}

#[tokio::test]
async fn search_finds_nothing_of_another_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let id = furnish(&plane, &ada).await;
    count(&plane, &ada, &id, "umbrella").await;
    let eve = plane.member("eve@example.com").await;
    let audit = plane.by(&ada, "GET", "audit").send().await.expect(200).text("/data/0/id");
    for text in ["umbrella", "per-customer", "token", "pagerduty", "ada@example", &id, &audit] {
        let found = search(&plane, &eve, text).await.expect(200);
        assert_eq!(found.body["data"], json!([]), "{text}");
    }
}
