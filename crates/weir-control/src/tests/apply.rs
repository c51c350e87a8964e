//! Rules as code: a set of rules is applied as a whole.

use serde_json::{Value, json};

use super::support::{Answer, Member, Plane};

fn rule(name: &str, limit: u32) -> Value {
    json!({ "rule": {
        "namespace": "api", "name": name, "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": 1000 }],
    } })
}

fn body(rules: &[Value]) -> Value {
    json!({ "set": "payments", "rules": rules })
}

/// The body with more fields.
fn with(mut body: Value, more: &Value) -> Value {
    let fields = more.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body
}

async fn apply(plane: &Plane, by: &Member, body: &Value) -> Answer {
    plane.by(by, "POST", "apply").json(body).send().await
}

/// Name, revision, owner and limit of all rules.
async fn rules(plane: &Plane, by: &Member) -> Vec<(String, u64, Value, u64)> {
    let list = plane.by(by, "GET", "rules").send().await.expect(200);
    let rules = list.body["data"].as_array().expect("a list").iter();
    rules
        .map(|rule| {
            let name = rule["name"].as_str().expect("a name").to_owned();
            let revision = rule["revision"].as_u64().expect("a number");
            let limit = rule["limits"][0]["limit"].as_u64().expect("a number");
            (name, revision, rule["managed_by"].clone(), limit)
        })
        .collect()
}

async fn version(plane: &Plane, by: &Member) -> u64 {
    let list = plane.by(by, "GET", "rules").send().await.expect(200);
    let rules = list.body["data"].as_array().expect("a list").iter();
    rules.filter_map(|rule| rule["rulebook_version"].as_u64()).max().unwrap_or(0)
}

#[tokio::test]
async fn set_is_created_changed_and_pruned_with_one_version_each() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let first = body(&[rule("a", 1), rule("b", 2), rule("c", 3)]);
    let planned = apply(&plane, &ada, &with(first.clone(), &json!({ "dry_run": true }))).await;
    let planned = planned.expect(200).body;
    assert_eq!(
        (&planned["applied"], planned["created"].as_array().map(Vec::len)),
        (&json!(false), Some(3))
    );
    assert!(rules(&plane, &ada).await.is_empty());

    let applied = apply(&plane, &ada, &first).await.expect(200).body;
    assert_eq!(applied["created"], planned["created"]);
    let served = applied["rulebook_version"].as_u64().expect("a version");
    assert!(served > applied["version"].as_u64().expect("a version"));
    let owner = json!("payments");
    let stored = |revisions: [(&str, u64, u64); 3]| {
        revisions.map(|(name, revision, limit)| (name.to_owned(), revision, owner.clone(), limit))
    };
    assert_eq!(rules(&plane, &ada).await, stored([("a", 1, 1), ("b", 1, 2), ("c", 1, 3)]));
    let list = plane.by(&ada, "GET", "rules").send().await.expect(200);
    let rows = list.body["data"].as_array().expect("a list");
    assert!(rows.iter().all(|row| row["rulebook_version"] == served), "{rows:?}");

    // The same set again changes nothing, and raises no version.
    let again = apply(&plane, &ada, &first).await.expect(200).body;
    assert_eq!((&again["unchanged"], &again["rulebook_version"]), (&json!(3), &json!(served)));
    assert_eq!(version(&plane, &ada).await, served);

    // Without `prune`, rules that are no longer in the set stay.
    let second = body(&[rule("a", 1), rule("b", 20), rule("d", 4)]);
    let changed = apply(&plane, &ada, &second).await.expect(200).body;
    assert_eq!(changed["deleted"], json!([]));
    assert_eq!(changed["updated"][0]["name"], "b");
    assert_eq!(changed["updated"][0]["changes"][0]["field"], "limits");
    assert_eq!(changed["updated"][0]["changes"][0]["before"][0]["limit"], 2);
    assert_eq!(changed["updated"][0]["last_changed_by"]["name"], "ada@example.com");
    let pruned = apply(&plane, &ada, &with(second, &json!({ "prune": true }))).await;
    assert_eq!(
        pruned.expect(200).body["deleted"],
        json!([{ "kind": "rule", "namespace": "api", "name": "c" }])
    );
    let names: Vec<_> = rules(&plane, &ada).await.into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["a", "b", "d"]);

    // Each change has an entry, and can be undone as any other.
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let entries = log.body["data"].as_array().expect("entries").iter();
    let of_rules = entries.filter(|entry| entry["object_kind"] == "rule");
    let actions: Vec<_> = of_rules.filter_map(|entry| entry["action"].as_str()).collect();
    let created = "rule.create";
    assert_eq!(actions, ["rule.delete", "rule.update", created, created, created, created]);
}

