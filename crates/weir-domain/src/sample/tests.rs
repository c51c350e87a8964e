use super::*;
use crate::draft::{ConditionDraft, LimitDraft, Op, RuleDraft};
use crate::request::{Operation, RequestDraft};

fn rule(count_by: &[&str], tested: &[&str]) -> Rule {
    let condition = |attribute: &&str| ConditionDraft {
        attribute: (*attribute).to_owned(),
        op: Op::Exists,
        value: None,
    };
    Rule::parse(RuleDraft {
        name: "a".to_owned(),
        conditions: tested.iter().map(condition).collect(),
        count_by: count_by.iter().map(|&name| name.into()).collect(),
        limits: vec![LimitDraft::FixedWindow { limit: 1, window_ms: 1000 }],
        ..RuleDraft::default()
    })
    .expect("valid")
}

fn request(attributes: &[(&str, &str)]) -> Request {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request::parse(RequestDraft {
        namespace: "default".to_owned(),
        attributes: attributes.iter().map(own).collect(),
        cost: 1,
        operation: Operation::Consume,
        idempotency_key: None,
    })
    .expect("valid")
}

fn by_user(user: &str) -> Option<u32> {
    mark(&["user".into()], |name| (name == "user").then_some(user))
}

#[test]
fn plan_keeps_what_rules_look_at_and_says_for_which_rules_that_is_enough() {
    let (plain, tested) = (rule(&["user"], &[]), rule(&["user"], &["route"]));
    let plan = SamplePlan::of_rules("default", [&plain, &tested]);
    assert_eq!(plan.attributes(), ["route", "user"]);
    assert_eq!(plan.count_by(), [["user"]]);
    assert_eq!(plan.lacks(&tested), None);
    assert_eq!(plan.lacks(&rule(&["user", "ip"], &[])), Some("ip"));
    assert!(plan.samples(&plain) && !plan.samples(&rule(&["route"], &[])));
    assert!(!plan.samples(&rule(&[], &["route"])));
}

/// Otherwise the other rule's mark could remove a check, and a subject of one rule would be sampled in part.
#[test]
fn request_has_the_least_mark_of_its_subjects() {
    let plan = SamplePlan::of_rules("default", [&rule(&["user"], &[]), &rule(&["ip"], &[])]);
    for at in 0..20 {
        let (user, ip) = (format!("u{at}"), format!("10.0.0.{at}"));
        let mark_of = |attributes: &[(&str, &str)]| plan.mark(&request(attributes));
        let (by_user, by_ip) = (mark_of(&[("user", &user)]), mark_of(&[("ip", &ip)]));
        assert_eq!(mark_of(&[("user", &user), ("ip", &ip)]), by_user.min(by_ip));
    }
    assert_eq!(plan.mark(&request(&[("route", "/")])), None);
    assert_eq!(
        SamplePlan::of_rules("default", [&rule(&[], &[])]).mark(&request(&[("user", "u")])),
        None
    );
}

#[test]
fn marks_are_spread_evenly_and_always_the_same() {
    assert_eq!(by_user("ada"), by_user("ada"));
    let below = |threshold: u32| {
        (0..10_000).filter(|at| by_user(&format!("u-{at}")) <= Some(threshold)).count()
    };
    for (threshold, expected) in [(ALL / 2, 5_000_usize), (ALL / 10, 1_000), (ALL / 100, 100)] {
        let count = below(threshold);
        assert!(count.abs_diff(expected) < expected / 5 + 10, "{count} for {expected}");
    }
    assert_eq!(below(ALL), 10_000);
    assert!((share(ALL) - 1.0).abs() < 1e-12 && (share(ALL / 4) - 0.25).abs() < 1e-6);
}

#[test]
fn long_value_is_cut_and_stays_apart_from_others_and_keeps_its_mark() {
    let long = |end: &str| format!("{}{end}", "ü".repeat(150));
    let (one, other) = (long("a"), long("b"));
    let (recorded, recorded_other) = (recorded_value(&one), recorded_value(&other));
    assert!(recorded.len() <= RECORDED_BYTES_MAX && recorded != recorded_other, "{recorded}");
    assert_eq!(by_user(&one), by_user(&recorded), "the same digest");
    assert_eq!(recorded_value("short"), "short");
}
