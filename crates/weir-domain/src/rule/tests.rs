//! Valid and invalid rules, and the counters of a rule after an edit.

use super::*;
use crate::algorithm::Period;
use crate::draft::{ConditionDraft, Operand};
use crate::limit::LIMITS_PER_RULE_MAX;
use crate::time::Timestamp;
use crate::warnings;

pub(super) fn fixed(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::FixedWindow { limit, window_ms }
}

pub(super) fn log(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::SlidingWindowLog { limit, window_ms, count_denied: false }
}

fn quota(limit: u64, period: Period) -> LimitDraft {
    LimitDraft::Quota { limit, period, time_zone: "UTC".to_owned(), anchor_day: 1, ends_at: None }
}

pub(super) fn spacing(interval_ms: u64) -> LimitDraft {
    LimitDraft::Spacing { interval_ms }
}

fn condition(attribute: &str, op: Op, value: Option<&str>) -> ConditionDraft {
    let value = value.map(|text| Operand::One(text.into()));
    ConditionDraft { attribute: attribute.into(), op, value }
}

pub(super) fn draft(limits: Vec<LimitDraft>) -> RuleDraft {
    RuleDraft {
        namespace: "api".into(),
        name: "login".into(),
        description: "People.\nNot machines.".into(),
        conditions: vec![condition("route", Op::Equals, Some("/login"))],
        count_by: vec!["user".into()],
        limits,
        ..RuleDraft::default()
    }
}

fn rule(limits: Vec<LimitDraft>) -> Rule {
    Rule::parse(draft(limits)).expect("a valid rule")
}

pub(super) fn wrong_fields(draft: RuleDraft) -> Vec<String> {
    let wrong = Rule::parse(draft).expect_err("refused");
    assert!(wrong.iter().all(|invalid| !invalid.reason.is_empty()), "{wrong:?}");
    wrong.into_iter().map(|invalid| invalid.field).collect()
}

fn with_conditions(conditions: Vec<ConditionDraft>) -> RuleDraft {
    RuleDraft { conditions, ..draft(vec![fixed(1, 1)]) }
}

#[test]
fn everything_wrong_is_reported_at_once_with_its_path() {
    let fields = wrong_fields(RuleDraft {
        namespace: "API".into(),
        name: String::new(),
        description: "x".repeat(1001),
        conditions: vec![
            condition("route", Op::Exists, None),
            condition("Route", Op::Exists, None),
            condition("ip", Op::Cidr, Some("ten")),
        ],
        count_by: vec!["user".into(), "".into(), "user".into()],
        limits: vec![fixed(0, 1), log(1, 0), fixed(1, 1), spacing(0)],
        block_ms: vec![0],
        ..draft(Vec::new())
    });
    assert_eq!(
        fields,
        [
            "namespace",
            "name",
            "description",
            "block_ms",
            "count_by[1]",
            "count_by[2]",
            "match[1].attribute",
            "match[2].value",
            "limits[0].limit",
            "limits[1].window_ms",
            "limits[3].interval_ms",
        ]
    );
}

#[test]
fn counts_have_bounds() {
    let attributes = |count: usize| (0..count).map(|n| format!("a{n}")).collect::<Vec<_>>();
    let exists = |name: &String| condition(name, Op::Exists, None);
    let full = RuleDraft {
        conditions: attributes(CONDITIONS_MAX).iter().map(exists).collect(),
        count_by: attributes(COUNT_BY_MAX).into_iter().map(Into::into).collect(),
        ..draft(vec![fixed(1, 1); LIMITS_PER_RULE_MAX])
    };
    assert!(Rule::parse(full).is_ok());
    let over = RuleDraft {
        conditions: attributes(CONDITIONS_MAX + 1).iter().map(exists).collect(),
        count_by: attributes(COUNT_BY_MAX + 1).into_iter().map(Into::into).collect(),
        ..draft(vec![fixed(1, 1); LIMITS_PER_RULE_MAX + 1])
    };
    assert_eq!(wrong_fields(over), ["match", "limits", "count_by"]);
}

