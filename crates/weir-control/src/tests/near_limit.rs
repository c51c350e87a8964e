//! The subjects that have used most of a limit.

use serde_json::{Value, json};

use super::alerts::{busy, quota_rule};
use super::support::{Answer, Member, Plane};

async fn near(plane: &Plane, member: &Member, query: &str) -> Answer {
    plane.by(member, "GET", &format!("subjects/near-limit?{query}")).send().await
}

/// The users of the list with what is left of their limit.
fn users(answer: &Answer) -> Vec<(String, u64)> {
    let list = answer.body["data"].as_array().expect("a list").iter();
    let entry = |near: &Value| {
        let user = near["subject"]["user"].as_str().unwrap_or("all").to_owned();
        (user, near["limit"]["remaining"].as_u64().expect("units"))
    };
    list.map(entry).collect()
}

async fn consume(plane: &Plane, member: &Member, rule: &str, (user, times): (&str, u32)) {
    for _ in 0..times {
        plane.consume(member, rule, user).await;
    }
}

#[tokio::test]
async fn subjects_near_a_limit_are_listed_by_the_used_share() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    for used in [("b", 8), ("a", 10), ("c", 7), ("idle", 10)] {
        consume(&plane, &ada, &rule, used).await;
    }
    busy(&plane, &ada, &rule, &["a", "b", "c", "d"]).await;
    let pair = |user: &str, left| (user.to_owned(), left);

    let found = near(&plane, &ada, "").await.expect(200);
    assert_eq!(users(&found), [pair("a", 0), pair("b", 2)]);
    assert_eq!((&found.body["inspected"], &found.body["complete"]), (&json!(4), &json!(true)));
    assert_eq!(found.body["data"][0]["rule_id"], json!(rule));
    let found = near(&plane, &ada, &format!("percent=70&rule_id={rule}")).await.expect(200);
    assert_eq!(users(&found), [pair("a", 0), pair("b", 2), pair("c", 3)]);
    assert_eq!(users(&near(&plane, &ada, "namespace=mail").await.expect(200)), []);

    let body = |user: &str| json!({ "rule_id": rule, "subject": { "user": user } });
    let mut raised = body("a");
    raised["limits"] = json!([{ "algorithm": "quota", "limit": 100, "period": "month" }]);
    let mut denied = body("b");
    denied["action"] = "deny".into();
    for exception in [raised, denied] {
        plane.by(&ada, "POST", "overrides").json(&exception).send().await.expect(201);
    }
    let found = near(&plane, &ada, "").await.expect(200);
    assert_eq!(users(&found), [], "the limits are those of the overrides");

    assert_eq!(users(&near(&plane, &eve, "").await.expect(200)), []);
    let foreign = near(&plane, &eve, &format!("rule_id={rule}")).await;
    assert_eq!(foreign.refused_field(), "rule_id");
    for wrong in ["percent=0", "percent=101"] {
        assert_eq!(near(&plane, &ada, wrong).await.refused_field(), "percent");
    }
}

#[tokio::test]
async fn a_rule_with_one_counter_is_inspected_by_its_id() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let rule = quota_rule(&plane, &ada, &[]).await;
    consume(&plane, &ada, &rule, ("", 9)).await;
    assert_eq!(users(&near(&plane, &ada, "").await.expect(200)), []);
    let found = near(&plane, &ada, &format!("rule_id={rule}")).await.expect(200);
    assert_eq!(users(&found), [("all".to_owned(), 1)]);

    let off = json!({ "name": "monthly", "mode": "off", "limits": [{ "algorithm": "quota", "limit": 10, "period": "month" }] });
    let put = plane.by(&ada, "PUT", &format!("rules/{rule}")).header("if-match", "\"1\"");
    put.json(&off).send().await.expect(200);
    let found = near(&plane, &ada, &format!("rule_id={rule}")).await.expect(200);
    assert_eq!(users(&found), [], "a rule that is off counts nothing");
}

