//! Small scenarios of whole checks. The twin tests hold the script to the same ones.

use super::*;
use crate::algorithm::{FixedWindow, LeakyBucket, Meter, SlidingWindowLog};
use crate::charge::{BlockMeter, Group, RuleMeters};
use crate::counter::{CounterName, CounterPart};
use crate::id::{RuleId, TenantId};
use crate::subject::SubjectKey;

/// Counters and a clock, from noon.
struct Scene {
    counters: Counters,
    now: Micros,
}

impl Scene {
    fn new() -> Self {
        Self { counters: Counters::default(), now: Micros(1_763_726_400_000_000) }
    }

    fn pass_ms(&mut self, ms: u64) -> &mut Self {
        self.now.0 += ms * 1000;
        self
    }

    fn ask(&mut self, operation: Operation, cost: u64, rules: &[RuleMeters]) -> Vec<Decision> {
        decide(
            &mut self.counters,
            &Check { operation, cost, rules: rules.to_vec(), lease_id: None, charged: None },
            self.now,
        )
    }

    fn consume(&mut self, rules: &[RuleMeters]) -> Vec<Decision> {
        self.ask(Operation::Consume, 1, rules)
    }

    /// Whether each limit admits a consume of 1.
    fn passes(&mut self, rules: &[RuleMeters]) -> Vec<bool> {
        self.consume(rules).iter().map(|decision| decision.allowed).collect()
    }
}

fn name(rule: u128, part: CounterPart) -> CounterName {
    let (tenant, rule) = (TenantId::from_u128(1), RuleId::from_u128(rule));
    CounterName { tenant, rule, part, subject: SubjectKey(7) }
}

fn rule(id: u128, meters: &[Meter]) -> RuleMeters {
    let slots = (0..).map(|slot| name(id, CounterPart::Slot(slot)));
    let limits = slots.zip(meters.iter().copied()).collect();
    RuleMeters { group: Group::Enforced, over: Over::Deny, block: None, limits, own_cost: None }
}

fn with_block(id: u128, block_ms: u64, meters: &[Meter]) -> RuleMeters {
    let block = BlockMeter { name: name(id, CounterPart::Block), first_ms: block_ms, blocks: None };
    RuleMeters { block: Some(block), ..rule(id, meters) }
}

fn per_minute(limit: u64) -> Meter {
    Meter::FixedWindow(FixedWindow::new(limit, 60_000).expect("valid"))
}

fn log(limit: u64, window_ms: u64, count_denied: bool) -> Meter {
    Meter::SlidingWindowLog(SlidingWindowLog::new(limit, window_ms, count_denied).expect("valid"))
}

fn remaining(decisions: &[Decision]) -> Vec<u64> {
    decisions.iter().map(|decision| decision.remaining).collect()
}

#[test]
fn two_rules_take_together_or_not_at_all() {
    let rules = [rule(1, &[per_minute(5), per_minute(9)]), rule(2, &[per_minute(2)])];
    let mut scene = Scene::new();
    assert_eq!(remaining(&scene.consume(&rules)), [4, 8, 1]);
    assert_eq!(remaining(&scene.consume(&rules)), [3, 7, 0]);
    let before = scene.counters.clone();
    let denied = scene.consume(&rules);
    assert_eq!(
        denied.iter().map(|decision| decision.allowed).collect::<Vec<_>>(),
        [true, true, false]
    );
    assert_eq!(remaining(&denied), [3, 7, 0]);
    assert_eq!(denied[2].retry_after_ms, Some(60_000));
    assert_eq!(scene.counters, before);
    assert_eq!(remaining(&scene.consume(&rules[..1])), [2, 6], "the first alone goes on");
}

#[test]
fn limits_of_a_check_see_the_same_cost_and_the_same_moment() {
    let rules = [rule(1, &[per_minute(5), log(5, 1_000, false)])];
    let mut scene = Scene::new();
    assert_eq!(remaining(&scene.ask(Operation::Consume, 4, &rules)), [1, 1]);
    let denied = scene.ask(Operation::Consume, 2, &rules);
    assert_eq!(
        denied.iter().map(|decision| decision.retry_after_ms).collect::<Vec<_>>(),
        [Some(60_000), Some(1_000)]
    );
    assert_eq!(scene.ask(Operation::Consume, 6, &rules)[0].retry_after_ms, None);
    assert_eq!(remaining(&scene.consume(&rules)), [0, 0]);
}

