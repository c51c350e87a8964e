//! The rules that match a request, and the rules that decide.

use std::collections::BTreeMap;

use super::*;
use crate::counted::Form;
use crate::draft::{ConditionDraft, LimitDraft, OnStoreFailure, Op, Operand, RuleDraft};
use crate::id::{OverrideId, RuleId, TenantId};
use crate::overrides::{EffectDraft, Override, OverrideDraft, Overrides};
use crate::request::{Operation, RequestDraft};
use crate::rule::Rule;
use crate::rule_index::RuleIndex;
use crate::rulebook::{Rulebook, TenantRules, TenantState};

const NOW: Timestamp = Timestamp::from_millis(1_763_726_400_000);

fn draft(action: Action, mode: Mode) -> RuleDraft {
    let limit = LimitDraft::FixedWindow { limit: 5, window_ms: 1_000 };
    RuleDraft {
        name: "rule".into(),
        action,
        mode,
        limits: if action == Action::Limit { vec![limit] } else { Vec::new() },
        on_store_failure: OnStoreFailure::Deny,
        ..RuleDraft::default()
    }
}

fn limit_by(count_by: &[&str]) -> RuleDraft {
    let count_by = count_by.iter().map(|&name| name.into()).collect();
    RuleDraft { count_by, ..draft(Action::Limit, Mode::Enforce) }
}

fn only_if(attribute: &str, value: &str, draft: RuleDraft) -> RuleDraft {
    let value = Some(Operand::One(value.into()));
    let condition = ConditionDraft { attribute: attribute.into(), op: Op::Equals, value };
    RuleDraft { conditions: vec![condition], ..draft }
}

/// A rule with an override for the user `vip`.
fn active(id: u128, draft: RuleDraft, for_vip: Option<EffectDraft>) -> ActiveRule {
    let rule = Rule::parse(draft).expect("a valid rule");
    let all = for_vip.map(|effect| {
        let subject = BTreeMap::from([("user".to_owned(), "vip".to_owned())]);
        let parsed = Override::parse(OverrideDraft { subject, effect, starts_at: None }, &rule)
            .expect("valid");
        (OverrideId::from_u128(1), parsed, None)
    });
    let overrides = Overrides::build(&rule, all);
    ActiveRule::new(RuleId::from_u128(id), rule, overrides)
}

/// Rules with the ids 1, 2, 3…
fn rules(drafts: impl IntoIterator<Item = RuleDraft>) -> Vec<Arc<ActiveRule>> {
    (1..).zip(drafts).map(|(id, draft)| Arc::new(active(id, draft, None))).collect()
}

fn request(attributes: &[(&str, &str)]) -> Request {
    let attributes = attributes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Request::parse(RequestDraft {
        namespace: "default".into(),
        attributes: attributes.collect(),
        cost: 1,
        operation: Operation::Consume,
        idempotency_key: None,
    })
    .expect("a valid request")
}

/// The outcome in a word, and the rules that caused it.
fn outcome(rules: &[Arc<ActiveRule>], attributes: &[(&str, &str)]) -> (&'static str, Vec<u128>) {
    match matched(rules, &request(attributes), NOW) {
        Matched::Denied(by) => ("denied", by.iter().map(|rule| rule.id.to_u128()).collect()),
        Matched::Allowed(by) => ("allowed", vec![by.id.to_u128()]),
        Matched::Charged(by) => {
            ("charged", by.iter().map(|rule| rule.active.id.to_u128()).collect())
        }
        Matched::Unmatched(_) => ("charged", vec![]),
        Matched::TooManyLimits => ("too many", vec![]),
    }
}

#[test]
fn request_meets_at_most_64_limits() {
    let of_eight = |mode| RuleDraft {
        limits: vec![LimitDraft::FixedWindow { limit: 5, window_ms: 1_000 }; 8],
        ..draft(Action::Limit, mode)
    };
    let eight = || std::iter::repeat_n(of_eight(Mode::Enforce), 7).chain([of_eight(Mode::Shadow)]);
    assert_eq!(outcome(&rules(eight()), &[]).0, "charged");
    let elsewhere = only_if("route", "/old", of_eight(Mode::Enforce));
    let with_elsewhere = rules(eight().chain([elsewhere]));
    assert_eq!(outcome(&with_elsewhere, &[("route", "/new")]).0, "charged");
    assert_eq!(outcome(&with_elsewhere, &[("route", "/old")]).0, "too many");
    let one_more = eight().chain([draft(Action::Limit, Mode::Shadow)]);
    assert_eq!(outcome(&rules(one_more), &[]).0, "too many", "shadow rules count too");
}