#[test]
fn numbers_have_bounds() {
    const UNITS: u64 = 1_000_000_000_000;
    const SPAN_MS: u64 = 366 * 86_400_000;
    let quota = |anchor_day, period| LimitDraft::Quota {
        limit: 1,
        period,
        time_zone: "UTC".into(),
        anchor_day,
        ends_at: None,
    };
    let ending = |period, ends_at_ms| LimitDraft::Quota {
        limit: 1,
        period,
        time_zone: "UTC".into(),
        anchor_day: 1,
        ends_at: Some(Timestamp::from_millis(ends_at_ms)),
    };
    let good = [
        fixed(1, 1),
        fixed(UNITS, SPAN_MS),
        log(10_000, SPAN_MS),
        spacing(SPAN_MS),
        quota(7, Period::Week),
        quota(31, Period::Month),
        quota(366, Period::Year),
        quota(1, Period::None),
        ending(Period::None, 1),
    ];
    for limit in good {
        assert!(Rule::parse(draft(vec![limit.clone()])).is_ok(), "{limit:?}");
    }
    let bad = [
        (fixed(UNITS + 1, 1), "limit"),
        (fixed(1, SPAN_MS + 1), "window_ms"),
        (log(0, 1), "limit"),
        (log(10_001, 1), "limit"),
        (spacing(SPAN_MS + 1), "interval_ms"),
        (quota(0, Period::Month), "anchor_day"),
        (quota(2, Period::Day), "anchor_day"),
        (quota(8, Period::Week), "anchor_day"),
        (quota(32, Period::Month), "anchor_day"),
        (quota(367, Period::Year), "anchor_day"),
        (quota(2, Period::None), "anchor_day"),
        (ending(Period::Month, 1), "ends_at"),
        (ending(Period::None, 0), "ends_at"),
        (ending(Period::None, i64::MAX), "ends_at"),
    ];
    for (limit, field) in bad {
        assert_eq!(wrong_fields(draft(vec![limit])), [format!("limits[0].{field}")]);
    }
    let block = |block_ms| RuleDraft { block_ms: vec![block_ms], ..draft(vec![fixed(1, 1)]) };
    assert!(Rule::parse(block(SPAN_MS)).is_ok());
    assert_eq!(wrong_fields(block(SPAN_MS + 1)), ["block_ms"]);
}

#[test]
fn debt_needs_limits_that_redis_decides() {
    let debt = |action, consistency| {
        let limits = if action == Action::Limit { vec![fixed(1, 1)] } else { Vec::new() };
        RuleDraft { action, consistency, over: Over::Debt, ..draft(limits) }
    };
    let rule = Rule::parse(debt(Action::Limit, Consistency::Exact)).expect("a valid rule");
    assert_eq!((rule.over(), rule.draft().over), (Over::Debt, Over::Debt));
    for (action, consistency, reason) in [
        (Action::Allow, Consistency::Exact, "must be `deny` unless the action is `limit`"),
        (Action::Deny, Consistency::Exact, "must be `deny` unless the action is `limit`"),
        (Action::Limit, Consistency::Leased, "must be `deny` with the consistency `leased`"),
    ] {
        let wrong = Rule::parse(debt(action, consistency)).expect_err("refused");
        assert_eq!(wrong, [InvalidField::new("over", reason)]);
    }
}

#[test]
fn action_says_whether_there_are_limits() {
    assert_eq!(wrong_fields(draft(Vec::new())), ["limits"]);
    for action in [Action::Allow, Action::Deny] {
        assert!(Rule::parse(RuleDraft { action, ..draft(Vec::new()) }).is_ok());
        let both = RuleDraft { action, block_ms: vec![1], ..draft(vec![fixed(1, 1)]) };
        assert_eq!(wrong_fields(both), ["limits", "block_ms"]);
    }
}

#[test]
fn conditions_that_no_request_meets_together_are_refused() {
    let equals = |value| condition("a", Op::Equals, Some(value));
    let clashing = [
        [equals("x"), equals("y")],
        [equals("x"), condition("a", Op::NotEquals, Some("x"))],
        [condition("a", Op::Prefix, Some("y")), equals("x")],
        [equals("x"), condition("a", Op::Absent, None)],
        [condition("a", Op::Exists, None), condition("a", Op::Absent, None)],
        [condition("a", Op::Absent, None), condition("a", Op::Regex, Some("x"))],
    ];
    for conditions in clashing {
        assert_eq!(wrong_fields(with_conditions(conditions.to_vec())), ["match[1]"]);
    }
    let agreeing = [
        [equals("x"), equals("x")],
        [equals("x"), condition("a", Op::NotEquals, Some("y"))],
        [equals("xy"), condition("a", Op::Prefix, Some("x"))],
        [equals("x"), condition("b", Op::Absent, None)],
        [equals("x"), condition("a", Op::Exists, None)],
    ];
    for conditions in agreeing {
        assert!(Rule::parse(with_conditions(conditions.to_vec())).is_ok(), "{conditions:?}");
    }
    let counts_what_is_not_there = with_conditions(vec![condition("user", Op::Absent, None)]);
    assert_eq!(wrong_fields(counts_what_is_not_there), ["match[0]"]);
}

