//! Rules: creating, reading, listing, replacing, reverting and deleting them.

use serde_json::{Value, json};

use super::support::{Member, Plane};
use crate::{ControlSettings, Signup};

fn rule(name: &str) -> Value {
    json!({
        "namespace": "api", "name": name, "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }],
    })
}

async fn made(plane: &Plane, member: &Member, name: &str) -> String {
    let answer = plane.by(member, "POST", "rules").json(&rule(name)).send().await.expect(201);
    answer.text("/id")
}

#[tokio::test]
async fn edit_that_forgets_used_units_is_answered_with_a_warning() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let path = format!("rules/{}", made(&plane, &ada, "login").await);
    let mut longer = rule("login");
    longer["limits"][0]["window_ms"] = json!(3_600_000);
    let put = plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(&longer);
    let edited = put.send().await.expect(200);
    let warning = edited.body["warnings"][0].as_str().expect("a warning");
    assert!(warning.starts_with("limits[0] does not count units used before"), "{warning}");
    let read = plane.by(&ada, "GET", &path).send().await.expect(200);
    assert_eq!(read.body["warnings"], json!([]), "it is about the edit");
    let revert = plane.by(&ada, "POST", &format!("{path}/revert")).json(&json!({ "revision": 1 }));
    assert_eq!(revert.send().await.expect(200).body["warnings"], json!([]), "a shorter window");
}

#[tokio::test]
async fn rule_is_made_read_replaced_and_deleted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let made = plane.by(&ada, "POST", "rules").json(&rule("login")).send().await.expect(201);
    assert_eq!((made.etag(), &made.body["revision"]), ("\"1\"".into(), &json!(1)));
    assert_eq!(made.text("/mode"), "enforce");
    assert_eq!(made.body["warnings"], json!([]));
    let path = format!("rules/{}", made.text("/id"));
    let read = plane.by(&ada, "GET", &path).send().await.expect(200);
    assert_eq!((read.etag(), &read.body), ("\"1\"".into(), &made.body));

    let mut off = rule("login");
    off["mode"] = "off".into();
    let put = |tag: Option<&str>| {
        let ask = plane.by(&ada, "PUT", &path).json(&off);
        if let Some(tag) = tag { ask.header("if-match", tag).send() } else { ask.send() }
    };
    put(None).await.problem(428, "precondition_required");
    put(Some("\"7\"")).await.problem(412, "stale");
    put(Some("nonsense")).await.problem(412, "stale");
    let changed = put(Some("\"1\"")).await.expect(200);
    assert_eq!((changed.etag(), changed.text("/mode")), ("\"2\"".into(), "off".into()));
    assert_eq!(changed.body["warnings"].as_array().map(Vec::len), Some(1));
    let versions = [&made, &changed].map(|answer| answer.body["rulebook_version"].as_u64());
    assert!(versions[0] < versions[1]);
    put(Some("\"1\"")).await.problem(412, "stale");

    let stale = plane.by(&ada, "DELETE", &path).header("if-match", "\"1\"").send().await;
    stale.problem(412, "stale");
    plane.by(&ada, "DELETE", &path).header("if-match", "\"2\"").send().await.expect(204);
    plane.by(&ada, "GET", &path).send().await.problem(404, "not_found");
    plane.by(&ada, "DELETE", &path).send().await.problem(404, "not_found");
}

#[tokio::test]
async fn revisions_remember_and_can_be_reverted_to() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let id = made(&plane, &ada, "login").await;
    let mut other = rule("renamed");
    other["limits"][0]["limit"] = 9.into();
    let path = format!("rules/{id}");
    let put = plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(&other);
    put.send().await.expect(200);
    let list = plane.by(&ada, "GET", &format!("{path}/revisions")).send().await.expect(200);
    assert_eq!(list.body["data"][0]["revision"], 2);
    assert_eq!(list.body["data"][0]["before"]["name"], "login");
    assert_eq!(list.body["data"][0]["after"]["name"], "renamed");
    assert_eq!(list.text("/data/1/actor/name"), "ada@example.com");
    assert!(list.body["data"][1]["before"].is_null());

    let revert = |revision: u64| {
        let body = json!({ "revision": revision });
        plane.by(&ada, "POST", &format!("{path}/revert")).json(&body).send()
    };
    assert_eq!(revert(9).await.refused_field(), "revision");
    let back = revert(1).await.expect(200);
    assert_eq!((back.etag(), back.text("/name")), ("\"3\"".into(), "login".into()));
    assert_eq!(back.body["limits"][0]["limit"], 5);
}

