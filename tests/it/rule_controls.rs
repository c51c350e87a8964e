//! Controls of rules over two gates: classes of priority, shares of subjects, variants, schedules, reports, escalating blocks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Reply, Rule, Tenant, seconds, shared, until};

const CALLERS: usize = 64;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// A time in which no window ends during a run.
const LONG_MS: u64 = 366 * DAY_MS;

fn window(limit: u64) -> Value {
    json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": LONG_MS }])
}

/// The admissions of 64 callers over two gates, who repeat this check until it is denied.
async fn admissions(tenant: &Arc<Tenant<'static>>, body: Value) -> usize {
    let body = Arc::new(body);
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (tenant, body) = (Arc::clone(tenant), Arc::clone(&body));
        callers.spawn(async move {
            let mut passed = 0;
            loop {
                let reply = tenant.check(caller % 2, &body).await;
                assert!(reply.body["degraded"].is_null(), "Redis was not asked: {}", reply.body);
                if !reply.allowed() {
                    return passed;
                }
                passed += 1;
            }
        });
    }
    callers.join_all().await.into_iter().sum()
}

/// The decisions of a rule by segment, once those that this names are counted: kind and name, allowed, denied, denied in shadow mode.
async fn segments(tenant: &Tenant<'_>, rule: &Rule, expected: &[(&str, [u64; 3])]) -> Value {
    let path = format!("/rules/{}/segments", rule.id);
    let found = async || tenant.admin(Method::GET, &path, &Value::Null).await.expect(200).body;
    let counted = |body: &Value| {
        let of = |segment: &Value| {
            let name = segment["name"].as_str().or(segment["kind"].as_str()).expect("a name");
            let count = |name: &str| segment["counts"][name].as_u64().expect("a count");
            (name.to_owned(), ["allowed", "denied", "shadow_denied"].map(count))
        };
        body["data"].as_array().into_iter().flatten().map(of).collect::<BTreeMap<_, _>>()
    };
    until(seconds(30), "the decisions are counted by segment", async || {
        let counted = counted(&found().await);
        expected.iter().all(|(name, counts)| counted.get(*name) == Some(counts))
    })
    .await;
    found().await
}

/// The denied subjects of both segments are these, or some of these if the log of denials is a sample.
fn counts_subjects(found: &Value, denied: [u64; 2]) {
    let counted = [0, 1].map(|at| found["data"][at]["subjects_denied"].as_u64().expect("a count"));
    if found["subjects_complete"] == true {
        assert_eq!(counted, denied, "{found}");
    }
    let is_part = |(counted, denied)| (1..=denied).contains(&counted);
    assert!(counted.into_iter().zip(denied).all(is_part), "{found}");
}

#[tokio::test]
async fn each_class_finds_exactly_what_it_need_not_leave() {
    let tenant = Arc::new(Tenant::sign_up(shared().await).await);
    let algorithms = [
        json!({ "algorithm": "fixed_window", "limit": 100, "window_ms": LONG_MS }),
        json!({ "algorithm": "sliding_window_log", "limit": 100, "window_ms": LONG_MS }),
        json!({ "algorithm": "sliding_window_counter", "limit": 100, "window_ms": LONG_MS }),
        json!({ "algorithm": "token_bucket", "capacity": 100, "refill_tokens": 1, "refill_interval_ms": DAY_MS }),
        json!({ "algorithm": "leaky_bucket", "capacity": 100, "drain_units": 1, "drain_interval_ms": DAY_MS }),
        json!({ "algorithm": "quota", "limit": 100, "period": "none" }),
    ];
    for limit in algorithms {
        let name = limit["algorithm"].as_str().expect("a name").replace('_', "-");
        let rule = json!({
            "name": name, "namespace": name, "count_by": ["user"], "limits": [limit],
            "priority": { "attribute": "class", "keep": { "batch": 0.5, "normal": 0.105 } },
        });
        let rule = tenant.rule(&rule).await;
        let of = |class: Option<&str>| {
            let mut attributes = BTreeMap::from([("user", "ada")]);
            attributes.extend(class.map(|class| ("class", class)));
            json!({ "namespace": name, "attributes": attributes })
        };
        assert_eq!(admissions(&tenant, of(None)).await, 50, "{name}: without a class");
        assert_eq!(admissions(&tenant, of(Some("batch"))).await, 0, "{name}: batch");
        let denied = tenant.check(0, &of(Some("batch"))).await.expect(429);
        assert_eq!(denied.body["remaining"], 0, "{}", denied.body);
        // A share of 0.105 leaves 10.5 units of 100 free, rounded up to 11.
        assert_eq!(admissions(&tenant, of(Some("normal"))).await, 39, "{name}: normal");
        assert_eq!(admissions(&tenant, of(Some("vip"))).await, 11, "{name}: the others");
        let counted = [
            ("no_class", [50, 64, 0]),
            ("batch", [0, 65, 0]),
            ("normal", [39, 64, 0]),
            ("other_classes", [11, 64, 0]),
        ];
        segments(&tenant, &rule, &counted).await;
    }
}