#[test]
fn only_units_that_can_be_taken_in_advance_are_leased() {
    let leased =
        |limit| RuleDraft { consistency: Consistency::Leased, ..draft(vec![fixed(1, 1), limit]) };
    assert!(Rule::parse(leased(log(1, 1))).is_ok());
    let denials = LimitDraft::SlidingWindowLog { limit: 1, window_ms: 1, count_denied: true };
    let leaky = LimitDraft::LeakyBucket { capacity: 1, drain_units: 1, drain_interval_ms: 1 };
    for limit in [denials, leaky, spacing(1)] {
        assert_eq!(wrong_fields(leased(limit)), ["consistency"]);
    }
}

#[test]
fn only_one_token_bucket_or_sliding_window_counter_is_approximate() {
    let approximate = |limits| RuleDraft { consistency: Consistency::Approximate, ..draft(limits) };
    let bucket = LimitDraft::TokenBucket { capacity: 500, refill_tokens: 1, refill_interval_ms: 1 };
    let counter = LimitDraft::SlidingWindowCounter { limit: 500, window_ms: 60_000 };
    for limit in [&bucket, &counter] {
        assert!(Rule::parse(approximate(vec![limit.clone()])).is_ok());
    }
    let debt = RuleDraft { over: Over::Debt, ..approximate(vec![bucket.clone()]) };
    assert_eq!(wrong_fields(debt), ["over"]);
    let blocks = RuleDraft { block_ms: vec![1_000], ..approximate(vec![bucket.clone()]) };
    let allows = RuleDraft { action: Action::Allow, ..approximate(Vec::new()) };
    let leaky = LimitDraft::LeakyBucket { capacity: 1, drain_units: 1, drain_interval_ms: 1 };
    let places = LimitDraft::Concurrency { capacity: 500, lease_ms: 1_000 };
    for (wrong, reason) in [
        (
            approximate(vec![fixed(500, 60_000)]),
            "or `leased` with a limit of the algorithm `fixed_window`",
        ),
        (
            approximate(vec![log(500, 60_000)]),
            "algorithm `sliding_window_log`: `approximate` is for",
        ),
        (approximate(vec![leaky]), "algorithm `leaky_bucket`: `approximate` is for"),
        (approximate(vec![spacing(1)]), "algorithm `spacing`: `approximate` is for"),
        (approximate(vec![places]), "algorithm `concurrency`: `approximate` is for"),
        (approximate(vec![bucket, counter]), "with several limits: `approximate` permits one"),
        (blocks, "must be `exact` with `block_ms`"),
        (allows, "must be `exact` unless the action is `limit`"),
    ] {
        let refused = Rule::parse(wrong).expect_err("refused");
        let [InvalidField { field, reason: said }] = refused.as_slice() else {
            panic!("{refused:?}")
        };
        assert_eq!(field, "consistency");
        assert!(said.contains(reason), "{said}");
    }
}

/// The slots after successive edits, each an edit of the previous one.
fn slots_after(edits: &[Vec<LimitDraft>]) -> Vec<Vec<u16>> {
    let mut before = rule(edits[0].clone());
    let mut slots = before.first_slots();
    let mut all = vec![slots.taken.clone()];
    for edit in &edits[1..] {
        let after = rule(edit.clone());
        slots = after.slots_after(&before, &slots).expect("slots are left");
        before = after.with_slots(&slots.taken);
        assert_eq!(before.limits().iter().map(|limit| limit.slot).collect::<Vec<_>>(), slots.taken);
        all.push(slots.taken.clone());
    }
    all
}

#[test]
fn rule_never_takes_a_slot_of_an_override() {
    let (before, after) = (rule(vec![fixed(5, 1_000)]), rule(vec![log(9, 60_000)]));
    let last = Slots { taken: vec![7], next: SLOTS_MAX - 1 };
    let slots = after.slots_after(&before, &last).expect("one is left");
    assert_eq!(slots, Slots { taken: vec![SLOTS_MAX - 1], next: SLOTS_MAX });
    let refused = before.slots_after(&after, &slots).expect_err("none is left");
    assert!(refused.reason.contains("32768"), "{refused:?}");
}

