//! Back-tests of alerts over stored statistics.

use serde_json::{Value, json};
use weir_domain::id::{AlertId, RuleId};
use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

use super::alerts::{BEHIND_MS, MINUTE_MS, checks, webhook};
use super::receiver::Receiver;
use super::support::{Answer, Member, Plane};

const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

async fn backtest(plane: &Plane, member: &Member, body: &Value) -> Answer {
    plane.by(member, "POST", "alerts/backtest").json(body).send().await
}

fn time(ms: i64) -> String {
    DateTime(Timestamp::from_millis(ms)).text()
}

#[tokio::test]
async fn backtest_of_a_stored_alert_and_of_its_condition_finds_the_same_firings() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    plane.advance(MINUTE_MS - plane.now_ms() % MINUTE_MS);
    let begun = plane.now_ms() / MINUTE_MS * MINUTE_MS;
    checks(&plane, &ada, "other", 0, 500).await;
    checks(&plane, &ada, "api", 20, 80).await;
    plane.advance(6 * MINUTE_MS);
    checks(&plane, &ada, "api", 10, 90).await;
    plane.advance(MINUTE_MS);

    let condition = json!({
        "kind": "denial_share", "namespace": "api", "share_percent": 50, "window_s": 120, "checks_min": 100,
    });
    let found = backtest(&plane, &ada, &condition).await.expect(200).body;
    assert_eq!((&found["fired"], &found["messages"]), (&json!(2), &json!(3)));
    // The window of two minutes contains the denials until the third minute ends.
    let first = json!({
        "from": time(begun), "to": time(begun + 3 * MINUTE_MS), "messages": 2,
        "highest_percent": 80.0, "denied": 80, "checks": 100,
    });
    assert_eq!(found["firings"][0], first);
    assert_eq!(found["firings"][1]["from"], time(begun + 6 * MINUTE_MS));
    assert_eq!(found["firings"][1]["to"], Value::Null, "it lasts");
    assert_eq!(found["step_s"], 300);
    let steps = found["highest_percent"].as_array().expect("a list");
    assert_eq!(steps.iter().filter_map(Value::as_f64).reduce(f64::max), Some(90.0), "{steps:?}");

    let mut alert = condition.clone();
    alert["name"] = "many denials".into();
    alert["webhook_id"] = webhook(&plane, &ada, &receiver).await.into();
    alert["enabled"] = false.into();
    let id = plane.by(&ada, "POST", "alerts").json(&alert).send().await.expect(201).text("/id");
    let of_stored = backtest(&plane, &ada, &json!({ "alert_id": id })).await.expect(200).body;
    assert_eq!(of_stored["firings"], found["firings"]);
    assert_eq!(receiver.count(), 0, "nothing is sent");

    let before = json!({
        "kind": "denial_share", "share_percent": 50, "to": time(begun - MINUTE_MS),
    });
    let before = backtest(&plane, &ada, &before).await.expect(200).body;
    assert_eq!((&before["fired"], &before["firings"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn backtests_are_refused_by_field() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let now = plane.now_ms();
    let share = |field: &str, value: Value| {
        let mut body = json!({ "kind": "denial_share", "share_percent": 5 });
        body[field] = value;
        body
    };
    let unknown = RuleId::from_u128(1).to_string();
    let quotas = json!([{ "algorithm": "quota", "limit": 10, "period": "month" }]);
    let rule = json!({ "name": "monthly", "limits": quotas });
    let rule = plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201).text("/id");
    let old = json!({
        "kind": "denial_share", "share_percent": 5, "from": time(now - 12 * DAY_MS), "to": time(now - 6 * DAY_MS),
    });
    for (body, field) in [
        (json!({}), "kind"),
        (json!({ "kind": "quota", "rule_id": rule }), "kind"),
        (json!({ "alert_id": AlertId::from_u128(1).to_string() }), "alert_id"),
        (json!({ "alert_id": "x", "share_percent": 5 }), "share_percent"),
        (share("share_percent", json!(0)), "share_percent"),
        (share("window_s", json!(61)), "window_s"),
        (share("rule_id", json!(unknown)), "rule_id"),
        (share("from", json!(time(now + DAY_MS))), "from"),
        (share("from", json!(time(now - 8 * DAY_MS))), "from"),
        (old, "from"),
        (share("thresholds_percent", json!([80])), "thresholds_percent"),
    ] {
        let answer = backtest(&plane, &ada, &body).await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
}
