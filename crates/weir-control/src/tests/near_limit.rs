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