#[test]
fn edited_limit_keeps_its_slot() {
    let edits = [
        vec![fixed(5, 1_000), log(9, 60_000)],
        vec![fixed(50, 1_000), log(9, 60_000)],
        vec![fixed(50, 3_000), log(9, 70_000)],
        vec![log(9, 70_000), fixed(50, 3_000)],
    ];
    assert_eq!(slots_after(&edits), [[0, 1], [0, 1], [0, 1], [1, 0]]);
}

#[test]
fn limit_of_the_same_window_is_distinguished_from_another_of_the_same_algorithm() {
    let edits = [
        vec![fixed(5, 1_000), fixed(100, 60_000)],
        vec![fixed(100, 60_000), fixed(5, 1_000)],
        vec![fixed(5, 2_000), fixed(100, 60_000)],
        vec![fixed(7, 60_000)],
    ];
    let slots = slots_after(&edits);
    assert_eq!(slots, [vec![0, 1], vec![1, 0], vec![0, 1], vec![1]]);
    let edits = [
        vec![quota(5, Period::Day), quota(100, Period::Month)],
        vec![quota(100, Period::Month), quota(5, Period::Day)],
        vec![quota(200, Period::Month)],
        vec![quota(9, Period::Week), quota(200, Period::Month)],
    ];
    assert_eq!(slots_after(&edits), [vec![0, 1], vec![1, 0], vec![1], vec![2, 1]]);
}

#[test]
fn slot_of_a_removed_limit_is_never_handed_to_another() {
    let edits = [
        vec![fixed(5, 1_000), log(9, 60_000)],
        vec![fixed(5, 1_000)],
        vec![fixed(5, 1_000), log(9, 60_000)],
        vec![spacing(100), fixed(5, 1_000)],
        vec![log(9, 60_000), fixed(6, 1_000), fixed(5, 1_000)],
    ];
    let slots = slots_after(&edits);
    assert_eq!(slots, [vec![0, 1], vec![0], vec![0, 2], vec![3, 0], vec![4, 0, 5]]);
}

#[test]
fn limit_that_can_never_deny_is_warned_of() {
    let said = |limits| warnings::of_rule(&rule(limits));
    let hidden = |at: usize, by: usize| {
        vec![format!(
            "limits[{at}] can never deny: limits[{by}] is at least as strict over a longer window"
        )]
    };
    assert_eq!(said(vec![log(10, 1_000), log(10, 60_000)]), hidden(0, 1));
    assert_eq!(said(vec![log(5, 60_000), fixed(9, 1_000)]), hidden(1, 0));
    assert_eq!(said(vec![fixed(10, 1_000), fixed(10, 1_000)]), hidden(1, 0));
    assert_eq!(said(vec![spacing(10), spacing(20)]), hidden(0, 1));
    let locks_out =
        LimitDraft::SlidingWindowLog { limit: 20, window_ms: 60_000, count_denied: true };
    for fine in [
        vec![log(5, 60_000), locks_out],
        vec![log(5, 1_000), log(10, 60_000)],
        vec![fixed(10, 1_000), fixed(10, 2_500)],
        vec![fixed(5, 60_000), log(9, 1_000)],
        vec![spacing(10), fixed(1, 5)],
    ] {
        assert_eq!(said(fine.clone()), Vec::<String>::new(), "{fine:?}");
    }
}

#[test]
fn rule_that_can_never_match_is_warned_of() {
    let conditions = ["/x", "/y"].map(|text| condition("route", Op::Prefix, Some(text)));
    let draft = RuleDraft { conditions: conditions.to_vec(), ..draft(vec![fixed(1, 1)]) };
    assert_eq!(
        warnings::of_rule(&Rule::parse(draft).expect("valid")),
        ["match[1] contradicts an earlier condition on `route`: this rule can never match"]
    );
}

#[test]
fn leases_without_effect_are_warned_of() {
    let said = |limits: Vec<LimitDraft>, block_ms| {
        let draft = RuleDraft { consistency: Consistency::Leased, block_ms, ..draft(limits) };
        warnings::of_rule(&Rule::parse(draft).expect("valid")).join(";")
    };
    let bucket = LimitDraft::TokenBucket { capacity: 500, refill_tokens: 1, refill_interval_ms: 1 };
    for (limits, block_ms, reason) in [
        (vec![fixed(199, 60_000)], vec![], "on a limit below 200"),
        (vec![fixed(200, 60_000), fixed(300, 3_600_000)], vec![], "on a rule with several limits"),
        (vec![bucket], vec![], "on a limit of the algorithm `token_bucket`"),
        (vec![fixed(200, 60_000)], vec![1_000], "with `block_ms`"),
    ] {
        let warning = format!("`leased` has no effect {reason}: Redis decides every request");
        assert_eq!(said(limits, block_ms), warning);
    }
    assert_eq!(said(vec![fixed(200, 60_000)], vec![]), "");
}