#[tokio::test]
async fn lists_are_paged_filtered_and_bound_to_their_filter() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    for name in ["a-login", "b-login", "c-mail"] {
        made(&plane, &ada, name).await;
    }
    let list = |query: String| plane.by(&ada, "GET", &format!("rules{query}")).send();
    let first = list("?limit=2".into()).await.expect(200);
    assert_eq!(first.text("/data/1/name"), "b-login");
    let cursor = first.text("/next_cursor");
    let second = list(format!("?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!(second.text("/data/0/name"), "c-mail");
    assert!(second.body["next_cursor"].is_null());
    let found = list("?search=login&namespace=api".into()).await.expect(200);
    assert_eq!(found.body["data"].as_array().map(Vec::len), Some(2));
    let none = list("?namespace=other".into()).await.expect(200);
    assert_eq!(none.body["data"], json!([]));

    assert_eq!(list(format!("?search=login&cursor={cursor}")).await.refused_field(), "cursor");
    let other = plane.by(&eve, "GET", &format!("rules?cursor={cursor}")).send().await;
    assert_eq!(other.refused_field(), "cursor");
    for limit in ["0", "-1", "201", "1000000000", "x"] {
        assert_eq!(list(format!("?limit={limit}")).await.refused_field(), "limit");
    }
    assert_eq!(list("?sort=name".into()).await.refused_field(), "sort");
    let odd = list("?search=%25_%27%5C".into()).await.expect(200);
    assert_eq!(odd.body["data"], json!([]));
}

#[tokio::test]
async fn lists_are_of_some_ids_or_of_rules_that_have_something() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let first = made(&plane, &ada, "a-login").await;
    let second = made(&plane, &ada, "b-login").await;
    let hers = made(&plane, &eve, "hers").await;
    let mut monthly = rule("monthly");
    monthly["count_by"] = json!([]);
    monthly["limits"] = json!([{ "algorithm": "quota", "limit": 5, "period": "month" }]);
    plane.by(&ada, "POST", "rules").json(&monthly).send().await.expect(201);
    let list = |query: String| plane.by(&ada, "GET", &format!("rules?{query}")).send();
    let names = async |query: String| {
        let answer = list(query).await.expect(200);
        let data = answer.body["data"].as_array().expect("a list").clone();
        data.iter()
            .map(|rule| rule["name"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(format!("ids={second},{first},{hers}")).await, ["a-login", "b-login"]);
    assert_eq!(names(format!("ids={second}&search=a-")).await, [""; 0]);
    assert_eq!(names("search=PI/b".into()).await, ["b-login"]);
    assert_eq!(names("ids=".into()).await, [""; 0]);
    assert_eq!(names("has=count_by".into()).await, ["a-login", "b-login"]);
    assert_eq!(names("has=quota".into()).await, ["monthly"]);

    let many = vec![first.as_str(); 101].join(",");
    for ids in ["rule_1", "tenant_0", "x,", ",", many.as_str()] {
        assert_eq!(list(format!("ids={ids}")).await.refused_field(), "ids");
    }
    assert_eq!(list("has=wings".into()).await.refused_field(), "has");
    let cursor = list("has=count_by&limit=1".into()).await.expect(200).text("/next_cursor");
    list(format!("has=count_by&limit=1&cursor={cursor}")).await.expect(200);
    assert_eq!(list(format!("limit=1&cursor={cursor}")).await.refused_field(), "cursor");
}

#[tokio::test]
async fn names_are_unique_in_a_namespace_of_a_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    made(&plane, &ada, "login").await;
    let again = plane.by(&ada, "POST", "rules").json(&rule("login")).send().await;
    again.problem(409, "name_taken");
    made(&plane, &eve, "login").await;
    let mut elsewhere = rule("login");
    elsewhere["namespace"] = "other".into();
    plane.by(&ada, "POST", "rules").json(&elsewhere).send().await.expect(201);
}

#[tokio::test]
async fn repeated_creation_makes_one_rule() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let create = || {
        let ask = plane.by(&ada, "POST", "rules").header("idempotency-key", "once");
        ask.json(&rule("login")).send()
    };
    let first = create().await.expect(201);
    let again = create().await.expect(201);
    assert_eq!((first.etag(), &first.body), (again.etag(), &again.body));
    let log = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let creations = log.body["data"].as_array().expect("a list").iter();
    assert_eq!(creations.filter(|entry| entry["action"] == "rule.create").count(), 1);
}

