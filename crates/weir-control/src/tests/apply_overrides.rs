//! Rules as code: overrides are applied with the rules of a set.

use serde_json::{Value, json};
use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

use super::support::{Answer, Member, Plane};

fn rule(namespace: &str, name: &str) -> Value {
    json!({ "rule": {
        "namespace": namespace, "name": name, "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }],
    } })
}

fn denies(namespace: &str, rule: &str, user: &str) -> Value {
    json!({ "namespace": namespace, "rule": rule, "subject": { "user": user }, "action": "deny" })
}

async fn apply(plane: &Plane, by: &Member, body: &Value) -> Answer {
    plane.by(by, "POST", "apply").json(body).send().await
}

/// The value of each subject, with the owner of its override and whether the override was edited.
async fn overrides(plane: &Plane, by: &Member) -> Vec<(Value, Value, Value)> {
    let list = plane.by(by, "GET", "overrides").send().await.expect(200);
    let rows = list.body["data"].as_array().expect("a list").iter();
    rows.map(|row| {
        (row["subject"]["user"].clone(), row["managed_by"].clone(), row["edited"].clone())
    })
    .collect()
}

#[tokio::test]
async fn overrides_of_new_rules_are_applied_with_them_or_not_at_all() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = |overrides: Value| json!({ "set": "repo", "rules": [rule("api", "a")], "overrides": overrides });
    let mut wrong = denies("api", "a", "u-1");
    wrong["subject"] = json!({ "person": "u-1" });
    for (overrides, field) in [
        (json!([wrong]), "overrides[0].subject.person"),
        (json!([denies("api", "a", "u-1"), denies("api", "b", "u-1")]), "overrides[1].rule"),
        (json!([denies("api", "a", "u-1"), denies("api", "a", "u-1")]), "overrides[1].subject"),
    ] {
        assert_eq!(apply(&plane, &ada, &body(overrides)).await.refused_field(), field);
    }
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200).body;
    assert_eq!((&rules["data"], overrides(&plane, &ada).await), (&json!([]), Vec::new()));

    let both = body(json!([denies("api", "a", "u-1"), denies("api", "a", "*")]));
    let applied = apply(&plane, &ada, &both).await.expect(200).body;
    let created = json!({ "kind": "override", "namespace": "api", "name": "a user=u-1" });
    assert_eq!(applied["created"][1], created);
    let again = apply(&plane, &ada, &both).await.expect(200).body;
    assert_eq!((&again["unchanged"], &again["updated"]), (&json!(3), &json!([])));
    let list = plane.by(&ada, "GET", "overrides").send().await.expect(200).body;
    assert_eq!(list["data"][0]["rulebook_version"], applied["rulebook_version"]);
    let log = plane.by(&ada, "GET", "audit?action=override.create").send().await.expect(200);
    assert_eq!(log.body["data"].as_array().map(Vec::len), Some(2));

    // An expired one is left as it is, also by `prune`.
    let mut expired = denies("api", "a", "u-1");
    expired["expires_at"] = json!("2020-01-01T00:00:00Z");
    let mut gone = denies("api", "a", "u-2");
    gone["expires_at"] = json!("2020-01-01T00:00:00Z");
    let mut rest = body(json!([expired, gone]));
    rest["prune"] = json!(true);
    let plan = apply(&plane, &ada, &rest).await.expect(200).body;
    assert_eq!(plan["deleted"][0]["name"], "a user=*");
    assert_eq!(plan["warnings"].as_array().map(Vec::len), Some(2), "{plan}");
    let (repo, no) = (json!("repo"), json!(false));
    assert_eq!(overrides(&plane, &ada).await, [(json!("u-1"), repo, no)]);
}

#[tokio::test]
async fn override_of_another_owner_is_changed_only_if_adopted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let both = json!({ "set": "repo", "rules": [rule("api", "a")], "overrides": [denies("api", "a", "u-1")] });
    apply(&plane, &ada, &both).await.expect(200);
    let mut other = denies("api", "a", "u-1");
    other["action"] = json!("allow");
    let mut other = json!({ "set": "other", "overrides": [other] });
    assert_eq!(apply(&plane, &ada, &other).await.refused_field(), "overrides[0].subject");
    other["adopt"] = json!(true);
    let plan = apply(&plane, &ada, &other).await.expect(200).body;
    assert_eq!(plan["updated"][0]["adopted"], true);
    assert_eq!(plan["updated"][0]["last_changed_by"], Value::Null);
    let (of_other, no) = (json!("other"), json!(false));
    assert_eq!(overrides(&plane, &ada).await, [(json!("u-1"), of_other, no)]);
    // The former owner deletes nothing of others.
    let mut rest = both.clone();
    rest["overrides"] = json!([]);
    rest["prune"] = json!(true);
    assert_eq!(apply(&plane, &ada, &rest).await.expect(200).body["deleted"], json!([]));
}

