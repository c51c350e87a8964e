//! Rules as code: alerts are applied with the rules of a set.

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::support::{Answer, Member, Plane};

fn rule(name: &str, algorithm: &Value) -> Value {
    let rule =
        json!({ "namespace": "api", "name": name, "count_by": ["user"], "limits": [algorithm] });
    json!({ "rule": rule })
}

fn quota() -> Value {
    json!({ "algorithm": "quota", "limit": 10, "period": "month" })
}

fn window() -> Value {
    json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 })
}

fn denials(name: &str, share: u32) -> Value {
    json!({ "name": name, "webhook": "on call", "kind": "denial_share", "share_percent": share })
}

/// The value with more fields.
fn with(mut value: Value, more: &Value) -> Value {
    let fields = more.as_object().expect("an object").clone();
    value.as_object_mut().expect("an object").extend(fields);
    value
}

async fn apply(plane: &Plane, by: &Member, body: &Value) -> Answer {
    plane.by(by, "POST", "apply").json(body).send().await
}

/// Name, share, owner and whether it was edited, of all alerts, in this order.
async fn alerts(plane: &Plane, by: &Member) -> Vec<Value> {
    let list = plane.by(by, "GET", "alerts?limit=200").send().await.expect(200);
    let rows = list.body["data"].as_array().expect("a list").iter();
    let row =
        |row: &Value| json!([row["name"], row["share_percent"], row["managed_by"], row["edited"]]);
    let mut rows: Vec<_> = rows.map(row).collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

/// The stored alert of this name.
async fn find(plane: &Plane, by: &Member, name: &str) -> Value {
    let list = plane.by(by, "GET", "alerts?limit=200").send().await.expect(200);
    let mut rows = list.body["data"].as_array().expect("a list").iter();
    rows.find(|row| row["name"] == name).expect("an alert of this name").clone()
}

async fn webhook(plane: &Plane, by: &Member, name: &str, url: &str) {
    let body = json!({ "name": name, "url": url });
    plane.by(by, "POST", "webhooks").json(&body).send().await.expect(201);
}

/// A tenant with the webhook `on call`.
async fn start() -> (Plane, Member, Receiver) {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    webhook(&plane, &ada, "on call", &receiver.url()).await;
    (plane, ada, receiver)
}

#[tokio::test]
async fn alerts_of_new_rules_are_applied_changed_and_pruned_with_their_set() {
    let (plane, ada, _receiver) = start().await;
    let nearly = json!({ "name": "nearly used up", "webhook": "on call", "kind": "quota", "namespace": "api", "rule": "monthly" });
    let first = json!({ "set": "repo", "rules": [rule("monthly", &quota())], "alerts": [nearly, denials("all", 20)] });
    let applied = apply(&plane, &ada, &first).await.expect(200).body;
    assert_eq!(
        applied["created"].as_array().expect("a list")[1..],
        [
            json!({ "kind": "alert", "namespace": "api", "name": "nearly used up" }),
            json!({ "kind": "alert", "namespace": "", "name": "all" })
        ]
    );
    let stored = find(&plane, &ada, "nearly used up").await;
    assert_eq!(stored["thresholds_percent"], json!([80, 90, 100]));
    assert_eq!(stored["created_by"], "ada@example.com");

    // Defaults that are written out change nothing, and alerts alone raise no version.
    let same =
        with(denials("all", 20), &json!({ "enabled": true, "window_s": 300, "checks_min": 100 }));
    let same = json!({ "set": "repo", "alerts": [nearly, same] });
    let again = apply(&plane, &ada, &same).await.expect(200).body;
    assert_eq!((&again["unchanged"], &again["updated"]), (&json!(2), &json!([])));
    assert_eq!(again["rulebook_version"], applied["rulebook_version"]);

    // An edit by a person is drift until the next apply.
    let all = find(&plane, &ada, "all").await;
    let (id, webhook_id) = (all["id"].as_str().expect("an id"), all["webhook_ids"].clone());
    let edited = json!({ "name": "all", "webhook_ids": webhook_id, "kind": "denial_share", "share_percent": 50 });
    let put = plane.by(&ada, "PUT", &format!("alerts/{id}")).json(&edited).send().await;
    assert_eq!(put.expect(200).body["edited"], true);
    let plan = apply(&plane, &ada, &with(same.clone(), &json!({ "dry_run": true })))
        .await
        .expect(200)
        .body;
    let change = json!({ "field": "share_percent", "before": 50, "after": 20 });
    assert_eq!(plan["updated"][0]["changes"], json!([change]));
    assert_eq!(
        (&plan["updated"][0]["id"], &plan["updated"][0]["adopted"]),
        (&json!(id), &json!(false))
    );
    assert_eq!(alerts(&plane, &ada).await[0], json!(["all", 50, "repo", true]), "a dry run");
    apply(&plane, &ada, &same).await.expect(200);
    assert_eq!(alerts(&plane, &ada).await[0], json!(["all", 20, "repo", false]));

    // An alert that is no longer in the files is deleted only with `prune`.
    let rest = json!({ "set": "repo", "rules": [rule("monthly", &quota())], "alerts": [nearly] });
    assert_eq!(apply(&plane, &ada, &rest).await.expect(200).body["deleted"], json!([]));
    let refused = with(rest.clone(), &json!({ "prune": true, "allow_deletes": 0 }));
    apply(&plane, &ada, &refused).await.problem(409, "conflict");
    let pruned = apply(&plane, &ada, &with(rest, &json!({ "prune": true }))).await.expect(200).body;
    assert_eq!(pruned["deleted"], json!([{ "kind": "alert", "namespace": "", "name": "all" }]));
    // The deletion of a rule would delete its alert too, without an entry.
    let last = json!({ "set": "repo", "rules": [rule("other", &window())], "prune": true });
    let names = ["nearly used up", "monthly"].map(|name| json!(name));
    let last = apply(&plane, &ada, &last).await.expect(200).body;
    assert_eq!([&last["deleted"][0]["name"], &last["deleted"][1]["name"]], [&names[0], &names[1]]);
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200).body;
    let entries = log["data"].as_array().expect("entries").iter();
    let of_alerts = entries.filter(|entry| entry["object_kind"] == "alert");
    let actions: Vec<_> = of_alerts.filter_map(|entry| entry["action"].as_str()).collect();
    assert_eq!(
        actions,
        ["delete", "delete", "update", "update", "create", "create"]
            .map(|action| format!("alert.{action}"))
    );
}

