//! The override that applies to a subject, its expiry, and the counters that it uses.

use super::*;
use crate::customers::{Assignment, customer_key};
use crate::draft::{OnStoreFailure, RuleDraft};
use crate::id::PlanId;
use crate::limit::Limit;

const NOW: Timestamp = Timestamp::from_millis(1_763_726_400_000);

fn fixed(limit: u64) -> LimitDraft {
    LimitDraft::FixedWindow { limit, window_ms: 1_000 }
}

fn rule(count_by: &[&str]) -> Rule {
    let limits = vec![
        LimitDraft::SlidingWindowLog { limit: 9, window_ms: 60_000, count_denied: false },
        fixed(5),
    ];
    Rule::parse(RuleDraft {
        name: "rule".into(),
        count_by: count_by.iter().map(|&name| name.into()).collect(),
        limits,
        on_store_failure: OnStoreFailure::Deny,
        ..RuleDraft::default()
    })
    .expect("a valid rule")
}

fn draft(subject: &[(&str, &str)], effect: EffectDraft) -> OverrideDraft {
    let subject = subject.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    OverrideDraft { subject: subject.collect(), effect, starts_at: None }
}

fn wrong_fields(draft: OverrideDraft, rule: &Rule) -> Vec<String> {
    let wrong = Override::parse(draft, rule).expect_err("refused");
    wrong.into_iter().map(|invalid| invalid.field).collect()
}

/// Overrides of a rule that counts by `a`, `b` and `c`, named 1, 2, 3… in this order.
fn three(subjects: &[([&str; 3], Option<Timestamp>)]) -> (Rule, Overrides) {
    let rule = rule(&["a", "b", "c"]);
    let all = (1..).zip(subjects).map(|(id, (values, expires_at))| {
        let subject: Vec<_> = ["a", "b", "c"].into_iter().zip(*values).collect();
        let parsed = Override::parse(draft(&subject, EffectDraft::Allow), &rule).expect("valid");
        (OverrideId::from_u128(id), parsed, *expires_at)
    });
    let overrides = Overrides::build(&rule, all.collect::<Vec<_>>());
    (rule, overrides)
}

fn found(of: &(Rule, Overrides), values: [&str; 3], now: Timestamp) -> Option<u128> {
    of.1.find(&of.0, &values, now).and_then(Active::override_id).map(OverrideId::to_u128)
}

#[test]
fn an_override_applies_from_its_start_and_a_less_exact_one_before() {
    let rule = rule(&["a"]);
    let made = |value, starts_at| {
        let draft = OverrideDraft { starts_at, ..draft(&[("a", value)], EffectDraft::Allow) };
        Override::parse(draft, &rule).expect("valid")
    };
    let all = [
        (OverrideId::from_u128(1), made("*", None), None),
        (OverrideId::from_u128(2), made("1", Some(NOW)), Some(NOW.plus_ms(10))),
    ];
    let overrides = Overrides::build(&rule, all);
    let found = |ms| {
        overrides
            .find(&rule, &["1"], NOW.plus_ms(ms))
            .and_then(Active::override_id)
            .map(OverrideId::to_u128)
    };
    assert_eq!([-1, 0, 9, 10].map(found), [Some(1), Some(2), Some(2), Some(1)]);
}

#[test]
fn most_exact_override_wins_in_any_order() {
    let of = three(&[
        (["*", "*", "*"], None),
        (["*", "*", "3"], None),
        (["*", "2", "*"], None),
        (["1", "*", "*"], None),
        (["*", "2", "3"], None),
        (["1", "2", "*"], None),
        (["1", "2", "3"], None),
    ]);
    assert_eq!(found(&of, ["1", "2", "3"], NOW), Some(7));
    assert_eq!(found(&of, ["1", "2", "x"], NOW), Some(6));
    assert_eq!(found(&of, ["x", "2", "3"], NOW), Some(5));
    assert_eq!(found(&of, ["1", "x", "3"], NOW), Some(4), "the earlier attribute weighs more");
    assert_eq!(found(&of, ["x", "2", "x"], NOW), Some(3));
    assert_eq!(found(&of, ["x", "x", "3"], NOW), Some(2));
    assert_eq!(found(&of, ["x", "x", "x"], NOW), Some(1));
}

