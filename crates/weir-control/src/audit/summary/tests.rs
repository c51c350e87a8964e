use serde_json::json;

use super::*;

fn differs(action: &str, before: &Value, after: &Value) -> String {
    summary(action, Some(before), Some(after)).unwrap_or_default()
}

fn rule(more: Value) -> Value {
    let mut rule = json!({
        "name": "login", "count_by": ["user"],
        "limits": [{
            "algorithm": "token_bucket", "capacity": 40, "refill_tokens": 10, "refill_interval_ms": 1000,
        }],
    });
    let Value::Object(more) = more else { panic!("fields") };
    rule.as_object_mut().expect("an object").extend(more);
    rule
}

#[test]
fn the_changed_parts_of_a_rule_are_named_and_no_others() {
    let bucket = |capacity: u64, tokens: u64| {
        json!({
            "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": tokens, "refill_interval_ms": 1000,
        })
    };
    let day = json!({ "algorithm": "fixed_window", "limit": 20_000, "window_ms": 86_400_000 });
    let hour = json!({ "algorithm": "fixed_window", "limit": 20_000, "window_ms": 3_600_000 });
    let month = |time_zone: &str| json!({ "algorithm": "quota", "limit": 9, "period": "month", "time_zone": time_zone });
    let half = json!({ "algorithm": "fixed_window", "limit": 10_000, "window_ms": 86_400_000 });
    let of = |limits: Value| rule(json!({ "limits": limits }));
    for (before, after, expected) in [
        (of(json!([bucket(40, 10)])), of(json!([bucket(15, 10)])), "burst 40 → 15"),
        (
            of(json!([bucket(40, 10), day])),
            of(json!([bucket(40, 10), half])),
            "limit 20,000 → 10,000 per day",
        ),
        (of(json!([bucket(40, 10)])), of(json!([bucket(40, 5)])), "refill 10 → 5 per second"),
        (
            of(json!([bucket(40, 10)])),
            of(json!([bucket(15, 5)])),
            "burst 40 → 15, refill 10 → 5 per second",
        ),
        (of(json!([day])), of(json!([hour])), "limit 20,000 per day → 20,000 per hour"),
        (
            of(json!([month("UTC")])),
            of(json!([month("Europe/Berlin")])),
            "time zone UTC → Europe/Berlin",
        ),
        (
            of(json!([bucket(40, 10), day])),
            of(json!([day])),
            "removed bursts of 40, then 10 per second",
        ),
        (of(json!([day])), of(json!([day, bucket(4, 1)])), "added bursts of 4, then 1 per second"),
        (rule(json!({ "mode": "shadow" })), rule(json!({})), "mode Shadow → Enforced"),
        (rule(json!({})), rule(json!({ "block_ms": 60_000 })), "block after a denial none → 1 min"),
        (rule(json!({})), rule(json!({ "description": "a long text" })), "description"),
        (rule(json!({})), rule(json!({})), ""),
    ] {
        assert_eq!(differs("rule.update", &before, &after), expected);
    }
    let path = |value: &str| json!({ "match": [{ "attribute": "path", "op": "prefix", "value": value }], "mode": "off" });
    assert_eq!(
        differs("rule.revert", &rule(path("/a")), &rule(path("/b"))),
        "match path starts with /a → /b"
    );
    let variants = |limit: u64, percent: u64| {
        let each = |name: &str, limit: u64, percent: u64| {
            json!({
                "name": name, "percent": percent,
                "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 }],
            })
        };
        let both = [each("a", 10, 100 - percent), each("b", limit, percent)];
        rule(json!({ "limits": [], "variants": both }))
    };
    assert_eq!(
        differs("rule.update", &variants(20, 50), &variants(30, 50)),
        "variant b: limit 20 → 30 per minute"
    );
    assert_eq!(
        differs("rule.update", &variants(20, 50), &variants(20, 60)),
        "variant a: share 50 % → 40 %; variant b: share 50 % → 60 %"
    );
    let plans = |plans: &[&str]| {
        rule(json!({ "match": [{ "attribute": "plan", "op": "one_of", "value": plans }] }))
    };
    assert_eq!(
        differs("rule.update", &plans(&["a", "b", "c"]), &plans(&["b", "c", "d", "e"])),
        "match plan is one of: added d, e, removed a"
    );
}

#[test]
fn many_differences_are_counted() {
    let many = json!({
        "limits": [], "mode": "off", "action": "deny", "count_by": [], "name": "other",
    });
    assert_eq!(
        differs("rule.update", &rule(json!({})), &rule(many)),
        "removed bursts of 40, then 10 per second; mode Enforced → Off; action limit → deny; and 2 more"
    );
}

#[test]
fn overrides_are_described_by_their_effect_and_end() {
    let body = |more: Value| {
        let mut body = json!({ "rule_id": "rule_1", "subject": { "user": "u-1" } });
        let Value::Object(more) = more else { panic!("fields") };
        body.as_object_mut().expect("an object").extend(more);
        body
    };
    let allow = body(json!({ "action": "allow", "expires_at": "2026-12-01T09:30:00Z" }));
    let text = summary("override.create", None, Some(&allow));
    assert_eq!(text.as_deref(), Some("always allowed until 2026-12-01 09:30 UTC"));
    let deny = body(json!({ "action": "deny" }));
    assert_eq!(summary("override.delete", Some(&deny), None).as_deref(), Some("always denied"));
    assert_eq!(
        differs("override.update", &allow, &deny),
        "effect always allowed → always denied; expires 2026-12-01 09:30 UTC → never"
    );
    let import = json!({ "created": 5_000, "updated": 1, "replaced_sets": [] });
    assert_eq!(
        differs("override.bulk", &json!({ "replaced": [deny] }), &import),
        "5,000 created overrides; 1 replaced override"
    );
}

#[test]
fn other_objects_differ_in_fields() {
    let (before, after) = (json!({ "name": "A" }), json!({ "name": "B", "record": true }));
    assert_eq!(differs("tenant.update", &before, &after), "name A → B; record none → yes");
    assert_eq!(summary("key.create", None, Some(&json!({ "name": "B" }))), None);
    let many =
        |value: u32| json!({ "a": value, "b": value, "c": value, "d": value, "revision": value });
    assert_eq!(
        differs("alert.update", &many(1), &many(2)),
        "a 1 → 2; b 1 → 2; c 1 → 2; and 1 more"
    );
    let stored = json!({ "name": "login", "of_a_later_release": 1 });
    let later = json!({ "name": "login", "of_a_later_release": 2 });
    assert_eq!(differs("rule.update", &stored, &later), "of_a_later_release 1 → 2");
}