#[tokio::test]
async fn wrong_alert_is_named_with_its_field_and_prevents_the_whole_apply() {
    let (plane, ada, receiver) = start().await;
    for name in ["twin", "twin"] {
        webhook(&plane, &ada, name, &format!("{}/{name}", receiver.url())).await;
    }
    let of = |more: Value| json!([with(denials("a", 20), &more)]);
    let about = |rule: &str| json!({ "kind": "quota", "namespace": "api", "rule": rule, "share_percent": null });
    for (alerts, field) in [
        (of(json!({ "webhook": "nobody" })), "alerts[0].webhooks"),
        (of(json!({ "webhook": "twin" })), "alerts[0].webhooks"),
        (of(json!({ "share_percent": 101 })), "alerts[0].share_percent"),
        (of(json!({ "window_s": 61 })), "alerts[0].window_s"),
        (of(json!({ "namespace": "Api" })), "alerts[0].namespace"),
        (of(json!({ "name": " a" })), "alerts[0].name"),
        (of(json!({ "namespace": "api", "rule": "none" })), "alerts[0].rule"),
        (of(about("windowed")), "alerts[0].rule"),
        (of(json!({ "kind": "quota", "share_percent": null })), "alerts[0].rule"),
        (json!([denials("a", 20), denials("a", 30)]), "alerts[1].name"),
    ] {
        let body = json!({ "rules": [rule("windowed", &window())], "alerts": alerts });
        assert_eq!(apply(&plane, &ada, &body).await.refused_field(), field, "{body}");
    }
    let many: Vec<_> = (0..101).map(|nth| denials(&format!("a {nth}"), 20)).collect();
    assert_eq!(apply(&plane, &ada, &json!({ "alerts": many })).await.refused_field(), "alerts");
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200).body;
    assert_eq!((&rules["data"], alerts(&plane, &ada).await), (&json!([]), Vec::new()));

    // The URL names a webhook too. The hundredth alert is the last of the tenant.
    let by_url = of(json!({ "webhook": receiver.url() }));
    apply(&plane, &ada, &json!({ "alerts": by_url })).await.expect(200);
    apply(&plane, &ada, &json!({ "set": "other", "alerts": many[..99] })).await.expect(200);
    apply(&plane, &ada, &json!({ "set": "third", "alerts": many[..1] }))
        .await
        .problem(409, "conflict");
    assert_eq!(alerts(&plane, &ada).await.len(), 100);
}