#[test]
fn as_many_stars_further_back_win() {
    let of = three(&[(["*", "2", "3"], None), (["1", "*", "3"], None), (["1", "2", "*"], None)]);
    assert_eq!(found(&of, ["1", "2", "3"], NOW), Some(3));
    let of = three(&[(["*", "2", "3"], None), (["1", "*", "3"], None)]);
    assert_eq!(found(&of, ["1", "2", "3"], NOW), Some(2));
}

#[test]
fn override_that_expired_gives_way_to_the_next() {
    let of = three(&[(["1", "2", "3"], Some(NOW)), (["1", "*", "*"], Some(NOW.plus_ms(1)))]);
    assert_eq!(found(&of, ["1", "2", "3"], NOW.plus_ms(-1)), Some(1));
    assert_eq!(found(&of, ["1", "2", "3"], NOW), Some(2));
    assert_eq!(found(&of, ["1", "2", "3"], NOW.plus_ms(1)), None);
}

#[test]
fn star_in_a_request_is_a_value_like_any_other() {
    let of = three(&[(["1", "2", "*"], None)]);
    assert_eq!(found(&of, ["1", "2", "*"], NOW), Some(1));
    assert_eq!(found(&of, ["*", "2", "3"], NOW), None);
    assert_eq!(found(&of, ["1", "*", "3"], NOW), None);
    assert_eq!(found(&three(&[]), ["*", "*", "*"], NOW), None);
}

#[test]
fn values_do_not_run_together() {
    let of = three(&[(["ab", "c", "d"], None)]);
    assert_eq!(found(&of, ["a", "bc", "d"], NOW), None);
    assert_eq!(found(&of, ["c", "ab", "d"], NOW), None);
    assert_eq!(found(&of, ["ab", "c", ""], NOW), None);
}

#[test]
fn subject_names_exactly_what_the_rule_counts_by() {
    let two = rule(&["user", "route"]);
    let fields = wrong_fields(draft(&[("user", "u"), ("ip", "i")], EffectDraft::Allow), &two);
    assert_eq!(fields, ["subject.ip", "subject.route"]);
    let bad = draft(&[("user", "a\nb"), ("route", "*")], EffectDraft::Deny);
    assert_eq!(wrong_fields(bad, &two), ["subject.user"]);
    assert_eq!(wrong_fields(draft(&[], EffectDraft::Allow), &rule(&[])), ["subject"]);
}

#[test]
fn limits_of_an_override_are_checked_like_a_rules() {
    let rule = rule(&["user"]);
    let with = |limits| draft(&[("user", "u")], EffectDraft::Limits(limits));
    assert_eq!(wrong_fields(with(Vec::new()), &rule), ["limits"]);
    assert_eq!(wrong_fields(with(vec![fixed(1); 9]), &rule), ["limits"]);
    assert_eq!(wrong_fields(with(vec![fixed(1), fixed(0)]), &rule), ["limits[1].limit"]);
}