#[tokio::test]
async fn restricted_key_applies_and_prunes_overrides_of_its_namespaces_only() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rules = [rule("payments", "a"), rule("web", "b")];
    let both = [denies("payments", "a", "u-1"), denies("web", "b", "u-2")];
    let body = json!({ "set": "repo", "rules": rules, "overrides": both });
    apply(&plane, &ada, &body).await.expect(200);
    let key = json!({ "name": "k", "scopes": ["write"], "namespaces": ["payments"] });
    let key = plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201);
    let (secret, path) = (key.text("/secret"), format!("/v1/tenants/{}/apply", ada.tenant));
    let by_key = |body: Value| plane.ask("POST", &path).bearer(&secret).json(&body).send();
    by_key(json!({ "set": "repo", "overrides": both })).await.problem(403, "forbidden");
    let rest = json!({ "set": "repo", "rules": [rule("payments", "a")], "prune": true });
    let plan = by_key(rest).await.expect(200).body;
    let deleted = json!({ "kind": "override", "namespace": "payments", "name": "a user=u-1" });
    assert_eq!(plan["deleted"], json!([deleted]));
}

#[tokio::test]
async fn one_apply_changes_count_by_and_replaces_the_overrides_of_the_set() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let first = json!({ "set": "repo", "rules": [rule("api", "a")], "overrides": [denies("api", "a", "u-1")] });
    apply(&plane, &ada, &first).await.expect(200);
    let mut counting = rule("api", "a");
    counting["rule"]["count_by"] = json!(["team", "user"]);
    let mut wanted = denies("api", "a", "u-1");
    wanted["subject"]["team"] = json!("red");
    let mut second = json!({ "set": "repo", "rules": [counting], "overrides": [wanted] });
    let count_by = "rules[0].rule.count_by";
    assert_eq!(apply(&plane, &ada, &second).await.refused_field(), count_by);
    second["prune"] = json!(true);

    // An override of another owner would silently stop to apply.
    let list = plane.by(&ada, "GET", "rules").send().await.expect(200).body;
    let by_hand =
        json!({ "rule_id": list["data"][0]["id"], "subject": { "user": "u-2" }, "action": "deny" });
    let by_hand = plane.by(&ada, "POST", "overrides").json(&by_hand).send().await.expect(201);
    assert_eq!(apply(&plane, &ada, &second).await.refused_field(), count_by);
    let path = format!("overrides/{}", by_hand.text("/id"));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);

    let applied = apply(&plane, &ada, &second).await.expect(200).body;
    let named = |name: &str| json!([{ "kind": "override", "namespace": "api", "name": name }]);
    assert_eq!(applied["deleted"], named("a user=u-1"));
    assert_eq!(applied["created"], named("a team=red user=u-1"));
    assert_eq!(applied["updated"][0]["changes"][0]["field"], "count_by");
    let again = apply(&plane, &ada, &second).await.expect(200).body;
    assert_eq!(again["unchanged"], 2);
    let (repo, no) = (json!("repo"), json!(false));
    assert_eq!(overrides(&plane, &ada).await, [(json!("u-1"), repo, no)]);
}