#[tokio::test]
async fn alert_is_identified_by_its_set_and_name_and_others_are_changed_only_if_adopted() {
    let (plane, ada, _receiver) = start().await;
    let webhooks = plane.by(&ada, "GET", "webhooks").send().await.expect(200).body;
    let by_hand = |share: u32| {
        let webhook = webhooks["data"][0]["id"].clone();
        json!({ "name": "a", "webhook_id": webhook, "kind": "denial_share", "share_percent": share })
    };
    let of = |set: &str, share: u32| json!({ "set": set, "alerts": [denials("a", share)] });
    let adopting = |set: &str, share: u32| with(of(set, share), &json!({ "adopt": true }));
    let first = plane.by(&ada, "POST", "alerts").json(&by_hand(20)).send().await.expect(201);

    // One that people made is left alone if it is as wanted, and otherwise only adopted.
    let same = apply(&plane, &ada, &of("one", 20)).await.expect(200).body;
    assert_eq!((&same["unchanged"], &same["created"]), (&json!(1), &json!([])));
    assert_eq!(apply(&plane, &ada, &of("one", 30)).await.refused_field(), "alerts[0].name");
    assert_eq!(alerts(&plane, &ada).await, [json!(["a", 20, null, false])]);
    let adopted = apply(&plane, &ada, &adopting("one", 30)).await.expect(200).body;
    assert_eq!(
        (&adopted["updated"][0]["adopted"], &adopted["updated"][0]["id"]),
        (&json!(true), &json!(first.text("/id")))
    );
    assert_eq!(alerts(&plane, &ada).await, [json!(["a", 30, "one", false])]);

    // Another set has its own alert of the name, unless it adopts the only one there is.
    apply(&plane, &ada, &adopting("two", 30)).await.expect(200);
    assert_eq!(alerts(&plane, &ada).await, [json!(["a", 30, "two", false])]);
    apply(&plane, &ada, &of("one", 40)).await.expect(200);
    let (of_two, of_one) = (json!(["a", 30, "two", false]), json!(["a", 40, "one", false]));
    assert_eq!(alerts(&plane, &ada).await, [of_two.clone(), of_one.clone()]);
    let prune = with(of("one", 40), &json!({ "prune": true }));
    assert_eq!(apply(&plane, &ada, &prune).await.expect(200).body["deleted"], json!([]));
    apply(&plane, &ada, &adopting("three", 50)).await.expect(200);
    assert_eq!(alerts(&plane, &ada).await, [of_two, of_one, json!(["a", 50, "three", false])]);

    // Two of no set are ambiguous. A set does not get two of one name.
    for _ in 0..2 {
        plane.by(&ada, "POST", "alerts").json(&by_hand(20)).send().await.expect(201);
    }
    assert_eq!(apply(&plane, &ada, &adopting("four", 20)).await.refused_field(), "alerts[0].name");
    apply(&plane, &ada, &json!({ "set": "one", "alerts": [denials("b", 20)] })).await.expect(200);
    let b = find(&plane, &ada, "b").await;
    let path = format!("alerts/{}", b["id"].as_str().expect("an id"));
    plane.by(&ada, "PUT", &path).json(&by_hand(20)).send().await.problem(409, "name_taken");
}

#[tokio::test]
async fn restricted_key_applies_and_prunes_no_alerts() {
    let (plane, ada, _receiver) = start().await;
    let mut about = denials("a", 20);
    about["namespace"] = json!("api");
    let body = json!({ "set": "repo", "rules": [rule("r", &window())], "alerts": [about] });
    apply(&plane, &ada, &body).await.expect(200);
    let key = json!({ "name": "k", "scopes": ["write"], "namespaces": ["api"] });
    let key = plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201);
    let (secret, path) = (key.text("/secret"), format!("/v1/tenants/{}/apply", ada.tenant));
    let by_key = |body: &Value| plane.ask("POST", &path).bearer(&secret).json(body).send();
    by_key(&body).await.problem(403, "forbidden");
    let rest = json!({ "set": "repo", "rules": [rule("r", &window())], "prune": true });
    assert_eq!(by_key(&rest).await.expect(200).body["deleted"], json!([]));
    assert_eq!(alerts(&plane, &ada).await.len(), 1);
}
