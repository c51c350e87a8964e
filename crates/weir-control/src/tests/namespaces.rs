//! Namespaces whose counters are spread: the rules that suit them, and operations on their counters.

use serde_json::{Value, json};

use super::support::{Member, Plane};

fn rule(name: &str, count_by: &[&str]) -> Value {
    let limits =
        json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 31_622_400_000_u64 }]);
    json!({ "namespace": "api", "name": name, "count_by": count_by, "limits": limits })
}

async fn put(
    plane: &Plane,
    member: &Member,
    etag: &'static str,
    spread_by: Value,
) -> super::support::Answer {
    let body = json!({ "spread_by": spread_by });
    plane.by(member, "PUT", "namespaces/api").header("if-match", etag).json(&body).send().await
}

fn reason(answer: &super::support::Answer) -> String {
    answer.text("/fields/0/reason")
}

#[tokio::test]
async fn spread_is_written_by_revision_and_audited_and_listed() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    plane.by(&ada, "POST", "rules").json(&rule("each", &["user"])).send().await.expect(201);
    let read = plane.by(&ada, "GET", "namespaces/api").send().await.expect(200);
    assert_eq!((&read.body["revision"], &read.body["rules"]), (&json!(0), &json!(1)));
    assert_eq!(read.headers["etag"], "\"0\"");
    let body = json!({ "spread_by": ["user"] });
    let unconditional = plane.by(&ada, "PUT", "namespaces/api").json(&body).send().await;
    unconditional.problem(428, "precondition_required");
    let spread = put(&plane, &ada, "\"0\"", json!(["user"])).await.expect(200);
    assert_eq!(
        (&spread.body["revision"], &spread.body["spread_by"]),
        (&json!(1), &json!(["user"]))
    );
    assert!(spread.body["rulebook_version"].as_u64().is_some_and(|version| version > 0));
    put(&plane, &ada, "\"0\"", json!([])).await.problem(412, "stale");
    let list = plane.by(&ada, "GET", "namespaces").send().await.expect(200);
    assert_eq!(list.body["data"][0]["spread_by"], json!(["user"]));
    let audit = plane.by(&ada, "GET", "audit?action=namespace.update").send().await.expect(200);
    let entry = &audit.body["data"][0];
    assert_eq!(
        (&entry["before"]["spread_by"], &entry["after"]["spread_by"]),
        (&json!([]), &json!(["user"]))
    );
    put(&plane, &ada, "\"1\"", json!([])).await.expect(200);
    plane.by(&ada, "GET", "namespaces/Api").send().await.problem(404, "not_found");
    let wrong = put(&plane, &ada, "\"2\"", json!(["user", "User"])).await;
    assert_eq!(wrong.text("/fields/0/field"), "spread_by[1]");
}

/// Otherwise each name that is tried would stay for ever.
#[tokio::test]
async fn namespace_without_settings_is_not_written() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    put(&plane, &ada, "\"3\"", json!([])).await.problem(412, "stale");
    let put = put(&plane, &ada, "\"0\"", json!([])).await.expect(200);
    assert_eq!((put.etag(), &put.body["spread_by"]), ("\"0\"".to_owned(), &json!([])));
    let list = plane.by(&ada, "GET", "namespaces").send().await.expect(200);
    assert_eq!(list.body["data"], json!([]));
}

#[tokio::test]
async fn rules_that_a_spread_namespace_cannot_count_are_refused_with_the_reason() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let each =
        plane.by(&ada, "POST", "rules").json(&rule("each", &["user"])).send().await.expect(201);
    let all = plane.by(&ada, "POST", "rules").json(&rule("all", &[])).send().await.expect(201);
    let refused = put(&plane, &ada, "\"0\"", json!(["user"])).await;
    assert_eq!(refused.status, 422);
    assert!(
        reason(&refused)
            .starts_with("does not suit the rule `all`: its `count_by` must contain `user`"),
        "{}",
        reason(&refused)
    );

    let path = format!("rules/{}", all.text("/id"));
    let mut leased = rule("all", &[]);
    leased["consistency"] = json!("leased");
    let change = |path: String, body: Value| {
        plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(&body).send()
    };
    change(path, leased).await.expect(200);
    put(&plane, &ada, "\"0\"", json!(["user"])).await.expect(200);

    let other = plane.by(&ada, "POST", "rules").json(&rule("other", &["path"])).send().await;
    assert_eq!(
        (other.status.as_u16(), other.text("/fields/0/field")),
        (422, "count_by".to_owned())
    );
    assert!(
        reason(&other).contains("the counters of the namespace `api` are spread by `user`"),
        "{}",
        reason(&other)
    );
    let path = format!("rules/{}", each.text("/id"));
    let moved = change(path, rule("each", &["path"])).await;
    assert_eq!(moved.status, 422);
    let mut elsewhere = rule("other", &["path"]);
    elsewhere["namespace"] = json!("web");
    plane.by(&ada, "POST", "rules").json(&elsewhere).send().await.expect(201);
}

#[tokio::test]
async fn counters_of_a_spread_namespace_are_inspected_and_reset_where_they_are() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    put(&plane, &ada, "\"0\"", json!(["user"])).await.expect(200);
    let each =
        plane.by(&ada, "POST", "rules").json(&rule("each", &["user"])).send().await.expect(201);
    let id = each.text("/id");
    for user in ["ada", "bob"] {
        plane.consume(&ada, &id, user).await;
    }
    let remaining = async |user: &str| {
        let body = json!({ "rule_id": id, "subjects": [{ "user": user }] });
        let counters =
            plane.by(&ada, "POST", "counters/inspect").json(&body).send().await.expect(200);
        let body = json!({ "namespace": "api", "attributes": { "user": user } });
        let tested = plane.by(&ada, "POST", "test").json(&body).send().await.expect(200);
        let subject =
            plane.by(&ada, "POST", "subjects/inspect").json(&body).send().await.expect(200);
        [
            counters.body["data"][0]["limits"][0]["remaining"].clone(),
            tested.body["rules"][0]["limits"][0]["remaining"].clone(),
            subject.body["data"][0]["limits"][0]["remaining"].clone(),
        ]
    };
    assert_eq!(remaining("ada").await, [json!(4), json!(4), json!(4)]);
    let body = json!({ "rule_id": id, "subject": { "user": "ada" } });
    let reset = plane.by(&ada, "POST", "counters/reset").json(&body).send().await.expect(200);
    assert_eq!(reset.body["counters"], 1);
    assert_eq!(remaining("ada").await, [json!(5), json!(5), json!(5)]);
    assert_eq!(remaining("bob").await, [json!(4), json!(4), json!(4)]);
}