#[tokio::test]
async fn bulk_write_counts_the_overrides_of_sets_and_changes_only_those_of_named_ones() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for (set, name, users) in [("repo", "a", &["u-1", "u-2"][..]), ("shop", "b", &["u-1"])] {
        let wanted: Vec<_> = users.iter().map(|user| denies("api", name, user)).collect();
        let body = json!({ "set": set, "rules": [rule("api", name)], "overrides": wanted });
        apply(&plane, &ada, &body).await.expect(200);
    }
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200).body;
    let written = |nth: usize, user: &str, action: &str| json!({ "rule_id": rules["data"][nth]["id"], "subject": { "user": user }, "action": action });
    let allow = [
        written(0, "u-1", "allow"),
        written(0, "u-2", "deny"),
        written(0, "u-3", "allow"),
        written(1, "u-1", "allow"),
    ];
    let bulk = |more: Value| {
        let mut body = json!({ "overrides": allow });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        plane.by(&ada, "POST", "overrides/bulk").json(&body).send()
    };
    let stored = async || {
        let mut rows = overrides(&plane, &ada).await;
        rows.sort_by_key(|(user, set, _)| format!("{set} {user}"));
        rows.iter().map(|(user, set, edited)| format!("{set} {user} {edited}")).collect::<Vec<_>>()
    };
    let untouched = ["\"repo\" \"u-1\" false", "\"repo\" \"u-2\" false", "\"shop\" \"u-1\" false"];

    // An override that is written as it is does not count.
    let sets = json!([{ "set": "repo", "overrides": 1 }, { "set": "shop", "overrides": 1 }]);
    let plan = bulk(json!({ "dry_run": true })).await.expect(200).body;
    assert_eq!((&plan["created"], &plan["updated"]), (&json!(1), &json!(3)));
    assert_eq!(plan["replaced_sets"], sets);
    assert_eq!(stored().await, untouched, "a dry run changes nothing");
    for named in [json!([]), json!(["repo"]), json!(["shop", "other"])] {
        bulk(json!({ "replace_sets": named })).await.problem(409, "conflict");
    }
    assert_eq!(stored().await, untouched);
    let done = bulk(json!({ "replace_sets": ["repo", "shop"] })).await.expect(200).body;
    assert_eq!(done["replaced_sets"], sets);
    assert!(done["rulebook_version"].as_u64() > plan["rulebook_version"].as_u64());
    let changed = [
        "\"repo\" \"u-1\" true",
        "\"repo\" \"u-2\" false",
        "\"shop\" \"u-1\" true",
        "null \"u-3\" false",
    ];
    assert_eq!(stored().await, changed);
    // They are as written, so none changes again.
    assert_eq!(
        bulk(json!({ "replace_sets": [] })).await.expect(200).body["replaced_sets"],
        json!([])
    );
    let log = plane.by(&ada, "GET", "audit?action=override.bulk").send().await.expect(200).body;
    let mut entries = log["data"].as_array().expect("a list").iter();
    assert!(entries.any(|entry| entry["after"]["replaced_sets"] == sets), "{log}");
    assert_eq!(bulk(json!({ "replace_sets": ["Repo"] })).await.refused_field(), "replace_sets[0]");
}

#[tokio::test]
async fn plan_and_audit_log_list_the_overrides_that_a_deleted_rule_takes_with_it() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let owned: Vec<_> = ["a", "b"].map(|name| denies("api", name, "owned")).to_vec();
    let rules = ["a", "b", "c"].map(|name| rule("api", name));
    let body = json!({ "set": "repo", "rules": rules, "overrides": owned });
    apply(&plane, &ada, &body).await.expect(200);
    let list = plane.by(&ada, "GET", "rules").send().await.expect(200).body;
    let id = |nth: usize| list["data"][nth]["id"].as_str().expect("an id").to_owned();
    let by_hand = |rule: &str, nth: usize| json!({ "rule_id": rule, "subject": { "user": format!("u-{nth:03}") }, "action": "allow" });
    let mut many: Vec<_> = (0..120).map(|nth| by_hand(&id(0), nth)).collect();
    many.push(by_hand(&id(1), 0));
    let many = json!({ "overrides": many });
    plane.by(&ada, "POST", "overrides/bulk").json(&many).send().await.expect(200);

    // 2 rules and 123 overrides.
    let mut rest =
        json!({ "set": "repo", "rules": [rule("api", "c")], "prune": true, "dry_run": true });
    let plan = apply(&plane, &ada, &rest).await.expect(200).body;
    let deleted = plan["deleted"].as_array().expect("a list").clone();
    let named = |kind: &str, name: &str| json!({ "kind": kind, "namespace": "api", "name": name });
    assert!(deleted[..100].iter().all(|object| object["kind"] == "override"), "{deleted:?}");
    assert_eq!(deleted[100..], [named("rule", "a"), named("rule", "b")]);
    assert_eq!(plan["deleted_more"], 23);
    assert_eq!(overrides(&plane, &ada).await.len(), 50, "a dry run changes nothing");

    rest["dry_run"] = json!(false);
    rest["allow_deletes"] = json!(124);
    let refused = apply(&plane, &ada, &rest).await;
    refused.problem(409, "conflict");
    rest["allow_deletes"] = json!(125);
    let applied = apply(&plane, &ada, &rest).await.expect(200).body;
    assert_eq!((&applied["deleted"], &applied["deleted_more"]), (&plan["deleted"], &json!(23)));
    assert_eq!(overrides(&plane, &ada).await, []);
    let log = plane.by(&ada, "GET", "audit?action=rule.delete").send().await.expect(200).body;
    let taken = |nth: usize| {
        let deleted = &log["data"][nth]["before"]["deleted_overrides"];
        let first = deleted["first"].as_array().expect("a list");
        assert!(first.iter().all(|one| one["override"]["subject"]["user"].is_string()));
        (deleted["count"].as_u64(), first.len())
    };
    let mut taken = [taken(0), taken(1)];
    taken.sort_unstable();
    assert_eq!(taken, [(Some(2), 2), (Some(121), 100)]);

    // A rule without overrides has none in its entry.
    plane.by(&ada, "DELETE", &format!("rules/{}", id(2))).send().await.expect(204);
    let log = plane.by(&ada, "GET", "audit?action=rule.delete").send().await.expect(200).body;
    let mut entries = log["data"].as_array().expect("a list").iter();
    assert!(entries.any(|entry| entry["before"].get("deleted_overrides").is_none()), "{log}");
}