#[tokio::test]
async fn a_share_of_subjects_is_denied_and_the_others_are_counted_alike() {
    let tenant = Arc::new(Tenant::sign_up(shared().await).await);
    let body = |percent: u64| json!({ "name": "rollout", "count_by": ["user"], "limits": window(3), "enforce_percent": percent });
    let rule = tenant.rule(&body(30)).await;
    let mut denied_before = Vec::new();
    for percent in [30, 60] {
        if percent == 60 {
            tenant.put_settled(&rule, &body(60)).await;
        }
        let mut denied = Vec::new();
        for user in 0..100 {
            let check = json!({ "attributes": { "user": format!("u{user}") } });
            let mut replies = Vec::new();
            for attempt in 0..if percent == 30 { 4 } else { 1 } {
                replies.push(tenant.check(attempt % 2, &check).await);
            }
            let last = replies.last().expect("at least one");
            let limit = &last.body["limits"][0];
            assert_eq!(limit["allowed"], false, "{}", last.body);
            assert_eq!(limit["mode"], if last.allowed() { "shadow" } else { "enforce" });
            if !last.allowed() {
                denied.push(user);
            }
        }
        let expected = (percent - 15)..=(percent + 15);
        assert!(expected.contains(&denied.len()), "{} of 100 at {percent} %", denied.len());
        assert!(denied_before.iter().all(|user| denied.contains(user)), "who was in stays in");
        if percent == 30 {
            let (inside, outside) = (denied.len() as u64, 100 - denied.len() as u64);
            let counted =
                [("enforced", [3 * inside, inside, 0]), ("shadow", [3 * outside, 0, outside])];
            let found = segments(&tenant, &rule, &counted).await;
            counts_subjects(&found, [inside, outside]);
        }
        denied_before = denied;
    }
    let refused = tenant
        .admin(
            Method::POST,
            "/rules",
            &json!({ "name": "x", "limits": window(1), "enforce_percent": 5 }),
        )
        .await;
    assert!(refused.expect(422).body.to_string().contains("enforce_percent"));
}

#[tokio::test]
async fn each_subject_has_the_limits_of_one_variant_and_keeps_its_counter_at_the_end() {
    let tenant = Arc::new(Tenant::sign_up(shared().await).await);
    let body = json!({
        "name": "trial", "count_by": ["user"],
        "variants": [
            { "name": "a", "percent": 50, "limits": window(10) },
            { "name": "b", "percent": 50, "limits": window(20) },
        ],
    });
    let rule = tenant.rule(&body).await;
    let mut counts = BTreeMap::new();
    for user in 0..20 {
        let check = json!({ "attributes": { "user": format!("u{user}") } });
        let admitted = admissions(&tenant, check.clone()).await;
        *counts.entry(admitted).or_insert(0_u64) += 1;
        let test = json!({ "namespace": "default", "attributes": { "user": format!("u{user}") } });
        let test = tenant.admin(Method::POST, "/test", &test).await.expect(200);
        assert_eq!(test.body["rules"][0]["variant"], if admitted == 10 { "a" } else { "b" });
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [10, 20], "{counts:?}");
    let of = |name, admitted: usize| {
        let subjects = counts[&admitted];
        (name, [subjects * admitted as u64, subjects * CALLERS as u64, 0])
    };
    let found = segments(&tenant, &rule, &[of("a", 10), of("b", 20)]).await;
    counts_subjects(&found, [counts[&10], counts[&20]]);
    let compared = &found["data"][1]["compared"];
    let [low, high] = ["low", "high"].map(|bound| compared[bound].as_f64().expect("a bound"));
    assert!(low < 1.0 && 1.0 < high, "all subjects were denied: {compared}");
    let adopted = json!({ "name": "trial", "count_by": ["user"], "limits": window(20) });
    tenant.put_settled(&rule, &adopted).await;
    let mut left = 0;
    for user in 0..20 {
        let check = json!({ "attributes": { "user": format!("u{user}") } });
        left += admissions(&tenant, check).await as u64;
    }
    assert_eq!(left, 10 * counts[&10], "those of a have ten more, those of b none");
}