#[test]
fn deny_wins_over_allow_and_allow_over_limits() {
    let enforced = |action| draft(action, Mode::Enforce);
    let limit = || enforced(Action::Limit);
    let (allow, deny) = (|| enforced(Action::Allow), || enforced(Action::Deny));
    assert_eq!(outcome(&rules([limit(), allow(), deny(), deny()]), &[]), ("denied", vec![3, 4]));
    assert_eq!(outcome(&rules([limit(), allow(), allow()]), &[]), ("allowed", vec![2]));
    assert_eq!(outcome(&rules([limit(), limit()]), &[]), ("charged", vec![1, 2]));
    assert_eq!(outcome(&[], &[]), ("charged", vec![]));
}

#[test]
fn rule_without_effect_if_its_conditions_do_not_hold() {
    let deny = only_if("route", "/old", draft(Action::Deny, Mode::Enforce));
    let rules = rules([deny, limit_by(&[])]);
    assert_eq!(outcome(&rules, &[("route", "/old")]), ("denied", vec![1]));
    assert_eq!(outcome(&rules, &[("route", "/new")]), ("charged", vec![2]));
    assert_eq!(outcome(&rules, &[]), ("charged", vec![2]));
    let rule_match = match_rule(&rules[0], &request(&[]), NOW);
    assert!(matches!(rule_match, RuleMatch::ConditionFailed(0)), "{rule_match:?}");
}

