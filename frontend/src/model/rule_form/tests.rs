//! The conversion between input and rules.

use serde_json::json;
use weir_wire::limits::AlgorithmName;

use super::*;

#[test]
fn every_rule_survives_the_form() {
    let rule: RuleBody = serde_json::from_value(json!({
        "namespace": "api", "name": "everything", "description": "two\nlines",
        "match": [
            {"attribute": "route", "op": "equals", "value": ""},
            {"attribute": "plan", "op": "one_of", "value": ["free", "trial"]},
            {"attribute": "ip", "op": "cidr", "value": "10.0.0.0/8"},
            {"attribute": "user", "op": "exists"}
        ],
        "count_by": [
            "user", {"attribute": "ip", "as": "address", "ipv6_prefix": 56}, {"attribute": "email", "as": "email"},
            {"attribute": "name", "as": "lower"}
        ], "mode": "shadow", "block_ms": 90_000, "on_store_failure": "local",
        "limits": [
            {"algorithm": "fixed_window", "limit": 10, "window_ms": 1_500},
            {"algorithm": "sliding_window_log", "limit": 5, "window_ms": 60_000, "count_denied": true},
            {"algorithm": "sliding_window_counter", "limit": 5, "window_ms": 60_000},
            {"algorithm": "token_bucket", "capacity": 20, "refill_tokens": 10, "refill_interval_ms": 1_000},
            {"algorithm": "leaky_bucket", "capacity": 20, "drain_units": 3, "drain_interval_ms": 500},
            {"algorithm": "spacing", "interval_ms": 250},
            {"algorithm": "quota", "limit": 9, "period": "week", "anchor_day": 3, "time_zone": "Europe/Berlin"}
        ]
    }))
    .expect("a rule");
    let (read, wrong) = RuleForm::of(&rule).read();
    assert_eq!(read, rule);
    assert_eq!(wrong, []);
}

#[test]
fn every_control_survives_the_form() {
    let window =
        |limit: u64| json!({"algorithm": "fixed_window", "limit": limit, "window_ms": 1_000});
    for controls in [
        json!({"limits": [window(10)], "enforce_percent": 10, "block_ms": [90_000, 3_600_000], "block_memory_ms": 86_400_000}),
        json!({"limits": [window(10)], "priority": {"attribute": "class", "keep": {"batch": 0.5, "two words": 0.125}}}),
        json!({"limits": [window(10)], "active": {"zone": "Europe/Berlin", "weekly": ["Mon-Fri 08:00-18:00", "Sat 08:00-12:00"],
            "from": "2027-01-01T00:00:00Z", "until": "2028-01-01T00:00:00Z"}}),
        json!({"variants": [
            {"name": "a", "percent": 40, "limits": [window(10)]}, {"name": "b", "percent": 60, "limits": [window(20)]}
        ]}),
    ] {
        let mut rule = json!({"name": "controlled", "count_by": ["user"]});
        for (field, value) in controls.as_object().expect("fields") {
            rule[field] = value.clone();
        }
        let rule: RuleBody = serde_json::from_value(rule).expect("a rule");
        assert_eq!(RuleForm::of(&rule).read(), (rule, vec![]));
    }
}

#[test]
fn an_experiment_begins_with_copies_and_ends_with_the_limits_that_are_left() {
    let mut form = RuleForm::new();
    form.name = "compared".to_owned();
    form.count_by = "user".to_owned();
    form.add_variant();
    let rows: Vec<_> = form.variants.iter().map(|variant| variant.row).collect();
    let of_second = form.limits_of(rows[1]).next().expect("a copy").row;
    let limit = form.limits.iter_mut().find(|limit| limit.row == of_second).expect("it is there");
    limit.units = "many".to_owned();
    let (_, wrong) = form.read();
    assert_eq!(wrong[0].field, "variants[1].limits[0].limit");
    assert_eq!(form.limit_at(of_second).expect("known").0, "variants[1].limits[0]");
    form.limits.iter_mut().find(|limit| limit.row == of_second).expect("there").units =
        "7".to_owned();
    let (rule, wrong) = form.read();
    assert_eq!((wrong, rule.limits.len()), (vec![], 0));
    let shares: Vec<_> =
        rule.variants.iter().map(|variant| (variant.name.as_str(), variant.percent)).collect();
    assert_eq!(shares, [("a", 50), ("b", 50)]);
    form.add_variant();
    assert_eq!(form.variants[0].percent, "34");
    form.remove_variant(rows[0]);
    form.remove_variant(form.variants[1].row);
    let (rule, wrong) = form.read();
    assert_eq!((wrong, rule.variants.len(), rule.limits.len()), (vec![], 0, 1));
    assert_eq!(serde_json::to_value(&rule.limits[0]).expect("a limit")["limit"], 7);
}

