//! The effect of changed rules on inspected counters.

use serde_json::{Value, json};
use weir_wire::rules::RuleBody;

use super::*;

const NOW_MS: u64 = 1_763_700_000_500;

fn rule(limits: &Value, block_ms: Option<u64>) -> Rule {
    let body =
        json!({ "name": "login", "count_by": ["user"], "limits": limits, "block_ms": block_ms });
    serde_json::from_value::<RuleBody>(body).expect("a body").parse().expect("a rule")
}

fn answer(limit: u64, remaining: u64, allowed: bool, wait_ms: u64) -> LimitAnswer {
    serde_json::from_value(json!({
        "rule": "login", "rule_id": "rule_1", "algorithm": "fixed_window", "mode": "enforce",
        "allowed": allowed, "limit": limit, "remaining": remaining, "window_ms": 60_000,
        "reset_after_ms": wait_ms, "retry_after_ms": wait_ms, "delay_ms": 0
    }))
    .expect("an answer")
}

fn window(limit: u64, window_ms: u64) -> Value {
    json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": window_ms })
}

fn after(before: &Rule, changed: &Rule, answers: &[LimitAnswer]) -> (bool, u64, u64) {
    let standing = Change::new(before, changed, NOW_MS).standing(answers).expect("it limits");
    (standing.passes, standing.left, standing.limit)
}

#[test]
fn usage_is_retained_when_the_limit_changes() {
    for algorithm in ["fixed_window", "sliding_window_log", "sliding_window_counter"] {
        let limit = |limit: u64| {
            rule(&json!([{ "algorithm": algorithm, "limit": limit, "window_ms": 60_000 }]), None)
        };
        let full = [answer(5, 0, false, 30_000)];
        assert_eq!(after(&limit(5), &limit(8), &full), (true, 3, 8), "{algorithm}");
        assert_eq!(after(&limit(5), &limit(3), &[answer(5, 2, true, 0)]), (false, 0, 3));
        assert_eq!(after(&limit(5), &limit(4), &[answer(5, 5, true, 0)]), (true, 4, 4));
    }
    let quota = |limit: u64| {
        rule(&json!([{ "algorithm": "quota", "limit": limit, "period": "month" }]), None)
    };
    assert_eq!(after(&quota(100), &quota(120), &[answer(100, 0, false, 9)]), (true, 20, 120));
}

#[test]
fn another_algorithm_resets_and_the_tightest_limit_decides() {
    let before = rule(&json!([window(5, 60_000)]), None);
    let bucket = json!([{ "algorithm": "token_bucket", "capacity": 7, "refill_tokens": 1, "refill_interval_ms": 1000 }]);
    let full = [answer(5, 0, false, 30_000)];
    assert_eq!(after(&before, &rule(&bucket, None), &full), (true, 7, 7));
    let both = rule(&json!([window(9, 60_000), window(2, 1000)]), None);
    assert_eq!(after(&before, &both, &full), (true, 2, 2));
}

#[test]
fn spacing_continues_from_the_last_admission() {
    let apart = |ms: u64| rule(&json!([{ "algorithm": "spacing", "interval_ms": ms }]), None);
    let waits = [answer(1, 0, false, 4_000)];
    assert!(after(&apart(10_000), &apart(5_000), &waits).0, "the last was 6 s ago");
    assert!(!after(&apart(10_000), &apart(7_000), &waits).0);
}

#[test]
fn a_block_holds_while_the_rule_has_a_block() {
    let of = |block_ms| rule(&json!([window(5, 60_000)]), block_ms);
    let blocked = [answer(5, 4, false, 20_000)];
    assert!(!after(&of(Some(60_000)), &of(Some(60_000)), &blocked).0);
    assert!(after(&of(Some(60_000)), &of(None), &blocked).0);
}

#[test]
fn another_window_is_an_estimate() {
    let of = |limit, window_ms| rule(&json!([window(limit, window_ms)]), None);
    let estimate = |before: &Rule, after: &Rule| Change::new(before, after, NOW_MS).is_estimate();
    assert!(!estimate(&of(5, 60_000), &of(9, 60_000)));
    assert!(estimate(&of(5, 60_000), &of(5, 1_000)));
}