#[tokio::test]
async fn there_are_only_so_many_rules() {
    let settings = ControlSettings {
        signup: Signup::Open,
        rules_per_namespace_max: 2,
        ..ControlSettings::default()
    };
    let plane = Plane::with(settings).await;
    let ada = plane.member("ada@example.com").await;
    made(&plane, &ada, "a").await;
    made(&plane, &ada, "b").await;
    let more = plane.by(&ada, "POST", "rules").json(&rule("c")).send().await;
    more.problem(409, "conflict");
    // Nor can a rule move to a namespace that is full.
    let mut elsewhere = rule("c");
    elsewhere["namespace"] = json!("elsewhere");
    let other = plane.by(&ada, "POST", "rules").json(&elsewhere).send().await.expect(201);
    let path = format!("rules/{}", other.text("/id"));
    let put =
        |body: &Value| plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(body).send();
    put(&rule("c")).await.problem(409, "conflict");
    put(&elsewhere).await.expect(200);
}

#[tokio::test]
async fn rules_that_every_request_meets_have_at_most_64_limits_together() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let with = |name: &str, limits: usize, mode: &str| {
        let limit = json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 });
        json!({ "name": name, "mode": mode, "limits": vec![limit; limits] })
    };
    for at in 0..7 {
        let body = with(&format!("enforced-{at}"), 8, "enforce");
        plane.by(&ada, "POST", "rules").json(&body).send().await.expect(201);
    }
    plane.by(&ada, "POST", "rules").json(&with("shadow", 7, "shadow")).send().await.expect(201);
    let last = plane.by(&ada, "POST", "rules").json(&with("last", 1, "enforce")).send().await;
    let last = last.expect(201);
    for mode in ["enforce", "shadow"] {
        let more = plane.by(&ada, "POST", "rules").json(&with("more", 1, mode)).send().await;
        let problem = more.problem(422, "invalid");
        assert_eq!(problem.body["fields"][0]["field"], "limits");
        assert!(problem.text("/detail").contains("the most is 64"));
    }
    let path = format!("rules/{}", last.text("/id"));
    let put = |body: Value, tag: &str| {
        plane.by(&ada, "PUT", &path).header("if-match", tag).json(&body).send()
    };
    put(with("last", 2, "enforce"), "\"1\"").await.problem(422, "invalid");
    put(with("last", 1, "shadow"), "\"1\"").await.expect(200);
    plane.by(&ada, "POST", "rules").json(&with("more", 8, "off")).send().await.expect(201);
    let mut elsewhere = with("more", 8, "enforce");
    elsewhere["namespace"] = "elsewhere".into();
    plane.by(&ada, "POST", "rules").json(&elsewhere).send().await.expect(201);
    let mut matching = with("matching", 8, "enforce");
    matching["match"] = json!([{ "attribute": "route", "op": "equals", "value": "/r" }]);
    plane.by(&ada, "POST", "rules").json(&matching).send().await.expect(201);
}