#[tokio::test]
async fn a_report_denies_nothing_and_names_the_rule_to_the_caller() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant
        .rule(
            &json!({ "name": "soft", "count_by": ["user"], "mode": "report", "limits": window(2) }),
        )
        .await;
    tenant.rule(&json!({ "name": "quiet", "count_by": ["user"], "mode": "shadow", "limits": window(1) })).await;
    tenant.rule(&json!({ "name": "hard", "count_by": ["user"], "limits": window(3) })).await;
    let check = json!({ "attributes": { "user": "ada" } });
    let over = |reply: &Reply| reply.body["over"].clone();
    for _ in 0..2 {
        let below = tenant.check(0, &check).await.expect(200);
        assert_eq!((over(&below), below.header("x-ratelimit-over")), (Value::Null, None));
    }
    let beyond = tenant.check(1, &check).await.expect(200);
    assert_eq!((over(&beyond), beyond.header("x-ratelimit-over")), (json!(["soft"]), Some("soft")));
    let modes: Vec<_> = beyond.body["limits"]
        .as_array()
        .expect("limits")
        .iter()
        .map(|limit| limit["mode"].clone())
        .collect();
    assert_eq!(modes, ["enforce", "report", "shadow"]);
    let denied = tenant.check(0, &check).await.expect(429);
    assert_eq!((over(&denied), &denied.body["denied_by"]), (json!(["soft"]), &json!(["hard"])));
}

#[tokio::test]
async fn blocks_that_follow_one_another_grow_until_their_memory_has_passed() {
    let tenant = Tenant::sign_up(shared().await).await;
    let body = json!({
        "name": "login", "count_by": ["user"], "block_ms": [200, 60_000, 3_600_000], "block_memory_ms": 600_000,
        "limits": [{ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 100 }],
    });
    tenant.rule(&body).await;
    let check = json!({ "attributes": { "user": "ada" } });
    let denial = async || {
        let mut denied = None;
        until(seconds(10), "a denial", async || {
            let reply = tenant.check(0, &check).await;
            denied = (!reply.allowed()).then(|| reply.number("/retry_after_ms"));
            denied.is_some()
        })
        .await;
        denied.expect("a denial")
    };
    let first = denial().await;
    assert!((1..=200).contains(&first), "the first block: {first} ms");
    let began = Instant::now();
    until(seconds(10), "the second block", async || denial().await > 200).await;
    let second = denial().await;
    assert!((50_000..=60_000).contains(&second), "the second block: {second} ms");
    assert!(
        began.elapsed() >= Duration::from_millis(first.saturating_sub(20)),
        "it follows the first"
    );
    let wrong = json!({ "name": "x", "limits": window(1), "block_ms": [1, 2] });
    let refused = tenant.admin(Method::POST, "/rules", &wrong).await.expect(422);
    assert!(refused.body.to_string().contains("block_memory_ms"), "{}", refused.body);
}

#[tokio::test]
async fn a_rule_applies_only_at_the_times_of_its_schedule() {
    let tenant = Tenant::sign_up(shared().await).await;
    let body = |active: Value| json!({ "name": "sale", "count_by": ["user"], "limits": window(1), "active": active });
    let over = json!({ "until": "2026-01-01T00:00:00Z" });
    let rule = tenant.rule(&body(over)).await;
    let check = json!({ "attributes": { "user": "ada" } });
    for gate in [0, 1, 0] {
        let reply = tenant.check(gate, &check).await.expect(200);
        assert_eq!(reply.body["limits"], json!([]), "the rule does not apply");
    }
    let test =
        tenant.admin(Method::POST, "/test", &json!({ "attributes": { "user": "ada" } })).await;
    assert_eq!(test.expect(200).body["rules"][0]["is_inactive"], true);
    let week = ["Mon-Wed 00:00-24:00", "Thu-Sun 00:00-24:00"];
    let rule =
        tenant.put_settled(&rule, &body(json!({ "zone": "Asia/Tokyo", "weekly": week }))).await;
    assert!(tenant.check(0, &check).await.allowed());
    tenant.check(1, &check).await.expect(429);
    let later = json!({ "from": "2100-01-01T00:00:00Z" });
    tenant.put_settled(&rule, &body(later)).await;
    assert!(tenant.check(1, &check).await.allowed(), "a cached denial ends with the rule");
    for (active, field) in [
        (json!({ "weekly": [] }), "active"),
        (json!({ "zone": "Moon/Base", "weekly": ["Mon 08:00-09:00"] }), "active.zone"),
        (
            json!({ "zone": "UTC", "weekly": ["Mon 08:00-09:00", "Mon 08:30-10:00"] }),
            "active.weekly[1]",
        ),
    ] {
        let mut wrong = body(active);
        wrong["name"] = json!("other");
        let refused = tenant.admin(Method::POST, "/rules", &wrong).await.expect(422);
        assert_eq!(refused.body["fields"][0]["field"], field, "{}", refused.body);
    }
}