#[tokio::test]
async fn one_wrong_rule_prevents_the_whole_apply_and_is_named() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    apply(&plane, &ada, &body(&[rule("a", 1)])).await.expect(200);
    let mut wrong = rule("c", 3);
    wrong["rule"]["limits"][0]["window_ms"] = json!(0);
    let refused = apply(&plane, &ada, &body(&[rule("a", 9), rule("b", 2), wrong])).await;
    assert_eq!(refused.refused_field(), "rules[2].rule.limits[0].window_ms");
    let twice = apply(&plane, &ada, &body(&[rule("a", 9), rule("a", 2)])).await;
    assert_eq!(twice.refused_field(), "rules[1].rule.name");
    let empty = apply(&plane, &ada, &with(body(&[]), &json!({ "prune": true }))).await;
    assert_eq!(empty.refused_field(), "rules");
    let unknown = with(body(&[rule("a", 1)]), &json!({ "force": true }));
    apply(&plane, &ada, &unknown).await.problem(422, "invalid");

    // The ninth rule exceeds a bound that only the database knows, after eight were written.
    let many: Vec<_> = (0..9)
        .map(|nth| {
            let mut rule = rule(&format!("all-{nth}"), 1);
            let limit = rule["rule"]["limits"][0].clone();
            rule["rule"]["limits"] = vec![limit; 8].into();
            rule["rule"]["namespace"] = json!("crowded");
            rule
        })
        .collect();
    let refused = apply(&plane, &ada, &body(&many)).await;
    assert_eq!(refused.refused_field(), "rules[8].rule.limits");
    assert_eq!(rules(&plane, &ada).await, [("a".to_owned(), 1, json!("payments"), 1)]);
}

#[tokio::test]
async fn rules_of_others_are_changed_only_when_adopted_and_never_pruned() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let of_people = &rule("people", 1)["rule"];
    plane.by(&ada, "POST", "rules").json(of_people).send().await.expect(201);
    let other = json!({ "set": "search", "rules": [rule("search", 1)] });
    apply(&plane, &ada, &other).await.expect(200);

    // A rule of people that is as wanted is left alone.
    let same = apply(&plane, &ada, &body(&[rule("people", 1)])).await.expect(200);
    assert_eq!(same.body["unchanged"], 1);
    for name in ["people", "search"] {
        let refused = apply(&plane, &ada, &body(&[rule("new", 1), rule(name, 5)])).await;
        assert_eq!(refused.refused_field(), "rules[1].rule.name");
    }
    let prune = with(body(&[rule("new", 1)]), &json!({ "prune": true }));
    assert_eq!(apply(&plane, &ada, &prune).await.expect(200).body["deleted"], json!([]));

    let adopt = with(body(&[rule("people", 5), rule("new", 1)]), &json!({ "adopt": true }));
    let adopted = apply(&plane, &ada, &adopt).await.expect(200);
    assert_eq!(
        (&adopted.body["updated"][0]["adopted"], &adopted.body["unchanged"]),
        (&json!(true), &json!(1))
    );
    let owners: Vec<_> =
        rules(&plane, &ada).await.into_iter().map(|rule| (rule.0, rule.2)).collect();
    assert_eq!(
        owners,
        [
            ("new".to_owned(), json!("payments")),
            ("people".to_owned(), json!("payments")),
            ("search".to_owned(), json!("search")),
        ]
    );
    // An edit by a person keeps the owner, and shows in the next plan with its author.
    let list = plane.by(&ada, "GET", "rules?search=people").send().await.expect(200);
    let id = list.body["data"][0]["id"].as_str().expect("an id").to_owned();
    let edit = plane.by(&ada, "PUT", &format!("rules/{id}")).header("if-match", "\"2\"");
    edit.json(&rule("people", 7)["rule"]).send().await.expect(200);
    let plan = with(body(&[rule("people", 5)]), &json!({ "dry_run": true }));
    let plan = apply(&plane, &ada, &plan).await.expect(200).body;
    assert_eq!(plan["updated"][0]["changes"][0]["before"][0]["limit"], 7);
    assert_eq!(plan["updated"][0]["adopted"], false);
}

