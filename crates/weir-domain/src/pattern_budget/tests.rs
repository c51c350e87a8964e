use super::*;
use crate::draft::{ConditionDraft, LimitDraft, Op, Operand, RuleDraft};

/// A rule of `namespace` with these patterns.
fn rule(namespace: &str, patterns: &[String]) -> Rule {
    let condition = |(at, pattern): (usize, &String)| ConditionDraft {
        attribute: format!("a{at}"),
        op: Op::Regex,
        value: Some(Operand::One(pattern.clone())),
    };
    let draft = RuleDraft {
        namespace: namespace.to_owned(),
        name: "patterns".to_owned(),
        conditions: patterns.iter().enumerate().map(condition).collect(),
        limits: vec![LimitDraft::Spacing { interval_ms: 1 }],
        ..RuleDraft::default()
    };
    Rule::parse(draft).expect("a valid rule")
}

fn patterns(count: usize, text: &str) -> Vec<String> {
    (0..count).map(|at| format!("{text}{at}")).collect()
}

#[test]
fn the_patterns_of_a_namespace_and_of_a_tenant_are_counted() {
    let mut budget = PatternBudget::default();
    for _ in 0..10 {
        budget.take(&rule("a", &patterns(10, "x"))).expect("within the budget");
    }
    let over = budget.take(&rule("a", &patterns(1, "x"))).expect_err("one too many");
    assert_eq!(over.to_string(), "would give the namespace 101 regular expressions: at most 100");
    for _ in 0..10 {
        budget.take(&rule("b", &patterns(10, "x"))).expect("what was refused takes nothing");
    }
    let over = budget.take(&rule("c", &patterns(1, "x"))).expect_err("one too many");
    assert_eq!(over.to_string(), "would give the tenant 201 regular expressions: at most 200");
    budget.take(&rule("c", &[])).expect("rules without patterns need no budget");
}

#[test]
fn the_compiled_size_is_bounded() {
    let mut budget = PatternBudget::default();
    // Each is about 114 KiB.
    let large = rule("a", &patterns(2, r"\w+@\w+\.com"));
    let taken = (0..100).take_while(|_| budget.take(&large).is_ok()).count();
    assert!((2..=10).contains(&taken), "{taken}");
    let over = budget.take(&large).expect_err("too large");
    assert!(over.to_string().ends_with("at most 1024 KiB"), "{over}");
}