#[tokio::test]
async fn customers_near_the_limits_of_a_changed_plan_are_listed_before_it_is_published() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let attribute = json!({ "customer_attribute": "user" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let all = quota_rule_named(&plane, &ada, "all").await;
    let planned = |limit: u64| {
        let limits = json!([{ "algorithm": "quota", "limit": limit, "period": "month" }]);
        json!([{ "namespace": "default", "rule": "monthly", "limits": limits }])
    };
    let pro = json!({ "name": "pro", "rules": planned(100) });
    let pro = plane.by(&ada, "POST", "plans").json(&pro).send().await.expect(201).text("/id");
    for customer in ["a", "b"] {
        let assign = json!({ "customer": customer, "plan": pro });
        plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    }
    for used in [("a", 9), ("b", 2), ("on no plan", 9)] {
        consume(&plane, &ada, &rule, used).await;
    }
    busy(&plane, &ada, &rule, &["a", "b", "on no plan"]).await;
    let preview = async |rule: &str, plan: &str, rules: Value| {
        let body = json!({ "rule_id": rule, "plan": { "id": plan, "rules": rules } });
        plane.by(&ada, "POST", "subjects/near-limit").json(&body).send().await
    };

    let found = preview(&rule, &pro, planned(11)).await.expect(200);
    assert_eq!(users(&found), [("a".to_owned(), 2)]);
    assert_eq!((&found.body["inspected"], &found.body["complete"]), (&json!(2), &json!(true)));
    assert_eq!(found.body["data"][0]["plan_id"], pro.as_str());
    let smaller = preview(&rule, &pro, planned(2)).await.expect(200);
    assert_eq!(users(&smaller).len(), 2, "more is used than the limit would be");
    assert_eq!(users(&preview(&rule, &pro, planned(50)).await.expect(200)), []);

    let wrong_limit = preview(&rule, &pro, planned(0)).await;
    assert_eq!(wrong_limit.refused_field(), "plan.rules[0].limits[0].limit");
    assert_eq!(preview(&all, &pro, json!([])).await.refused_field(), "rule_id");
    let unknown = pro.replace(char::is_numeric, "1");
    assert_eq!(preview(&rule, &unknown, planned(1)).await.refused_field(), "plan.id");
    let body = json!({ "rule_id": rule, "plan": { "id": pro, "rules": [] }, "percent": 0 });
    let refused = plane.by(&ada, "POST", "subjects/near-limit").json(&body).send().await;
    assert_eq!(refused.refused_field(), "percent");
}

/// A rule with one counter for all requests.
async fn quota_rule_named(plane: &Plane, member: &Member, name: &str) -> String {
    let limits = json!([{ "algorithm": "quota", "limit": 10, "period": "month" }]);
    let rule = json!({ "name": name, "limits": limits });
    plane.by(member, "POST", "rules").json(&rule).send().await.expect(201).text("/id")
}

#[tokio::test]
async fn list_of_customers_has_the_limit_that_each_has_used_most() {
    let (plane, relay) = Plane::over_relay().await;
    let ada = plane.member("ada@example.com").await;
    let attribute = json!({ "customer_attribute": "user" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    let monthly = quota_rule(&plane, &ada, &["user"]).await;
    let hourly = json!({ "name": "hourly", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 20, "window_ms": 3_600_000 }] });
    let hourly = plane.by(&ada, "POST", "rules").json(&hourly).send().await.expect(201).text("/id");
    let pro = plane.by(&ada, "POST", "plans").json(&json!({ "name": "pro", "rules": [
        { "namespace": "default", "rule": "monthly", "action": "allow" },
    ] }));
    let pro = pro.send().await.expect(201).text("/id");
    for customer in ["a", "b"] {
        let assign = json!({ "customer": customer, "plan": pro });
        plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    }
    let ended = plane.by(&ada, "GET", "assignments").send().await.expect(200);
    let of_b = ended.body["data"].as_array().expect("a list").iter();
    let of_b = of_b.clone().find(|one| one["customer"] == "b").expect("its assignment");
    let path = format!("assignments/{}", of_b["id"].as_str().expect("an id"));
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    let list = async || plane.by(&ada, "GET", "customers?used=true").send().await.expect(200).body;

    consume(&plane, &ada, &monthly, ("a", 9)).await;
    consume(&plane, &ada, &hourly, ("a", 5)).await;
    consume(&plane, &ada, &monthly, ("b", 9)).await;
    consume(&plane, &ada, &hourly, ("b", 5)).await;
    let read = list().await;
    let most_used = |at: usize| {
        let near = &read["data"][at]["most_used"];
        (near["rule"].clone(), near["limit"]["remaining"].clone())
    };
    assert_eq!(most_used(0), (json!("hourly"), json!(15)), "the plan allows the other rule");
    assert_eq!(most_used(1), (json!("monthly"), json!(1)));
    let without = plane.by(&ada, "GET", "customers").send().await.expect(200).body;
    assert_eq!(without["data"][0].get("most_used"), None);
    let many = plane.by(&ada, "GET", "customers?used=true&limit=51").send().await;
    assert_eq!(many.refused_field(), "limit");

    relay.silence();
    relay.set_deaf(true);
    let unread = list().await;
    assert_eq!(unread["data"][0]["most_used"]["limit"]["remaining"], Value::Null);
    assert_eq!(unread["data"][0]["last_7_days"].as_array().map(Vec::len), Some(7));
}
