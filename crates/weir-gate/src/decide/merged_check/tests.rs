use std::collections::BTreeMap;

use weir_domain::draft::{LimitDraft, Mode, RuleDraft};
use weir_domain::id::RuleId;
use weir_domain::matching::matched;
use weir_domain::overrides::Overrides;
use weir_domain::request::RequestDraft;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;

use super::*;

fn rule(id: u128, mode: Mode, count_by: &[&str], limits: usize) -> Arc<ActiveRule> {
    let limit = |n: usize| LimitDraft::FixedWindow { limit: 9, window_ms: 1_000 * (n as u64 + 1) };
    let draft = RuleDraft {
        name: format!("rule-{id}"),
        count_by: count_by.iter().map(|&name| name.into()).collect(),
        limits: (0..limits).map(limit).collect(),
        mode,
        ..RuleDraft::default()
    };
    let rule = Rule::parse(draft).expect("a valid rule");
    Arc::new(ActiveRule::new(RuleId::from_u128(id), rule, Overrides::default()))
}

fn request(operation: Operation, cost: u64, attributes: &[(&str, &str)]) -> Request {
    let attributes = attributes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Request::parse(RequestDraft {
        namespace: "default".to_owned(),
        attributes: attributes.collect::<BTreeMap<_, _>>(),
        cost,
        operation,
        idempotency_key: None,
    })
    .expect("a valid request")
}

fn merge(rules: &[Arc<ActiveRule>], requests: &[Request]) -> (Matched, Vec<Origins>) {
    let each = requests.iter().map(|request| matched(rules, request, Timestamp::default()));
    let each = each.collect();
    merged(requests, each)
}

fn charges(merged: (Matched, Vec<Origins>)) -> Vec<(u128, Option<u64>, u64)> {
    let (Matched::Charged(charges), origins) = merged else { panic!("not charged") };
    let each = charges.iter().zip(origins);
    each.map(|(charge, origins)| (charge.active.id.to_u128(), charge.own_cost, origins.0)).collect()
}

#[test]
fn subject_of_several_requests_is_charged_once_with_the_largest_cost() {
    let rules =
        [rule(1, Mode::Enforce, &["user"], 1), rule(2, Mode::Enforce, &["user", "path"], 1)];
    let requests = [
        request(Operation::Consume, 2, &[("user", "a"), ("path", "/x")]),
        request(Operation::Consume, 5, &[("user", "a")]),
        request(Operation::Consume, 2, &[("user", "b")]),
        request(Operation::Peek, 7, &[("user", "c")]),
    ];
    assert_eq!(
        charges(merge(&rules, &requests)),
        [(1, Some(5), 0b11), (2, None, 0b1), (1, None, 0b100), (1, Some(0), 0b1000)]
    );
}

#[test]
fn requests_that_only_look_take_nothing_and_equal_costs_need_no_own_cost() {
    let rules = [rule(1, Mode::Enforce, &["user"], 1)];
    let peek = [request(Operation::Peek, 1, &[("user", "a")])];
    assert_eq!(charges(merge(&rules, &peek)), [(1, Some(0), 1)]);
    let same = ["a", "b"].map(|user| request(Operation::Consume, 3, &[("user", user)]));
    assert_eq!(charges(merge(&rules, &same)), [(1, None, 0b01), (1, None, 0b10)]);
}

#[test]
fn enforced_rules_come_first() {
    let rules = [rule(1, Mode::Enforce, &["user"], 1), rule(2, Mode::Shadow, &["path"], 1)];
    let requests = [
        request(Operation::Consume, 1, &[("path", "/x")]),
        request(Operation::Consume, 1, &[("user", "a")]),
    ];
    assert_eq!(charges(merge(&rules, &requests)), [(1, None, 0b10), (2, None, 0b01)]);
}

#[test]
fn too_many_limits_together_are_no_check() {
    let rules = [rule(1, Mode::Enforce, &["user"], 8)];
    let of = |count: usize| {
        let user = |n: usize| request(Operation::Consume, 1, &[("user", &n.to_string())]);
        merge(&rules, &(0..count).map(user).collect::<Vec<_>>()).0
    };
    assert!(matches!(of(8), Matched::Charged(charges) if charges.len() == 8));
    assert!(matches!(of(9), Matched::TooManyLimits));
}