#[test]
fn rule_that_refuses_everybody_or_does_nothing_is_warned_of() {
    let said = |action, mode, conditions| {
        let draft = RuleDraft { conditions, action, mode, ..draft(Vec::new()) };
        warnings::of_rule(&Rule::parse(draft).expect("valid")).join(";")
    };
    assert!(said(Action::Deny, Mode::Enforce, Vec::new()).contains("denies every request"));
    assert_eq!(said(Action::Deny, Mode::Shadow, Vec::new()), "");
    assert_eq!(said(Action::Deny, Mode::Enforce, vec![condition("a", Op::Exists, None)]), "");
    assert!(said(Action::Allow, Mode::Off, Vec::new()).contains("is off"));
}

#[test]
fn edit_that_forgets_used_units_has_a_warning() {
    let hour = 3_600_000;
    let fixed = |window_ms| LimitDraft::FixedWindow { limit: 5, window_ms };
    let quota = |period, zone: &str, anchor_day| LimitDraft::Quota {
        limit: 5,
        period,
        time_zone: zone.into(),
        anchor_day,
        ends_at: None,
    };
    let edits = [
        (fixed(hour), fixed(24 * hour), "does not count units"),
        (fixed(24 * hour), fixed(hour), ""),
        (fixed(hour), LimitDraft::FixedWindow { limit: 9, window_ms: hour }, ""),
        (fixed(hour), LimitDraft::Spacing { interval_ms: hour }, "restarts all counters"),
        (quota(Period::Month, "UTC", 1), quota(Period::Month, "UTC", 5), "does not count units"),
        (quota(Period::Month, "UTC", 1), quota(Period::Day, "UTC", 1), ""),
        (quota(Period::Day, "UTC", 1), quota(Period::Day, "Asia/Tokyo", 1), "does not count units"),
        (quota(Period::Month, "UTC", 1), quota(Period::None, "UTC", 1), "does not count units"),
        (quota(Period::None, "UTC", 1), quota(Period::None, "Asia/Tokyo", 1), ""),
    ];
    for (before, after, said) in edits {
        let edited = format!("{before:?} to {after:?}");
        let before = rule(vec![before]);
        let after = rule(vec![after]);
        let slots = after.slots_after(&before, &before.first_slots()).expect("slots are left");
        let warnings = warnings::of_edit(&before, &after.with_slots(&slots.taken));
        assert_eq!(warnings.len(), usize::from(!said.is_empty()), "{edited}: {warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains(said)), "{edited}: {warnings:?}");
    }
}

#[test]
fn edit_of_a_form_begins_new_counters() {
    let by = |form| {
        let count_by = vec![Counted { attribute: "user".into(), form }];
        Rule::parse(RuleDraft { count_by, ..draft(vec![fixed(1, 1)]) }).expect("valid")
    };
    let warnings = warnings::of_edit(&by(Form::Plain), &by(Form::Lower));
    assert!(warnings[0].contains("in a different form"), "{warnings:?}");
    assert_eq!(warnings::of_edit(&by(Form::Lower), &by(Form::Lower)), [""; 0]);
}

#[test]
fn path_that_profiles_fold_away_is_warned_of() {
    let said = |op, path| {
        let conditions = vec![condition("route", op, Some(path))];
        let draft = RuleDraft { conditions, ..draft(vec![fixed(1, 1)]) };
        warnings::of_rule(&Rule::parse(draft).expect("valid")).len()
    };
    for (op, path, warnings) in [
        (Op::Equals, "/Login", 1),
        (Op::Equals, "/login/", 1),
        (Op::Prefix, "/API/", 1),
        (Op::Prefix, "/api/", 0),
        (Op::Equals, "/login", 0),
        (Op::Equals, "/", 0),
        (Op::Equals, "Login", 0),
        (Op::NotEquals, "/Login", 0),
    ] {
        assert_eq!(said(op, path), warnings, "{op:?} {path}");
    }
}
