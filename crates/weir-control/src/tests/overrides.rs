//! Overrides of a rule, single ones and in bulk.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

use super::support::{Member, PASSWORD, Plane};
use crate::housekeeping::delete_ended_overrides;

async fn rule(plane: &Plane, member: &Member) -> String {
    let body = json!({
        "name": "login", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }],
    });
    plane.by(member, "POST", "rules").json(&body).send().await.expect(201).text("/id")
}

fn body(rule: &str, user: &str) -> Value {
    json!({
        "rule_id": rule, "subject": { "user": user }, "reason": "pays more",
        "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": 60_000 }],
    })
}

#[tokio::test]
async fn override_is_made_listed_replaced_and_deleted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rule = rule(&plane, &ada).await;
    let create = |user: &str| plane.by(&ada, "POST", "overrides").json(&body(&rule, user)).send();
    let made = create("u-1").await.expect(201);
    assert_eq!((made.etag(), made.text("/subject/user")), ("\"1\"".into(), "u-1".into()));
    create("u-1").await.problem(409, "conflict");
    create("*").await.expect(201);
    let list = plane
        .by(&ada, "GET", &format!("overrides?rule_id={rule}&limit=1"))
        .send()
        .await
        .expect(200);
    assert_eq!(list.text("/data/0/id"), made.text("/id"));
    assert_eq!(list.body["total"], json!(2), "on all pages");
    let next = format!("overrides?rule_id={rule}&limit=1&cursor={}", list.text("/next_cursor"));
    let next = plane.by(&ada, "GET", &next).send().await.expect(200);
    assert_eq!((&next.body["total"], &next.body["next_cursor"]), (&Value::Null, &Value::Null));
    let find =
        async |text: &str| plane.by(&ada, "GET", &format!("overrides?subject={text}")).send().await;
    assert_eq!(find("U-1").await.expect(200).text("/data/0/id"), made.text("/id"));
    assert_eq!(find("nobody").await.expect(200).body["data"], json!([]));
    assert_eq!(find(&"x".repeat(257)).await.refused_field(), "subject");
    for (namespace, overrides) in [("default", 2), ("elsewhere", 0)] {
        let path = format!("overrides?namespace={namespace}");
        let list = plane.by(&ada, "GET", &path).send().await.expect(200);
        assert_eq!(list.body["data"].as_array().map(Vec::len), Some(overrides));
        assert_eq!(list.body["total"], json!(overrides));
    }
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200);
    assert_eq!(rules.body["data"][0]["overrides"], json!(2));
    assert_eq!(rules.text("/data/0/changed_by"), "ada@example.com");

    let path = format!("overrides/{}", made.text("/id"));
    let deny = json!({ "rule_id": rule, "subject": { "user": "u-1" }, "action": "deny" });
    let put = |tag: &str| plane.by(&ada, "PUT", &path).header("if-match", tag).json(&deny).send();
    plane.by(&ada, "PUT", &path).json(&deny).send().await.problem(428, "precondition_required");
    put("\"9\"").await.problem(412, "stale");
    let changed = put("\"1\"").await.expect(200);
    assert_eq!((changed.etag(), changed.text("/action")), ("\"2\"".into(), "deny".into()));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    plane.by(&ada, "DELETE", &path).send().await.problem(404, "not_found");
}

