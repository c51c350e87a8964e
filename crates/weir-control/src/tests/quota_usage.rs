//! The usage of quotas by subject, from the counters in Redis.

use serde_json::{Value, json};

use super::alerts::{BEHIND_MS, busy, quota_rule};
use super::support::{Member, Plane};

/// All entries, in pages of two subjects.
async fn usage(plane: &Plane, member: &Member) -> (Vec<Value>, usize) {
    let (mut entries, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let path = format!("usage?limit=2{cursor}");
        let page = plane.by(member, "GET", &path).send().await.expect(200).body;
        pages += 1;
        entries.extend(page["data"].as_array().expect("a list").iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (entries, pages),
        }
    }
}

#[tokio::test]
async fn usage_of_all_pages_is_what_was_consumed() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let rule = quota_rule(&plane, &ada, &["user"]).await;
    let limits = json!([{ "algorithm": "quota", "limit": 100, "period": "month" }]);
    let more = json!({ "rule_id": rule, "subject": { "user": "u-3" }, "limits": limits });
    plane.by(&ada, "POST", "overrides").json(&more).send().await.expect(201);
    let free = json!({ "rule_id": rule, "subject": { "user": "u-4" }, "action": "allow" });
    plane.by(&ada, "POST", "overrides").json(&free).send().await.expect(201);
    for user in 1..=5 {
        for _ in 0..user {
            plane.consume(&ada, &rule, &format!("u-{user}")).await;
        }
    }
    // The statistics have the first characters of a long value, which name no counter.
    let long = "x".repeat(128);
    busy(&plane, &ada, &rule, &["u-5", "u-2", "u-1", "u-4", "u-3", &long]).await;
    let (entries, pages) = usage(&plane, &ada).await;
    let read: Vec<_> = entries
        .iter()
        .map(|entry| {
            let user = entry["subject"]["user"].as_str().expect("a text");
            (user, entry["used"].as_u64(), entry["limit"].as_u64())
        })
        .collect();
    let expected = [("u-1", 1, 10), ("u-2", 2, 10), ("u-3", 3, 100), ("u-5", 5, 10)];
    assert_eq!(read, expected.map(|(user, used, limit)| (user, Some(used), Some(limit))));
    assert_eq!(pages, 3, "five subjects in pages of two, of which one has no limit");
    let first = &entries[0];
    assert_eq!(
        (&first["rule"], &first["period"], &first["denied"]),
        (&json!("monthly"), &json!("month"), &json!(0))
    );
    assert!(first["from"].as_str() < first["to"].as_str());
    let page = plane.by(&ada, "GET", "usage?rule_id=rule_1").send().await;
    page.problem(422, "invalid");
}

#[tokio::test]
async fn usage_of_a_shared_counter_needs_no_statistics() {
    let plane = Plane::start_behind(BEHIND_MS).await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let rule = quota_rule(&plane, &ada, &[]).await;
    let other = plane.member("bob@example.com").await;
    quota_rule(&plane, &other, &["user"]).await;
    let (entries, _) = usage(&plane, &ada).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["rule_id"], rule.as_str());
    assert_eq!((&entries[0]["subject"], &entries[0]["used"]), (&json!({}), &json!(0)));
    assert_eq!(entries[0]["denied"], json!(null));
    assert_eq!(usage(&plane, &other).await.0, Vec::<Value>::new());
}