#[tokio::test]
async fn plan_of_an_older_version_and_too_many_deletions_are_refused() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let all: Vec<_> = names.map(|name| rule(name, 1)).to_vec();
    apply(&plane, &ada, &body(&all)).await.expect(200);
    let less = with(body(&all[..1]), &json!({ "prune": true }));
    let plan = apply(&plane, &ada, &with(less.clone(), &json!({ "dry_run": true }))).await;
    let plan = plan.expect(200).body;
    assert_eq!(plan["deleted"].as_array().map(Vec::len), Some(6));
    apply(&plane, &ada, &less).await.problem(409, "conflict");
    assert_eq!(rules(&plane, &ada).await.len(), 7);

    let allowed = json!({ "allow_deletes": 6, "if_version": plan["version"] });
    let allowed = with(less, &allowed);
    let between = rule("between", 1);
    plane.by(&ada, "POST", "rules").json(&between["rule"]).send().await.expect(201);
    apply(&plane, &ada, &allowed).await.problem(409, "conflict");
    assert_eq!(rules(&plane, &ada).await.len(), 8);
    let now = version(&plane, &ada).await;
    let applied = apply(&plane, &ada, &with(allowed, &json!({ "if_version": now }))).await;
    assert_eq!(applied.expect(200).body["deleted"].as_array().map(Vec::len), Some(6));
    assert_eq!(rules(&plane, &ada).await.len(), 2);
}

#[tokio::test]
async fn one_of_two_applies_of_the_same_plan_is_refused() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let first = apply(&plane, &ada, &body(&[rule("a", 1)])).await.expect(200);
    let plan = json!({ "if_version": first.body["rulebook_version"] });
    let (one, other) = (with(body(&[rule("a", 2)]), &plan), with(body(&[rule("a", 3)]), &plan));
    let (one, other) = tokio::join!(apply(&plane, &ada, &one), apply(&plane, &ada, &other));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
}

#[tokio::test]
async fn renamed_rule_keeps_its_id_and_a_repeat_is_unchanged() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    apply(&plane, &ada, &body(&[rule("old", 1)])).await.expect(200);
    let list = plane.by(&ada, "GET", "rules").send().await.expect(200);
    let id = list.body["data"][0]["id"].clone();
    let mut renamed = rule("new", 1);
    renamed["renamed_from"] = json!("old");
    let renamed = with(body(&[renamed]), &json!({ "prune": true }));
    let applied = apply(&plane, &ada, &renamed).await.expect(200).body;
    assert_eq!((&applied["updated"][0]["id"], &applied["deleted"]), (&id, &json!([])));
    assert_eq!(apply(&plane, &ada, &renamed).await.expect(200).body["unchanged"], 1);
    assert_eq!(rules(&plane, &ada).await, [("new".to_owned(), 2, json!("payments"), 1)]);
}

fn wanted_profile(name: &str, header: &str) -> Value {
    json!({ "profile": {
        "name": name, "reads": "forward_auth", "namespace": "api",
        "attributes": { "user": { "from": "header", "name": header } },
    } })
}

/// The name, the owner, whether it was edited, and the revision of each profile.
async fn profiles(plane: &Plane, member: &Member) -> Vec<(String, Value, Value, Value)> {
    let list = plane.by(member, "GET", "profiles").send().await.expect(200);
    let rows = list.body["data"].as_array().expect("a list").iter();
    let shown = |row: &Value| {
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, row["managed_by"].clone(), row["edited"].clone(), row["revision"].clone())
    };
    rows.map(shown).collect()
}