#[tokio::test]
async fn override_that_ended_makes_room_and_is_deleted_a_day_later() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let plane = Plane::start_behind(3 * DAY_MS).await;
    let ada = plane.member("ada@example.com").await;
    let rule = rule(&plane, &ada).await;
    let until = |user: &str| {
        let mut body = body(&rule, user);
        body["expires_at"] = json!(DateTime(Timestamp::from_millis(plane.now_ms() + 60_000)));
        body
    };
    let create = |body: Value| plane.by(&ada, "POST", "overrides").json(&body).send();
    let first = create(until("u-1")).await.expect(201);
    create(until("u-1")).await.problem(409, "conflict");
    create(until("u-2")).await.expect(201);
    create(body(&rule, "u-3")).await.expect(201);
    plane.advance(2 * 60_000);
    let second = create(until("u-1")).await.expect(201);
    assert_ne!(second.text("/id"), first.text("/id"));
    let log = plane.by(&ada, "GET", "audit?action=override.delete").send().await.expect(200);
    assert_eq!(log.text("/data/0/object_id"), first.text("/id"));

    let users = async || {
        delete_ended_overrides(&plane.state, &CancellationToken::new()).await.expect("deleted");
        // A session does not last for a day without use.
        let login = json!({ "email": "ada@example.com", "password": PASSWORD });
        let login = plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(200);
        let ada = Member { token: login.text("/access_token"), ..ada.clone() };
        let list = plane.by(&ada, "GET", "overrides").send().await.expect(200);
        let rows = list.body["data"].as_array().expect("a list").clone();
        rows.iter().map(|row| row["subject"]["user"].clone()).collect::<Vec<_>>()
    };
    plane.advance(DAY_MS - 2 * 60_000);
    assert_eq!(users().await, ["u-2", "u-3", "u-1"], "for a day people can see it");
    plane.advance(2 * 60_000);
    assert_eq!(users().await, ["u-3", "u-1"]);
    plane.advance(2 * 60_000);
    assert_eq!(users().await, ["u-3"]);
}

#[tokio::test]
async fn bad_overrides_are_refused_by_field() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let (mine, others) = (rule(&plane, &ada).await, rule(&plane, &eve).await);
    let with = |name: &str, value: Value| {
        let mut body = body(&mine, "u-1");
        body[name] = value;
        body
    };
    for (body, field) in [
        (with("rule_id", json!(others)), "rule_id"),
        (with("rule_id", json!("x")), "rule_id"),
        (with("subject", json!({})), "subject.user"),
        (with("subject", json!({ "user": "a", "ip": "b" })), "subject.ip"),
        (with("action", json!("deny")), "limits"),
        (with("limits", json!([])), "limits"),
        (with("expires_at", json!("2020-01-01T00:00:00Z")), "expires_at"),
    ] {
        let answer = plane.by(&ada, "POST", "overrides").json(&body).send().await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
}

#[tokio::test]
async fn thousands_are_written_at_once_or_not_at_all() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rule = rule(&plane, &ada).await;
    let bulk = |overrides: Vec<Value>| {
        let body = json!({ "overrides": overrides });
        plane.by(&ada, "POST", "overrides/bulk").json(&body).send()
    };
    let many =
        |count: usize| (0..count).map(|at| body(&rule, &format!("u-{at}"))).collect::<Vec<_>>();
    let first = bulk(many(3000)).await.expect(200);
    assert_eq!((&first.body["created"], &first.body["updated"]), (&json!(3000), &json!(0)));
    let second = bulk(many(3001)).await.expect(200);
    assert_eq!((&second.body["created"], &second.body["updated"]), (&json!(1), &json!(3000)));

    let mut wrong = many(3);
    wrong[2]["subject"] = json!({ "user": "u-0" });
    assert_eq!(bulk(wrong).await.refused_field(), "overrides[2].subject");
    let mut wrong = many(3);
    wrong[1]["limits"] = json!([]);
    assert_eq!(bulk(wrong).await.refused_field(), "overrides[1].limits");
    assert_eq!(bulk(vec![]).await.refused_field(), "overrides");
    assert_eq!(bulk(many(5001)).await.refused_field(), "overrides");
}

#[tokio::test]
async fn what_a_rule_counts_by_stays_while_it_has_overrides() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rule = rule(&plane, &ada).await;
    let made =
        plane.by(&ada, "POST", "overrides").json(&body(&rule, "u-1")).send().await.expect(201);
    let other = json!({
        "name": "login", "count_by": ["ip"],
        "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }],
    });
    let put = || {
        plane
            .by(&ada, "PUT", &format!("rules/{rule}"))
            .header("if-match", "\"1\"")
            .json(&other)
            .send()
    };
    put().await.problem(409, "conflict");
    let path = format!("overrides/{}", made.text("/id"));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    put().await.expect(200);
}