#[test]
fn limits_of_an_override_count_on_with_the_rules_counters_where_the_algorithm_is_the_same() {
    let rule = rule(&["user"]);
    let bucket = |capacity| LimitDraft::TokenBucket {
        capacity,
        refill_tokens: 1,
        refill_interval_ms: 1_000,
    };
    let limits = vec![fixed(50), bucket(1), bucket(2), fixed(51)];
    let parsed = Override::parse(draft(&[("user", "u")], EffectDraft::Limits(limits)), &rule)
        .expect("valid");
    let Effect::Limits(limits) = parsed.effect() else { panic!("limits") };
    let slots: Vec<_> = limits.iter().map(|limit| limit.slot).collect();
    assert_eq!(slots[0], 1, "the rule's fixed window");
    assert!(slots[1..].iter().all(|slot| *slot >= OWN_SLOTS_FROM), "{slots:?}");
    let mut apart = slots.clone();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), 4, "{slots:?}");

    // A slot of an override names one kind of counter, even after the override had other limits.
    let kinds_of = |limits: Vec<LimitDraft>| {
        let draft = draft(&[("user", "u")], EffectDraft::Limits(limits));
        let parsed = Override::parse(draft, &rule).expect("valid");
        let Effect::Limits(limits) = parsed.effect().clone() else { panic!("limits") };
        let kind = |limit: &Limit| (limit.slot, limit.algorithm.name());
        limits.iter().map(kind).collect::<Vec<_>>()
    };
    let spacing = || LimitDraft::Spacing { interval_ms: 7 };
    let first = kinds_of(vec![spacing(), bucket(1), spacing()]);
    let second = kinds_of(vec![bucket(1), spacing(), bucket(2)]);
    for (slot, kind) in &first {
        let same_slot = second.iter().filter(|(other, _)| other == slot);
        assert!(same_slot.clone().all(|(_, other)| other == kind), "{first:?} {second:?}");
    }
}

#[test]
fn plan_of_the_customer_applies_where_no_override_does_and_is_found_again_by_its_number() {
    let rule = rule(&["user", "org"]);
    let plan = |pinned_revision| PlanRef { plan: PlanId::from_u128(700), pinned_revision };
    let limits = |limit| {
        let effect = EffectDraft::Limits(vec![fixed(limit)]);
        Effect::parse(effect, &rule, &mut Vec::new())
    };
    let effects =
        vec![Active::of_plan(plan(0), limits(50)), Active::of_plan(plan(2), Effect::Deny)];
    let on = |customer, pinned_revision| {
        let until = Some(NOW.plus_ms(10));
        Assignment::new(customer_key("org", customer), plan(pinned_revision), NOW, until)
    };
    let customers = Customers::new("org").with_changes(vec![on("acme", 0), on("globex", 2)]);
    let own = draft(&[("user", "ada"), ("org", "acme")], EffectDraft::Allow);
    let own = Override::parse(own, &rule).expect("valid");
    let overrides = Overrides::build(&rule, [(OverrideId::from_u128(1), own, None)]).with_plans(
        &rule,
        &customers.into(),
        effects,
    );
    let find = |user, org, ms| overrides.find(&rule, &[user, org], NOW.plus_ms(ms));
    let source = |user, org, ms| find(user, org, ms).map(|active| active.source);
    assert_eq!(source("ada", "acme", 0), Some(Source::Override(OverrideId::from_u128(1))));
    assert_eq!(source("bob", "acme", 0), Some(Source::Plan(plan(0))));
    assert_eq!(source("bob", "globex", 0), Some(Source::Plan(plan(2))));
    assert_eq!(source("bob", "acme", 10), None, "the assignment has ended");
    assert_eq!(source("bob", "initech", 0), None);

    let Some(Effect::Limits(of_plan)) = find("bob", "acme", 0).map(|active| &active.effect) else {
        panic!("limits")
    };
    assert_eq!(of_plan[0].slot, rule.limits()[1].slot, "used units stay used");
    let subject = SubjectKey(9);
    let number = overrides.number_of(subject, of_plan).expect("known");
    let again = overrides.limits_of(subject, number).expect("limits");
    assert!(Arc::ptr_eq(again, of_plan));
    let (key, _) = overrides.find_keyed(&rule, &["bob", "acme"], NOW).expect("a plan");
    assert_eq!(overrides.at(key, NOW).map(|active| active.source), Some(Source::Plan(plan(0))));
}
