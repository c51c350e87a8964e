//! Differences between two versions of a rule.

use serde_json::{Value, json};

use super::*;

fn rule(value: Value) -> RuleBody {
    serde_json::from_value(value).expect("a rule")
}

fn described(a: Value, b: Value) -> Vec<String> {
    let shown = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    differences(&rule(a), &rule(b))
        .into_iter()
        .map(|difference| {
            format!(
                "{}: {} > {}",
                difference.label,
                shown(difference.before),
                shown(difference.after)
            )
        })
        .collect()
}

#[test]
fn only_differences_are_listed() {
    let a = json!({"name": "a", "count_by": ["user"], "mode": "shadow"});
    let b = json!({"name": "a", "description": "new", "block_ms": 60_000, "mode": "shadow"});
    assert_eq!(fields(&rule(a.clone()), &rule(b.clone())), ["description", "count by", "controls"]);
    assert_eq!(described(a.clone(), a.clone()), [""; 0]);
    assert_eq!(
        described(a, b),
        [
            "Description:  > new",
            "Count by: for each user > one shared counter",
            "Block after a denial: - > 1 min",
        ]
    );
}

#[test]
fn limits_are_paired_with_their_successors() {
    let spacing = |interval_ms: u64| json!({"algorithm": "spacing", "interval_ms": interval_ms});
    let window =
        |limit: u64| json!({"algorithm": "fixed_window", "limit": limit, "window_ms": 60_000});
    let with = |limits: Value| json!({"name": "a", "limits": limits});
    assert_eq!(
        described(
            with(json!([window(5), spacing(1_000)])),
            with(json!([spacing(2_000), window(5)]))
        ),
        ["Limit: at least 1 s apart > at least 2 s apart"]
    );
    assert_eq!(
        described(with(json!([window(5), spacing(1_000)])), with(json!([window(9)]))),
        [
            "Limit: 5 per minute (fixed window) > 9 per minute (fixed window)",
            "Limit: at least 1 s apart > -",
        ]
    );
    assert_eq!(
        described(with(json!([window(5)])), with(json!([spacing(7), window(5)]))),
        ["Limit: - > at least 7 ms apart"]
    );
    assert_eq!(
        described(with(json!([window(5)])), with(json!([spacing(7)]))),
        ["Limit: 5 per minute (fixed window) > at least 7 ms apart"]
    );
}

#[test]
fn conditions_list_all_their_values() {
    let with = |values: Value| {
        json!({"name": "a", "match": [
            {"attribute": "plan", "op": "exists"},
            {"attribute": "user", "op": "one_of", "value": values},
        ]})
    };
    assert_eq!(
        described(with(json!(["a", "b", "c", "d"])), with(json!(["a", "b", "c", "e"]))),
        ["Condition: user is one of a, b, c, d > user is one of a, b, c, e"]
    );
}