#[test]
fn shadow_rules_influence_nothing() {
    let shadow = |action| draft(action, Mode::Shadow);
    let all = rules([limit_by(&[]), shadow(Action::Deny), shadow(Action::Allow)]);
    assert_eq!(outcome(&all, &[]), ("charged", vec![1]));
    let watched = rules([draft(Action::Deny, Mode::Enforce), shadow(Action::Limit)]);
    assert_eq!(outcome(&watched, &[]), ("denied", vec![1]));
    let both = rules([limit_by(&[]), shadow(Action::Limit)]);
    let Matched::Charged(charges) = matched(&both, &request(&[]), NOW) else { panic!("charged") };
    assert_eq!(charges.iter().map(RuleCharge::is_alone).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn request_without_an_attribute_the_rule_counts_by_is_not_counted() {
    let rules = rules([limit_by(&["user", "route"]), limit_by(&["user"])]);
    assert_eq!(outcome(&rules, &[("user", "u"), ("route", "r")]), ("charged", vec![1, 2]));
    assert_eq!(outcome(&rules, &[("user", "")]), ("charged", vec![2]), "empty is there");
    assert_eq!(outcome(&rules, &[("route", "r")]), ("charged", vec![]));
    let rule_match = match_rule(&rules[0], &request(&[("user", "u")]), NOW);
    assert!(matches!(&rule_match, RuleMatch::NotCounted(it) if it == "route"), "{rule_match:?}");
}

#[test]
fn overrides_lift_refuse_or_change_their_own_rule_for_their_own_subject() {
    let vip = [("user", "vip")];
    let ordinary = [("user", "u")];
    let with = |effect| {
        let first = Arc::new(active(1, limit_by(&["user"]), Some(effect)));
        vec![first, Arc::new(active(2, limit_by(&["user"]), None))]
    };
    let lifted = with(EffectDraft::Allow);
    assert_eq!(outcome(&lifted, &vip), ("charged", vec![2]), "and no other rule");
    assert_eq!(outcome(&lifted, &ordinary), ("charged", vec![1, 2]));
    let refused = with(EffectDraft::Deny);
    assert_eq!(outcome(&refused, &vip), ("denied", vec![1]));
    assert_eq!(outcome(&refused, &ordinary), ("charged", vec![1, 2]));

    let more = LimitDraft::FixedWindow { limit: 500, window_ms: 1_000 };
    let changed = with(EffectDraft::Limits(vec![more]));
    let limit_of = |attributes| match matched(&changed, &request(attributes), NOW) {
        Matched::Charged(charges) => charges[0].limits()[0].algorithm.limit(),
        other => panic!("{other:?}"),
    };
    assert_eq!((limit_of(&vip), limit_of(&ordinary)), (500, 5));
}

#[test]
fn override_of_a_shadow_rule_refuses_nobody() {
    let shadow = RuleDraft { mode: Mode::Shadow, ..limit_by(&["user"]) };
    let rules = [Arc::new(active(1, shadow, Some(EffectDraft::Deny)))];
    assert_eq!(outcome(&rules, &[("user", "vip")]), ("charged", vec![]));
}

#[test]
fn subjects_differ_by_each_value_and_not_by_what_is_not_counted() {
    let rules = rules([limit_by(&["user", "route"])]);
    let subject = |user, route, ip| {
        let request = request(&[("user", user), ("route", route), ("ip", ip)]);
        let Matched::Charged(charges) = matched(&rules, &request, NOW) else { panic!("charged") };
        charges[0].subject
    };
    assert_eq!(subject("u", "r", "1"), subject("u", "r", "2"));
    assert_ne!(subject("u", "r", "1"), subject("v", "r", "1"));
    assert_ne!(subject("u", "r", "1"), subject("r", "u", "1"));
    assert_ne!(subject("u", "rr", "1"), subject("ur", "r", "1"));
}

#[test]
fn rulebook_leaves_out_rules_that_are_off_and_puts_enforced_ones_first() {
    let tenant = TenantId::from_u128(1);
    let elsewhere = RuleDraft { namespace: "other".into(), ..limit_by(&[]) };
    let all = [
        active(1, draft(Action::Limit, Mode::Shadow), None),
        active(4, limit_by(&[]), None),
        active(2, draft(Action::Deny, Mode::Off), None),
        active(3, limit_by(&[]), None),
        active(5, elsewhere, None),
    ];
    let rules = TenantRules::new(TenantState::default(), Vec::new(), all);
    let book = Rulebook::default().with_changes(1, [(tenant, Some(rules))]);
    let (charged, none) = (("charged", vec![3, 4, 1]), ("charged", vec![]));
    assert_eq!(outcome(book.rules(tenant, "default"), &[]), charged);
    assert_eq!(outcome(book.rules(TenantId::from_u128(2), "default"), &[]), none);
    assert_eq!(outcome(book.rules(tenant, "nowhere"), &[]), none);
}

#[test]
fn values_with_one_form_are_one_subject() {
    let by = |attribute: &str, form| {
        let count_by = vec![Counted { attribute: attribute.into(), form }];
        RuleDraft { count_by, ..limit_by(&[]) }
    };
    let subject = |draft: &RuleDraft, attribute: &str, value: &str| {
        let rules = rules([draft.clone()]);
        match matched(&rules, &request(&[(attribute, value)]), NOW) {
            Matched::Charged(charges) => charges[0].subject,
            other => panic!("{other:?}"),
        }
    };
    let address = by("ip", Form::Address { ipv6_prefix: 64 });
    let spellings =
        ["2001:db8:1:2::7", "2001:DB8:1:2:0::8", "2001:db8:1:2::/64", "2001:db8:1:2:ffff::1"];
    for value in spellings {
        assert_eq!(
            subject(&address, "ip", value),
            subject(&address, "ip", spellings[0]),
            "{value}"
        );
    }
    let plain = limit_by(&["ip"]);
    assert_eq!(subject(&address, "ip", "::ffff:192.0.2.7"), subject(&plain, "ip", "192.0.2.7"));
    assert_ne!(subject(&address, "ip", "2001:db8:1:3::7"), subject(&address, "ip", spellings[0]));
    let email = by("user", Form::Email);
    assert_eq!(
        subject(&email, "user", " Ada@Example.com"),
        subject(&limit_by(&["user"]), "user", "ada@example.com")
    );
}

#[test]
fn conditions_and_overrides_compare_the_form_that_the_rule_counts() {
    let count_by = vec![Counted { attribute: "user".into(), form: Form::Lower }];
    let one = only_if("user", "Vip", RuleDraft { count_by, ..limit_by(&[]) });
    let others = (0..40).map(|n| only_if("user", &format!("u-{n}"), limit_by(&["user"])));
    let active = Arc::new(active(99, one.clone(), Some(EffectDraft::Deny)));
    let rules = rules(others.chain([one]));
    for value in ["vip", "VIP ", "Vip"] {
        assert_eq!(outcome(&rules, &[("user", value)]), ("charged", vec![41]), "{value}");
        let index = RuleIndex::of(&rules.iter().map(|active| &active.rule).collect::<Vec<_>>());
        assert!(index.is_some(), "many rules");
        let namespace = Namespace { rules: rules.clone(), index, ..Namespace::default() };
        let found = matched_in(&namespace, &request(&[("user", value)]), NOW);
        assert!(matches!(found, Matched::Charged(charges) if charges.len() == 1), "{value}");
        let found = match_rule(&active, &request(&[("user", value)]), NOW);
        assert!(matches!(found, RuleMatch::Passes(Effect::Deny, _)), "{value}: {found:?}");
    }
    assert_eq!(outcome(&rules, &[("user", "vip2")]), ("charged", vec![]));
}
