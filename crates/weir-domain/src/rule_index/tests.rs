//! The index finds the rules that a trial of each rule would find, and examines few others.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::draft::{ConditionDraft, LimitDraft, OnStoreFailure, Op, Operand, RuleDraft};
use crate::id::RuleId;
use crate::matching::{Matched, matched, matched_in};
use crate::overrides::Overrides;
use crate::request::{Operation, RequestDraft};
use crate::rulebook::{ActiveRule, Namespace};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_763_726_400_000);

fn rule(id: u128, conditions: Vec<ConditionDraft>) -> Arc<ActiveRule> {
    let draft = RuleDraft {
        name: format!("rule-{id}"),
        conditions,
        limits: vec![LimitDraft::FixedWindow { limit: 5, window_ms: 1_000 }],
        on_store_failure: OnStoreFailure::Deny,
        ..RuleDraft::default()
    };
    let rule = Rule::parse(draft).expect("a valid rule");
    Arc::new(ActiveRule::new(RuleId::from_u128(id), rule, Overrides::default()))
}

fn condition(attribute: &str, op: Op, value: Operand) -> ConditionDraft {
    ConditionDraft { attribute: attribute.into(), op, value: Some(value) }
}

fn equals(attribute: &str, value: &str) -> ConditionDraft {
    condition(attribute, Op::Equals, Operand::One(value.into()))
}

fn request(attributes: &[(String, String)]) -> Request {
    Request::parse(RequestDraft {
        namespace: "default".into(),
        attributes: attributes.iter().cloned().collect(),
        cost: 1,
        operation: Operation::Consume,
        idempotency_key: None,
    })
    .expect("a valid request")
}

fn namespace(rules: Vec<Arc<ActiveRule>>) -> Namespace {
    let index = RuleIndex::of(&rules.iter().map(|active| &active.rule).collect::<Vec<_>>());
    Namespace { rules, index, ..Namespace::default() }
}

fn charged(matched: Matched) -> Vec<RuleId> {
    let charges = match matched {
        Matched::Charged(charges) => charges,
        Matched::Unmatched(_) => Vec::new(),
        _ => panic!("rules that limit"),
    };
    charges.iter().map(|charge| charge.active.id).collect()
}

#[test]
fn rule_is_filed_under_the_demand_that_fewest_share() {
    let rules = (0..10_000).map(|id| {
        let (tier, route) = (equals("tier", "free"), equals("route", &format!("/r{}", id / 20)));
        rule(id, vec![tier, route])
    });
    let namespace = namespace(rules.collect());
    let of = |route: &str| {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        request(&[pair("route", route), pair("tier", "free")])
    };
    let index = namespace.index.as_ref().expect("many rules");
    assert_eq!(index.candidates(&of("/r7")), (140..160).collect::<Vec<_>>());
    assert_eq!(index.candidates(&of("/elsewhere")), []);
}

fn any_condition() -> impl Strategy<Value = ConditionDraft> {
    let attribute = prop::sample::select(vec!["a", "b"]);
    let value = || prop::sample::select(vec!["x", "y", "z"]).prop_map(str::to_owned);
    let operand = prop_oneof![
        value().prop_map(|text| (Op::Equals, Operand::One(text))),
        value().prop_map(|text| (Op::NotEquals, Operand::One(text))),
        value().prop_map(|text| (Op::Prefix, Operand::One(text))),
        prop::collection::vec(value(), 1..3).prop_map(|texts| (Op::OneOf, Operand::Many(texts))),
    ];
    (attribute, operand).prop_map(|(attribute, (op, value))| condition(attribute, op, value))
}

proptest! {
    #[test]
    fn index_finds_what_asking_each_rule_finds(
        rules in prop::collection::vec(any_condition(), 9..40),
        a in prop::option::of("[w-z]"),
        b in prop::option::of("[w-z]"),
    ) {
        let rules = (1..).zip(rules).map(|(id, condition)| rule(id, vec![condition]));
        let namespace = namespace(rules.collect());
        let pair = |name: &str, value: Option<String>| Some((name.to_owned(), value?));
        let attributes: Vec<_> = [pair("a", a), pair("b", b)].into_iter().flatten().collect();
        let request = request(&attributes);
        prop_assert_eq!(
            charged(matched_in(&namespace, &request, NOW)),
            charged(matched(&namespace.rules, &request, NOW))
        );
    }
}
