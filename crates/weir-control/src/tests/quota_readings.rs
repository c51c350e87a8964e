//! The usage of ended periods, which is read from the counters near the end of a period.

use serde_json::{Value, json};
use weir_domain::request::Operation;

use super::alerts::{busy, quota_rule};
use super::support::{Member, Plane};
use crate::quota_readings::read_due;

/// 2026-11-01T00:00:00Z.
const END_MS: i64 = 1_793_491_200_000;

async fn ended(plane: &Plane, member: &Member) -> Vec<Value> {
    let path = "usage?period=2026-10-01";
    let page = plane.by(member, "GET", path).send().await.expect(200).body;
    page["data"].as_array().expect("a list").clone()
}

/// Reads the due counters at this time. Returns when the next are due.
async fn read_at(plane: &Plane, ms: i64) -> i64 {
    plane.advance(ms - plane.now_ms());
    let next = read_due(&plane.state, true).await.expect("read");
    next.expect("the tenant is due").as_millis()
}

/// A tenant with a monthly quota of ten units, at seven minutes before the end of October.
async fn in_october() -> (Plane, Member, String) {
    let plane = Plane::deciding_at(END_MS - 450_000).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    (plane, ada, rule)
}

#[tokio::test]
async fn units_of_an_ended_month_are_complete_unless_the_subject_was_charged_again_first() {
    let (plane, ada, rule) = in_october().await;
    plane.consume(&ada, &rule, "u-1").await;
    plane.charge(&ada, &rule, "u-2", (Operation::Record, 14)).await;
    plane.charge(&ada, &rule, "u-2", (Operation::Consume, 1)).await;
    plane.charge(&ada, &rule, "u-3", (Operation::Consume, 4)).await;
    busy(&plane, &ada, &rule, &["u-1", "u-2", "u-3"]).await;
    let before = read_at(&plane, END_MS - 400_000).await;
    assert_eq!(before, END_MS - 3_000);
    assert_eq!(ended(&plane, &ada).await, Vec::<Value>::new(), "the month has not ended");

    let after = read_at(&plane, before).await;
    assert_eq!(after, END_MS + 100);
    plane.consume(&ada, &rule, "u-1").await;
    plane.advance(END_MS + 1 - plane.now_ms());
    plane.consume(&ada, &rule, "u-3").await;
    let next = read_at(&plane, after).await;
    assert_eq!(next, after + 3_600_000, "in an hour");

    let mut entries = ended(&plane, &ada).await;
    entries.sort_by_key(|entry| entry["subject"]["user"].to_string());
    let read = |entry: &Value| {
        ["used", "limit", "overage", "counted_until"].map(|name| entry[name].clone())
    };
    let end = json!("2026-11-01T00:00:00Z");
    let expected = [
        [json!(2), json!(10), json!(0), end.clone()],
        [json!(14), json!(10), json!(4), end.clone()],
        [json!(4), json!(10), json!(0), entries[2]["counted_until"].clone()],
    ];
    assert_eq!(entries.iter().map(read).collect::<Vec<_>>(), expected);
    let until = entries[2]["counted_until"].as_str().expect("a time");
    assert!(until.starts_with("2026-10-31T23:59:57"), "u-3 was charged again: {until}");
    assert_eq!((&entries[0]["from"], &entries[0]["to"]), (&json!("2026-10-01T00:00:00Z"), &end));

    let present = plane.by(&ada, "GET", "usage").send().await.expect(200).body;
    assert_eq!(present["periods"], json!(["2026-10-01"]));
    assert_eq!(present["data"][0]["overage"], json!(null));
    let bob = plane.member("bob@example.com").await;
    assert_eq!(ended(&plane, &bob).await, Vec::<Value>::new());
}

#[tokio::test]
async fn month_that_is_read_too_late_has_the_units_of_the_last_reading() {
    let (plane, ada, rule) = in_october().await;
    plane.charge(&ada, &rule, "u-1", (Operation::Consume, 3)).await;
    busy(&plane, &ada, &rule, &["u-1"]).await;
    let last = END_MS - 400_000;
    read_at(&plane, last).await;
    plane.charge(&ada, &rule, "u-1", (Operation::Consume, 5)).await;
    plane.advance(END_MS + 70_000 - plane.now_ms());
    plane.consume(&ada, &rule, "u-1").await;
    read_at(&plane, END_MS + 80_000).await;
    let entries = ended(&plane, &ada).await;
    assert_eq!((&entries[0]["used"], &entries[0]["overage"]), (&json!(3), &json!(0)));
    assert_eq!(entries[0]["counted_until"], json!("2026-10-31T23:53:20Z"));
}

#[tokio::test]
async fn month_is_a_table_and_must_be_the_first_day_of_one_that_can_be_stored() {
    let (plane, ada, rule) = in_october().await;
    plane.charge(&ada, &rule, "u,1", (Operation::Record, 12)).await;
    busy(&plane, &ada, &rule, &["u,1"]).await;
    read_at(&plane, END_MS - 3_000).await;
    read_at(&plane, END_MS + 100).await;
    let path = "usage?period=2026-10-01&format=csv";
    let table = plane.by(&ada, "GET", path).send().await.expect(200);
    let lines: Vec<_> = table.body.as_str().expect("a text").lines().collect();
    assert_eq!(
        lines[0],
        "rule_id,namespace,rule,subject,period,from,to,used,limit,overage,counted_until"
    );
    let row = format!(
        "{rule},\"default\",\"monthly\",\"{{\"\"user\"\":\"\"u,1\"\"}}\",month,\
        2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,12,10,2,2026-11-01T00:00:00Z"
    );
    assert_eq!(lines[1..], [row]);
    for period in ["2026-10-02", "2026-10", "2026-12-01", "2023-09-01", "x"] {
        let path = format!("usage?period={period}");
        let refused = plane.by(&ada, "GET", &path).send().await;
        let text = refused.problem(422, "invalid").body.to_string();
        assert!(text.contains("from `2023-10-01` to `2026-11-01`"), "{period}: {text}");
    }
    plane.by(&ada, "GET", "usage?format=csv").send().await.problem(422, "invalid");
}