#[test]
fn block_lasts_from_the_first_denial_and_is_not_lengthened_by_asking() {
    let rules = [with_block(1, 5_000, &[log(1, 1_000, false)])];
    let mut scene = Scene::new();
    assert_eq!(scene.passes(&rules), [true]);
    assert_eq!(scene.pass_ms(500).consume(&rules)[0].retry_after_ms, Some(5_000));
    for _ in 0..4 {
        // The log has room after half a second; the block lasts longer.
        let decision = scene.pass_ms(1_000).consume(&rules)[0];
        assert!(!decision.allowed);
    }
    assert_eq!(scene.pass_ms(999).consume(&rules)[0].retry_after_ms, Some(1));
    assert_eq!(scene.pass_ms(1).passes(&rules), [true]);
}

#[test]
fn block_starts_only_for_the_rule_that_denied_and_not_for_a_cost_above_its_limit() {
    let rules = [with_block(1, 5_000, &[per_minute(9)]), rule(2, &[log(1, 100, false)])];
    let mut scene = Scene::new();
    scene.consume(&rules);
    assert_eq!(scene.passes(&rules), [true, false]);
    assert_eq!(scene.pass_ms(100).passes(&rules), [true, true], "no block");
    assert!(!scene.ask(Operation::Consume, 10, &rules[..1])[0].allowed);
    assert_eq!(scene.passes(&rules[..1]), [true], "no block for what can never pass");
}

#[test]
fn block_that_is_longer_than_the_rule_says_begins_again_once() {
    let mut scene = Scene::new();
    scene.consume(&[with_block(1, 90_000, &[log(1, 100, false)])]);
    scene.consume(&[with_block(1, 90_000, &[log(1, 100, false)])]);
    let edited = [with_block(1, 5_000, &[log(1, 100, false)])];
    assert_eq!(scene.pass_ms(1_000).passes(&edited), [false], "within the new length");
    assert_eq!(scene.pass_ms(4_999).passes(&edited), [false]);
    assert_eq!(scene.pass_ms(1).passes(&edited), [true]);
}

#[test]
fn peek_starts_no_block_and_reports_one() {
    let rules = [with_block(1, 5_000, &[log(1, 1_000, false)])];
    let mut scene = Scene::new();
    scene.consume(&rules);
    assert_eq!(scene.ask(Operation::Peek, 1, &rules)[0].retry_after_ms, Some(5_000));
    assert_eq!(scene.pass_ms(1_000).passes(&rules), [true]);
}

#[test]
fn log_of_denials_denies_repeated_attempts_and_admits_after_a_wait() {
    let rules = [rule(1, &[log(1, 1_000, true)])];
    let mut scene = Scene::new();
    assert_eq!(scene.passes(&rules), [true]);
    for _ in 0..10 {
        let decision = scene.pass_ms(900).consume(&rules)[0];
        assert_eq!((decision.allowed, decision.retry_after_ms), (false, Some(1_000)));
    }
    assert_eq!(scene.pass_ms(1_000).passes(&rules), [true]);
}

#[test]
fn log_of_denials_hears_of_denials_by_any_limit_but_not_of_blocks() {
    let watching = rule(1, &[log(9, 60_000, true)]);
    let strict = with_block(2, 2_000, &[log(1, 1_000, false)]);
    let rules = [watching, strict];
    let mut scene = Scene::new();
    assert_eq!(remaining(&scene.consume(&rules)), [8, 0]);
    assert_eq!(remaining(&scene.consume(&rules)), [7, 0], "denied by the other, and logged");
    assert_eq!(remaining(&scene.pass_ms(1_500).consume(&rules)), [7, 1], "a block alone is not");
}

#[test]
fn shadow_decides_and_takes_alone() {
    let shadow = |id, limit| RuleMeters { group: Group::Alone, ..rule(id, &[per_minute(limit)]) };
    let rules = [rule(1, &[per_minute(2)]), shadow(2, 1), shadow(3, 9)];
    let mut scene = Scene::new();
    assert_eq!(scene.passes(&rules), [true, true, true]);
    assert_eq!(scene.passes(&rules), [true, false, true]);
    let decisions = scene.consume(&rules);
    assert_eq!(remaining(&decisions), [0, 0, 6]);
    assert!(!decisions[0].allowed && decisions[2].allowed);
}

#[test]
fn only_admitted_checks_have_a_delay() {
    let leaky = Meter::LeakyBucket(LeakyBucket::new(5, 1, 100).expect("valid"));
    let rules = [rule(1, &[leaky, per_minute(2)])];
    let mut scene = Scene::new();
    let delays = |decisions: Vec<Decision>| decisions[0].delay_ms;
    assert_eq!(delays(scene.consume(&rules)), 0);
    assert_eq!(delays(scene.consume(&rules)), 100);
    assert_eq!(delays(scene.consume(&rules)), 0, "the other limit denies");
    assert_eq!(delays(scene.ask(Operation::Inspect, 1, &rules)), 200);
}