#[tokio::test]
async fn profiles_and_rules_are_applied_together_or_not_at_all() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let both =
        |profiles: Value| json!({ "set": "repo", "rules": [rule("a", 1)], "profiles": profiles });
    let wrong = json!([wanted_profile("edge", "x-user"), wanted_profile("Edge", "x-user")]);
    let refused = apply(&plane, &ada, &both(wrong)).await;
    assert_eq!(refused.refused_field(), "profiles[1].profile.name");
    let twice = json!([wanted_profile("edge", "x-user"), wanted_profile("edge", "x-user")]);
    let refused = apply(&plane, &ada, &both(twice)).await;
    assert_eq!(refused.refused_field(), "profiles[1].profile.name");
    // A domain that another profile has is found by the database, after the rule was written.
    let domain = |name: &str| json!({ "name": name, "reads": "rate_limit_service", "domain": "eg", "namespace": "api" });
    plane.by(&ada, "POST", "profiles").json(&domain("by-hand")).send().await.expect(201);
    let taken = json!([{ "profile": domain("http") }]);
    let refused = apply(&plane, &ada, &both(taken)).await;
    assert!(refused.status.is_client_error(), "{}", refused.body);
    assert_eq!(rules(&plane, &ada).await, []);
    assert_eq!(profiles(&plane, &ada).await.len(), 1);

    let wanted = json!([wanted_profile("edge", "x-user"), wanted_profile("front", "x-user")]);
    let dry = with(both(wanted.clone()), &json!({ "dry_run": true }));
    let plan = apply(&plane, &ada, &dry).await.expect(200).body;
    let kinds = plan["created"].as_array().expect("a list").iter();
    let kinds: Vec<_> = kinds.map(|object| (&object["kind"], &object["name"])).collect();
    let (of_rule, of_profile) = (json!("rule"), json!("profile"));
    let (a, edge, front) = (json!("a"), json!("edge"), json!("front"));
    assert_eq!(kinds, [(&of_rule, &a), (&of_profile, &edge), (&of_profile, &front)]);
    assert_eq!(profiles(&plane, &ada).await.len(), 1, "a dry run changes nothing");
    let applied = apply(&plane, &ada, &both(wanted.clone())).await.expect(200).body;
    let served = &applied["rulebook_version"];
    let list = plane.by(&ada, "GET", "profiles").send().await.expect(200);
    let of_profiles = list.body["data"].as_array().expect("a list").iter();
    let mut of_profiles = of_profiles.filter(|profile| profile["name"] != "by-hand");
    assert!(of_profiles.all(|profile| profile["rulebook_version"] == *served));
    assert_eq!(served.as_u64(), Some(version(&plane, &ada).await), "one version for all");
    assert_eq!(apply(&plane, &ada, &both(wanted)).await.expect(200).body["unchanged"], 3);
}

#[tokio::test]
async fn profile_of_a_set_is_changed_renamed_and_deleted_by_it_only() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = |set: &str, profiles: Value| json!({ "set": set, "profiles": profiles });
    let first = body("repo", json!([wanted_profile("edge", "x-user"), wanted_profile("b", "x")]));
    apply(&plane, &ada, &first).await.expect(200);
    let other = body("other", json!([wanted_profile("edge", "x-person")]));
    let refused = apply(&plane, &ada, &other).await;
    assert_eq!(refused.refused_field(), "profiles[0].profile.name");
    let list = plane.by(&ada, "GET", "profiles?limit=2").send().await.expect(200);
    let path = format!("profiles/{}", list.text("/data/1/id"));
    let edited = wanted_profile("edge", "x-edited")["profile"].clone();
    let put = plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(&edited);
    put.send().await.expect(200);
    let (repo, no, yes) = (json!("repo"), json!(false), json!(true));
    let row = |name: &str, edited: &Value, revision: u64| {
        (name.to_owned(), repo.clone(), edited.clone(), json!(revision))
    };
    assert_eq!(profiles(&plane, &ada).await, [row("b", &no, 1), row("edge", &yes, 2)]);
    let drift = apply(&plane, &ada, &with(first.clone(), &json!({ "dry_run": true }))).await;
    let drift = drift.expect(200).body;
    assert_eq!(drift["updated"][0]["last_changed_by"]["name"], "ada@example.com");
    assert_eq!(drift["updated"][0]["changes"][0]["field"], "attributes");

    // A renamed profile keeps its id; the other one is deleted only on request, and at most as many as allowed.
    let mut renamed = wanted_profile("front", "x-user");
    renamed["renamed_from"] = json!("edge");
    let renamed = body("repo", json!([renamed]));
    let prune = with(renamed.clone(), &json!({ "prune": true, "allow_deletes": 0 }));
    apply(&plane, &ada, &prune).await.problem(409, "conflict");
    let applied = apply(&plane, &ada, &renamed).await.expect(200).body;
    assert_eq!(applied["updated"][0]["id"], list.body["data"][1]["id"]);
    assert_eq!(profiles(&plane, &ada).await, [row("b", &no, 1), row("front", &no, 3)]);
    let pruned = with(renamed, &json!({ "prune": true }));
    let pruned = apply(&plane, &ada, &pruned).await.expect(200).body;
    assert_eq!(pruned["deleted"][0]["name"], "b");
    assert_eq!(profiles(&plane, &ada).await, [row("front", &no, 3)]);
    let adopted = body("other", json!([wanted_profile("front", "x-user")]));
    let adopted = with(adopted, &json!({ "adopt": true }));
    let adopted = apply(&plane, &ada, &adopted).await.expect(200).body;
    assert_eq!(adopted["updated"][0]["adopted"], true);

    let nothing = json!({ "set": "other", "prune": true });
    assert_eq!(apply(&plane, &ada, &nothing).await.refused_field(), "rules");
}