#[tokio::test]
async fn ended_override_of_no_set_makes_room_for_that_of_the_files() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let mut body = json!({ "set": "repo", "rules": [rule("api", "a")], "overrides": [] });
    apply(&plane, &ada, &body).await.expect(200);
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200);
    let expires_at = DateTime(Timestamp::from_millis(plane.now_ms() + 60_000));
    let exception = json!({ "rule_id": rules.text("/data/0/id"), "subject": { "user": "u-1" },
        "action": "allow", "expires_at": expires_at });
    plane.by(&ada, "POST", "overrides").json(&exception).send().await.expect(201);
    body["overrides"] = json!([denies("api", "a", "u-1")]);
    assert_eq!(apply(&plane, &ada, &body).await.refused_field(), "overrides[0].subject");
    plane.advance(2 * 60_000);
    apply(&plane, &ada, &body).await.expect(200);
    assert_eq!(overrides(&plane, &ada).await, [(json!("u-1"), json!("repo"), json!(false))]);
}

#[tokio::test]
async fn restored_override_is_in_its_set_and_edited_as_before() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let both = json!({ "set": "repo", "rules": [rule("api", "a")], "overrides": [denies("api", "a", "u-1")] });
    apply(&plane, &ada, &both).await.expect(200);
    let of_files =
        plane.by(&ada, "GET", "overrides").send().await.expect(200).body["data"][0].clone();
    let body = |row: &Value, action: &str| json!({ "rule_id": row["rule_id"], "subject": row["subject"], "action": action });
    let restore = |body: &Value, row: &Value| {
        let owner = json!({ "override": body, "managed_by": row["managed_by"], "applied_digest": row["applied_digest"] });
        plane.by(&ada, "POST", "overrides/restore").json(&owner).send()
    };
    let path = |row: &Value| format!("overrides/{}", row["id"].as_str().expect("an id"));
    restore(&body(&of_files, "deny"), &of_files).await.problem(409, "conflict");

    // Deleted as it was in the files, it comes back so.
    plane.by(&ada, "DELETE", &path(&of_files)).send().await.expect(204);
    let restored = restore(&body(&of_files, "deny"), &of_files).await.expect(201).body;
    assert_eq!((&restored["managed_by"], &restored["edited"]), (&json!("repo"), &json!(false)));
    // Edited, it comes back edited, until it is as the files have it.
    let put = async |row: &Value, action: &str| {
        let tag = format!("\"{}\"", row["revision"]);
        let put = plane.by(&ada, "PUT", &path(row)).header("if-match", &tag);
        put.json(&body(row, action)).send().await.expect(200).body
    };
    let edited = put(&restored, "allow").await;
    assert_eq!(edited["edited"], true);
    plane.by(&ada, "DELETE", &path(&edited)).send().await.expect(204);
    let restored = restore(&body(&edited, "allow"), &edited).await.expect(201).body;
    assert_eq!((&restored["managed_by"], &restored["edited"]), (&json!("repo"), &json!(true)));
    assert_eq!(put(&restored, "deny").await["edited"], false);

    // An override of no set has no digest.
    let of_people = json!({ "managed_by": null, "applied_digest": null });
    let mut other = body(&of_files, "deny");
    other["subject"]["user"] = json!("u-2");
    let restored = restore(&other, &of_people).await.expect(201).body;
    assert_eq!((&restored["managed_by"], &restored["edited"]), (&Value::Null, &json!(false)));
    for (owner, field) in [
        (json!({ "managed_by": "Repo" }), "managed_by"),
        (json!({ "managed_by": "repo", "applied_digest": "x" }), "applied_digest"),
        (json!({ "applied_digest": of_files["applied_digest"] }), "applied_digest"),
    ] {
        assert_eq!(restore(&other, &owner).await.refused_field(), field);
    }
    other["expires_at"] = json!("2020-01-01T00:00:00Z");
    assert_eq!(restore(&other, &of_people).await.refused_field(), "override.expires_at");
}
