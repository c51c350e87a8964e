use weir_domain::id::RuleId;
use weir_domain::overrides::Overrides;
use weir_domain::rulebook::ActiveRule;

use super::*;
use crate::rules::RuleBody;

/// A tenant with these rules, each with sixteen large patterns.
fn tenant(rules: std::ops::Range<u128>) -> StoredTenant {
    let rule = |nth: u128| {
        let condition = |at: u8| {
            serde_json::json!({
                "attribute": format!("a{at}"), "op": "regex",
                "value": format!("(.*a){{25}}(z{nth}x{at})?"),
            })
        };
        let body = serde_json::json!({
            "name": format!("r{nth}"),
            "match": (0..16).map(condition).collect::<Vec<_>>(),
            "limits": [{ "algorithm": "spacing", "interval_ms": 5 }],
        });
        let id = RuleId::from_u128(nth).to_string();
        Arc::new(StoredRule {
            id,
            slots: vec![0],
            body: body.to_string().into(),
            revision: Some(1),
            newer_unreadable: None,
        })
    };
    StoredTenant {
        id: TenantId::from_u128(1).to_string(),
        suspended: false,
        record_checks: true,
        enforced: true,
        checks_per_second: None,
        version: 1,
        keys: Vec::new(),
        rules: rules.map(rule).collect(),
        overrides: Vec::new(),
        profiles: Vec::new(),
        spread: BTreeMap::new(),
        customer_attribute: None,
        customer_view: None,
        plans: Vec::new(),
        assignments: Vec::new(),
    }
}

#[test]
fn patterns_beyond_the_budget_are_left_out_and_reported() {
    let (rules, left_out) = tenant(1..301).compile();
    let served = rules.rules("default").len();
    assert_eq!((served, left_out.len()), (2, 298));
    assert_eq!(
        left_out[0].reason,
        "match would give the namespace 1431 KiB of compiled regular expressions: at most 1024 KiB"
    );
}

#[test]
fn a_later_change_counts_the_patterns_that_are_served_already() {
    let (before, left_out) = tenant(1..3).compile();
    assert_eq!(left_out, []);
    let changed = (3..5).map(|nth| RuleId::from_u128(nth).to_string()).collect();
    let (after, left_out) = tenant(1..5).compile_again(&before, &changed, &RuleParts::default());
    assert_eq!((after.rules("default").len(), left_out.len()), (2, 2));
    // Once two are gone, there is room for those that were left out.
    let changed = [1, 2, 3, 4].map(|nth| RuleId::from_u128(nth).to_string()).into();
    let (after, left_out) = tenant(3..5).compile_again(&after, &changed, &RuleParts::default());
    assert_eq!((after.rules("default").len(), left_out), (2, Vec::new()));
}

#[test]
fn stored_form_of_a_compiled_rule_compiles_to_the_same_rule() {
    let bodies = [
        serde_json::json!({ "name": "plain", "count_by": ["user"],
            "limits": [{ "algorithm": "token_bucket", "capacity": 7, "refill_tokens": 20, "refill_interval_ms": 3_000 }] }),
        serde_json::json!({ "name": "full", "namespace": "api", "description": "a \"text\"\nof two lines",
            "match": [
                { "attribute": "ip", "op": "one_of", "value": ["b", "a", "b"] },
                { "attribute": "net", "op": "cidr", "value": "::ffff:10.0.0.1" },
                { "attribute": "path", "op": "regex", "value": "^/v[12]/" },
                { "attribute": "path", "op": "prefix", "value": "/v" },
                { "attribute": "host", "op": "not_equals", "value": "" },
                { "attribute": "user", "op": "exists" },
            ],
            "count_by": ["user", "route"], "mode": "shadow", "block_ms": 5_000, "on_store_failure": "local",
            "limits": [
                { "algorithm": "leaky_bucket", "capacity": 7, "drain_units": 6, "drain_interval_ms": 4_000 },
                { "algorithm": "sliding_window_log", "limit": 7, "window_ms": 4_000, "count_denied": true },
                { "algorithm": "quota", "limit": 9, "period": "month", "time_zone": "Europe/Paris", "anchor_day": 3 },
            ] }),
        serde_json::json!({ "name": "deny", "action": "deny",
            "match": [{ "attribute": "user", "op": "absent" }] }),
        serde_json::json!({ "name": "leased", "consistency": "leased", "mode": "off",
            "limits": [{ "algorithm": "fixed_window", "limit": 7, "window_ms": 4_000 }] }),
    ];
    for (at, body) in bodies.into_iter().enumerate() {
        let body: RuleBody = serde_json::from_value(body).expect("a body");
        let rule = body.clone().parse().expect("a rule");
        let slots: Vec<u16> = (5..).take(rule.limits().len()).collect();
        let id = RuleId::from_u128(at as u128);
        let active = ActiveRule::new(id, rule.with_slots(&slots), Overrides::default());
        let stored = StoredRule::of(&active);
        assert_eq!((&stored.id, &stored.slots), (&id.to_string(), &slots));
        assert_eq!(serde_json::from_str::<RuleBody>(&stored.body).expect("a body"), body);
        let again = stored.rule().expect("a rule");
        assert_eq!(format!("{again:?}"), format!("{:?}", active.rule));
    }
}