#[test]
fn controls_that_cannot_be_read_are_reported_at_their_fields() {
    let mut form = RuleForm::new();
    form.name = "controlled".to_owned();
    form.blocks = true;
    form.controls = ControlsForm {
        more_blocks: "soon".to_owned(),
        block_memory: "7".to_owned(),
        classes: "batch".to_owned(),
        enforce_percent: "half".to_owned(),
        from: "tomorrow".to_owned(),
        ..ControlsForm::default()
    };
    let (_, wrong) = form.read();
    let fields: Vec<&str> = wrong.iter().map(|problem| problem.field.as_str()).collect();
    let expected =
        ["more_blocks", "block_memory_ms", "priority.keep", "enforce_percent", "active.from"];
    assert_eq!(fields[..5], expected);
}

#[test]
fn parse_errors_and_invalid_values_are_reported_together() {
    let mut form = RuleForm::new();
    form.name = "Not A Name".to_owned();
    form.limits[0].units = "many".to_owned();
    form.limits[0].window.number = "0".to_owned();
    form.add_condition();
    let (_, wrong) = form.read();
    let fields: Vec<&str> = wrong.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["limits[0].limit", "name", "match[0].attribute", "limits[0].window_ms"]);
    assert_eq!(wrong[0].reason, NOT_WHOLE);
}

#[test]
fn limits_and_block_are_omitted_for_allow_and_deny() {
    let mut form = RuleForm::new();
    form.name = "closed".to_owned();
    form.blocks = true;
    form.block.number = "soon".to_owned();
    form.action = Action::Deny;
    let (rule, wrong) = form.read();
    assert_eq!((rule.limits.len(), rule.block_ms, wrong.len()), (0, None, 0));
    form.action = Action::Limit;
    assert_eq!(form.read().1, [FieldProblem::new("block_ms", NOT_WHOLE)]);
}

#[test]
fn only_valid_rules_have_warnings() {
    let mut form = RuleForm::new();
    form.name = "twice".to_owned();
    form.add_limit(0);
    for limit in &mut form.limits {
        limit.algorithm = AlgorithmName::SlidingWindowLog;
    }
    assert_eq!(form.warnings().len(), 1);
    form.name.clear();
    assert_eq!(form.warnings().len(), 0);
}

#[test]
fn edit_that_forgets_used_units_has_a_warning() {
    let mut form = RuleForm::new();
    form.name = "longer".to_owned();
    let (before, _) = form.read();
    assert_eq!(form.edit_warnings(&before), Vec::<String>::new());
    for limit in &mut form.limits {
        limit.algorithm = AlgorithmName::Spacing;
    }
    let warnings = form.edit_warnings(&before);
    assert!(warnings.len() == 1 && warnings[0].contains("restarts all counters"), "{warnings:?}");
}

#[test]
fn names_can_be_separated_by_commas_or_spaces() {
    assert_eq!(listed(" user, ip  tenant,"), ["user", "ip", "tenant"]);
}

#[test]
fn form_is_proposed_for_attributes_that_hold_addresses() {
    let mut form = RuleForm::new();
    "user, ip".clone_into(&mut form.count_by);
    let proposed = form.count_by_address(|name| name == "ip").expect("a proposal");
    assert_eq!(proposed, "user, ip as address");
    form.count_by = proposed;
    assert_eq!(form.count_by_address(|name| name == "ip"), None);
    let (rule, _) = form.read();
    assert_eq!(
        crate::model::labels::counted_by(&rule.count_by),
        "for each user and ip (IPv6 by /64)"
    );
    "ip as nothing".clone_into(&mut form.count_by);
    assert_eq!(
        form.read().0.count_by,
        ["ip", "as"],
        "a form that does not exist is no attribute either"
    );
}
