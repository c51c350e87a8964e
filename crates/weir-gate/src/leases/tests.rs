//! Whose units are given out, how many are taken at once, and what ends a lease.

use weir_domain::draft::{Action, LimitDraft, Mode, OnStoreFailure, RuleDraft};
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;

use super::*;

const TENANT: TenantId = TenantId::from_u128(1);

fn rule(consistency: Consistency, limit: LimitDraft) -> [RuleCharge; 1] {
    let draft = RuleDraft {
        namespace: "default".into(),
        name: "rule".into(),
        description: String::new(),
        conditions: Vec::new(),
        count_by: vec!["user".into()],
        action: Action::Limit,
        limits: vec![limit],
        block_ms: None,
        mode: Mode::Enforce,
        on_store_failure: OnStoreFailure::Allow,
        consistency,
    };
    let rule = Rule::parse(draft).expect("a rule");
    let active = Arc::new(ActiveRule::new(RuleId::from_u128(1), rule, Overrides::default()));
    [RuleCharge { active, subject: SubjectKey(7), instead: None }]
}

fn leased_window() -> [RuleCharge; 1] {
    rule(Consistency::Leased, LimitDraft::FixedWindow { limit: 1_000, window_ms: 60_000 })
}

fn hearing() -> Leases {
    let leases = Leases::new();
    leases.hears(true);
    leases
}

/// What Redis says when it has given units and this many remain.
fn given(remaining: u64, reset_after_ms: u64) -> Vec<Decision> {
    let (allowed, retry_after_ms) = (true, Some(0));
    vec![Decision { allowed, remaining, reset_after_ms, retry_after_ms, delay_ms: 0 }]
}

fn take<'a>(leases: &'a Leases, rules: &[RuleCharge], cost: u64, now: Instant) -> Taking<'a> {
    match leases.spend(TENANT, rules, cost, now) {
        Spent::Take(taking) => taking,
        other => panic!("{other:?}"),
    }
}

fn is_here(leases: &Leases, rules: &[RuleCharge], now: Instant) -> bool {
    matches!(leases.spend(TENANT, rules, 1, now), Spent::Here(_))
}

/// A lease of three units more than the first check needed.
fn with_three(leases: &Leases, rules: &[RuleCharge], now: Instant) {
    let mut taking = take(leases, rules, 1, now);
    taking.units = 4;
    let told = taking.given(Micros(0), given(996, 30_000));
    assert_eq!(told[0].remaining, 999, "what is here is left too");
}

#[test]
fn only_windows_of_leased_rules_are_given_out() {
    let (leases, now) = (hearing(), Instant::now());
    let bucket = LimitDraft::TokenBucket { capacity: 9, refill_tokens: 9, refill_interval_ms: 9 };
    let window = LimitDraft::FixedWindow { limit: 9, window_ms: 9_000 };
    for rules in [rule(Consistency::Leased, bucket), rule(Consistency::Exact, window)] {
        assert!(matches!(leases.spend(TENANT, &rules, 1, now), Spent::Ask));
    }
    let two = [leased_window(), leased_window()].concat();
    assert!(matches!(leases.spend(TENANT, &two, 1, now), Spent::Ask));
}

#[test]
fn units_go_to_checks_until_they_are_used_up_or_their_window_ends() {
    let (leases, rules, now) = (hearing(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    assert!(is_here(&leases, &rules, now));
    let late = now + Duration::from_millis(29_999);
    assert!(!is_here(&leases, &rules, late), "the window is about to end");
    assert!(is_here(&leases, &rules, now) && is_here(&leases, &rules, now));
    assert!(!is_here(&leases, &rules, now), "used up");
}

#[test]
fn one_takes_and_others_ask_meanwhile_also_when_nobody_waits_for_the_answer() {
    let (leases, rules, now) = (hearing(), leased_window(), Instant::now());
    let taking = take(&leases, &rules, 1, now);
    assert!(matches!(leases.spend(TENANT, &rules, 1, now), Spent::Ask));
    drop(taking);
    drop(take(&leases, &rules, 1, now));
}

#[test]
fn lease_grows_while_it_is_used_up_and_leaves_the_rest_for_others() {
    let (leases, rules, mut now) = (hearing(), leased_window(), Instant::now());
    let mut sizes = Vec::new();
    for remaining in [900, 800, 700, 600, 500, 20, 0] {
        let taking = take(&leases, &rules, 1, now);
        let (units, cost) = (taking.units, taking.cost());
        sizes.push(units);
        taking.given(Micros(0), given(remaining, 30_000));
        now = Instant::now();
        for _ in cost..units {
            assert!(is_here(&leases, &rules, now));
        }
    }
    assert_eq!(sizes, [1, 4, 8, 16, 32, 62, 2]);
}

#[test]
fn edit_reset_and_silence_end_a_lease() {
    let (leases, rules, now) = (hearing(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    assert!(!is_here(&leases, &leased_window(), now), "the rule was edited");
    assert_eq!(leases.take_unused(false, now).len(), 1, "and its units go back");
    with_three(&leases, &rules, now);
    leases.forget(SubjectKey(7));
    assert!(!is_here(&leases, &rules, now), "its counters were reset");
    leases.hears(false);
    assert!(matches!(leases.spend(TENANT, &rules, 1, now), Spent::Ask));
}

#[test]
fn units_taken_before_a_reset_are_lost() {
    let (leases, rules, now) = (hearing(), leased_window(), Instant::now());
    let mut before = take(&leases, &rules, 1, now);
    before.units = 4;
    leases.forget(SubjectKey(7));
    let after = take(&leases, &rules, 1, now);
    before.given(Micros(0), given(996, 30_000));
    after.given(Micros(0), given(999, 30_000));
    assert!(!is_here(&leases, &rules, now));
}

#[test]
fn idle_units_are_taken_out_once_to_be_given_back() {
    let (leases, rules, now) = (hearing(), leased_window(), Instant::now());
    with_three(&leases, &rules, now);
    assert_eq!(leases.take_unused(false, now).len(), 0);
    let unused = leases.take_unused(false, Instant::now() + IDLE);
    assert_eq!(unused.iter().map(|it| it.units).collect::<Vec<_>>(), [3]);
    assert_eq!(unused[0].ends, Micros(30_000_000));
    assert_eq!(leases.take_unused(true, now).len(), 0);
    let later = Instant::now() + 5 * IDLE;
    leases.take_unused(false, later);
    assert!(leases.shards.each().all(|shard| shard.leases.is_empty()));
}
