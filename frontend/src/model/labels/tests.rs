//! Texts for rules.

use serde_json::json;

use super::*;

fn rule(value: serde_json::Value) -> RuleBody {
    serde_json::from_value(value).expect("a rule")
}

fn limit_of(value: serde_json::Value) -> String {
    limit(&serde_json::from_value(value).expect("a limit"))
}

#[test]
fn limits_are_short_on_chips() {
    let texts = [
        (
            json!({ "algorithm": "token_bucket", "capacity": 40, "refill_tokens": 10, "refill_interval_ms": 1000 }),
            "40 burst, 10/s",
        ),
        (
            json!({ "algorithm": "fixed_window", "limit": 20_000, "window_ms": 86_400_000 }),
            "20,000/d",
        ),
        (json!({ "algorithm": "sliding_window_log", "limit": 5, "window_ms": 90_000 }), "5/90 s"),
        (json!({ "algorithm": "spacing", "interval_ms": 1500 }), "1,500 ms apart"),
        (json!({ "algorithm": "quota", "limit": 100, "period": "month" }), "100/month"),
        (json!({ "algorithm": "quota", "limit": 100, "period": "none" }), "100 in all"),
    ];
    for (limit, expected) in texts {
        let limit = serde_json::from_value(limit).expect("a limit");
        assert_eq!(limit_in_short(&limit), expected);
    }
}

#[test]
fn rule_of_each_region_admits_its_limit_in_each() {
    let minute = json!({ "algorithm": "fixed_window", "limit": 100, "window_ms": 60_000 });
    let mut body = rule(json!({ "name": "api", "limits": [minute] }));
    let text = " 3 regions × 100/min = up to 300/min worldwide.";
    assert_eq!(worldwide(&body, 3).as_deref(), Some(text));
    assert_eq!([0, 1].map(|regions| worldwide(&body, regions)), [None, None]);
    body.reach = Reach::World;
    assert_eq!(worldwide(&body, 3), None);
}

#[test]
fn rule_reads_as_a_sentence() {
    let login = rule(json!({
        "name": "login", "match": [{"attribute": "route", "op": "equals", "value": "/login"}],
        "count_by": ["user"], "block_ms": 300_000,
        "limits": [
            {"algorithm": "sliding_window_log", "limit": 5, "window_ms": 60_000},
            {"algorithm": "spacing", "interval_ms": 1_000}
        ]
    }));
    assert_eq!(
        sentence(&login),
        "Requests where route is /login, for each user: 5 per minute, and at least 1 s apart. \
         Block after a denial: 5 min."
    );
    assert_eq!(matches_in_short(&login.conditions), "route is /login");
    assert_eq!(matches_in_short(&[]), "All requests");
    let closed = rule(json!({"name": "x", "action": "deny", "mode": "shadow"}));
    assert_eq!(
        sentence(&closed),
        "All requests are always denied. Shadow: denials are reported but not enforced."
    );
}

#[test]
fn sentence_of_an_approximate_rule_states_its_bound() {
    let approximate = rule(json!({
        "name": "api", "count_by": ["user"], "consistency": "approximate",
        "limits": [
            {"algorithm": "token_bucket", "capacity": 5_000, "refill_tokens": 100, "refill_interval_ms": 1_000}
        ]
    }));
    assert_eq!(
        sentence(&approximate),
        "All requests, for each user: bursts of 5,000, then 100 per second. Approximate consistency: each gate holds up to 50 units, \
         and all gates together can exceed the limit by what they hold."
    );
}

#[test]
fn each_algorithm_has_its_text() {
    for (value, words) in [
        (
            json!({"algorithm": "fixed_window", "limit": 10_000, "window_ms": 60_000}),
            "10,000 per minute (fixed window)",
        ),
        (
            json!({"algorithm": "fixed_window", "limit": 1, "window_ms": 90_000}),
            "1 per 90 seconds (fixed window)",
        ),
        (
            json!({"algorithm": "sliding_window_log", "limit": 5, "window_ms": 1_000, "count_denied": true}),
            "5 per second, including denied requests",
        ),
        (
            json!({"algorithm": "sliding_window_counter", "limit": 5, "window_ms": 3_600_000}),
            "5 per hour (approximate)",
        ),
        (
            json!({"algorithm": "token_bucket", "capacity": 20, "refill_tokens": 10, "refill_interval_ms": 1_000}),
            "bursts of 20, then 10 per second",
        ),
        (
            json!({"algorithm": "leaky_bucket", "capacity": 20, "drain_units": 1, "drain_interval_ms": 500}),
            "a queue of 20, drained at 1 per 500 milliseconds",
        ),
        (json!({"algorithm": "spacing", "interval_ms": 250}), "at least 250 ms apart"),
        (
            json!({"algorithm": "quota", "limit": 9, "period": "month"}),
            "9 per calendar month (UTC)",
        ),
        (
            json!({"algorithm": "quota", "limit": 9, "period": "week", "anchor_day": 3, "time_zone": "Europe/Berlin"}),
            "9 per calendar week from Wednesday (Europe/Berlin)",
        ),
    ] {
        assert_eq!(limit_of(value), words);
    }
}

#[test]
fn long_lists_are_shortened() {
    let many = rule(json!({
        "name": "x", "match": [{"attribute": "plan", "op": "one_of", "value": ["a", "b", "c", "d", "e"]},
                               {"attribute": "ip", "op": "absent"}]
    }));
    assert_eq!(
        matches(&many.conditions),
        "requests where plan is one of a, b, c and 2 more and ip does not exist"
    );
}