#[tokio::test]
async fn bad_rules_are_refused_by_field() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let with = |name: &str, value: Value| {
        let mut body = rule("login");
        body[name] = value;
        body
    };
    for (body, field) in [
        (with("name", json!("No Good")), "name"),
        (with("namespace", json!("")), "namespace"),
        (with("limits", json!([])), "limits"),
        (
            with("limits", json!([{ "algorithm": "fixed_window", "limit": 0, "window_ms": 1000 }])),
            "limits[0].limit",
        ),
        (with("mode", json!("loud")), "mode"),
        (with("revision", json!(7)), "revision"),
        (with("tenant_id", json!("x")), "tenant_id"),
        (
            with("match", json!([{ "attribute": "ip", "op": "cidr", "value": "x" }])),
            "match[0].value",
        ),
    ] {
        let answer = plane.by(&ada, "POST", "rules").json(&body).send().await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
}

/// A rule of a namespace with sixteen patterns that begin with `text`.
fn patterns(namespace: &str, nth: usize, text: &str) -> Value {
    let condition = |at: usize| {
        let value = format!("{text}(z{nth}x{at})?");
        json!({ "attribute": format!("a{at}"), "op": "regex", "value": value })
    };
    let mut rule = rule(&format!("r{nth}"));
    rule["namespace"] = namespace.into();
    rule["match"] = (0..16).map(condition).collect();
    rule
}

#[tokio::test]
async fn of_4800_large_patterns_all_but_a_few_are_refused_and_the_bound_is_named() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let mut accepted = 0;
    for nth in 0..300 {
        let namespace = format!("n{}", nth % 30);
        let rule = patterns(&namespace, nth, "(.*a){25}");
        let answer = plane.by(&ada, "POST", "rules").json(&rule).send().await;
        if answer.status == 201 {
            accepted += 1;
        } else {
            let reason = answer.text("/fields/0/reason");
            assert!(
                reason.ends_with(" KiB of compiled regular expressions: at most 4096 KiB"),
                "{reason}"
            );
            assert_eq!(answer.refused_field(), "match");
        }
    }
    // Each of sixteen patterns takes about 30 KiB.
    assert!((4..=9).contains(&accepted), "{accepted}");
}

#[tokio::test]
async fn a_hundred_regular_expressions_of_a_namespace_and_two_hundred_of_a_tenant_are_the_most() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let write = |rule: Value| plane.by(&ada, "POST", "rules").json(&rule).send();
    for nth in 0..6 {
        write(patterns("api", nth, "^a")).await.expect(201);
        write(patterns("other", nth, "^a")).await.expect(201);
    }
    let reason = "would give the namespace 112 regular expressions: at most 100";
    let refused = write(patterns("api", 6, "^a")).await.expect(422);
    assert_eq!(refused.text("/fields/0/reason"), reason);
    let reason = "would give the tenant 208 regular expressions: at most 200";
    let refused = write(patterns("third", 0, "^a")).await.expect(422);
    assert_eq!(refused.text("/fields/0/reason"), reason);
    let mut plain = rule("plain");
    plain["namespace"] = "third".into();
    let plain = write(plain).await.expect(201);
    let put = |id: &str, rule: &Value| {
        let path = format!("rules/{id}");
        plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(rule).send()
    };
    let edit = put(&plain.text("/id"), &patterns("third", 0, "^a")).await.expect(422);
    assert_eq!(edit.text("/fields/0/reason"), reason);

    // An edit within the budget does not count its own patterns twice.
    let list = plane.by(&ada, "GET", "rules?namespace=api&limit=1").send().await.expect(200);
    let id = list.text("/data/0/id");
    put(&id, &patterns("api", 0, "^b")).await.expect(200);
    plane.by(&ada, "DELETE", &format!("rules/{id}")).send().await.expect(204);
    write(patterns("third", 1, "^a")).await.expect(201);
}
