//! Units return to the window from which they were taken, and to no other.

use weir_domain::algorithm::{Period, REFUNDED_ENTRIES_MAX};
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::decide::{Decision, name_charge};
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{Fixture, START_US, charge_of, one_of_each, passed, values};
use crate::limiter::{Answer, ScriptCheck};

const HOUR_MS: u64 = 3_600_000;

/// The rule before and after an edit, which does not change the counter of the limit.
fn edited(before: LimitDraft, after: LimitDraft) -> [[RuleCharge; 1]; 2] {
    let (before, after) = (charge_of(1, vec![before]), charge_of(1, vec![after]));
    assert_eq!(before.limits()[0].slot, after.limits()[0].slot);
    [[before], [after]]
}

fn quota(limit: u64, period: Period) -> LimitDraft {
    LimitDraft::Quota { limit, period, time_zone: "UTC".into(), anchor_day: 1, ends_at: None }
}

fn fixed(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::FixedWindow { limit, window_ms }
}

fn counter(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::SlidingWindowCounter { limit, window_ms }
}

#[tokio::test]
async fn refund_after_the_window_was_edited_changes_nothing() {
    let edits = [
        edited(quota(1_000, Period::Day), quota(2_000, Period::Month)),
        edited(quota(1_000, Period::Month), quota(2_000, Period::Day)),
        edited(fixed(1_000, HOUR_MS), fixed(2_000, 24 * HOUR_MS)),
        edited(fixed(1_000, 24 * HOUR_MS), fixed(2_000, HOUR_MS)),
        edited(counter(1_000, 60_000), counter(2_000, HOUR_MS)),
        edited(counter(1_000, HOUR_MS), counter(2_000, 60_000)),
    ];
    for [before, after] in edits {
        let mut fixture = Fixture::new().await;
        // Half past twelve, when all these windows begin at different times.
        fixture.set_now(Micros(START_US + 1_800_000_000));
        for (rules, operation, cost) in [
            (&before, Operation::Consume, 600),
            (&after, Operation::Consume, 1),
            (&before, Operation::Refund, 600),
            (&after, Operation::Inspect, 1),
        ] {
            let expected = fixture.check_twin(operation, cost, rules);
            let at_rest = values(fixture.dump().await);
            assert_eq!(fixture.check(operation, cost, rules).await, expected, "{before:?}");
            if operation == Operation::Refund {
                assert_eq!(values(fixture.dump().await), at_rest, "{before:?}");
            }
        }
        // Units return to their own window.
        let left = fixture.check(Operation::Inspect, 1, &after).await[0].remaining;
        assert_eq!(fixture.check(Operation::Refund, 1, &after).await[0].remaining, left + 1);
    }
}

#[tokio::test]
async fn units_that_were_counted_stay_counted_when_a_lease_comes_back_late() {
    // 600 units of an hour are taken in advance. The hour becomes a day, which retains them.
    let [hour, day] = edited(fixed(1_000, HOUR_MS), fixed(2_000, 24 * HOUR_MS));
    let fixture = Fixture::new().await;
    fixture.set_now(Micros(START_US + 1_800_000_000));
    fixture.check(Operation::Consume, 600, &hour).await;
    let decisions = fixture.check(Operation::Consume, 1, &day).await;
    assert_eq!(decisions[0].remaining, 1_399);
    fixture.check(Operation::Refund, 100, &hour).await;
    assert_eq!(fixture.check(Operation::Inspect, 1, &day).await[0].remaining, 1_399);
}

#[tokio::test]
async fn refund_of_a_window_with_the_same_start_and_another_end_changes_nothing() {
    let [hour, day] = edited(fixed(1_000, HOUR_MS), fixed(2_000, 24 * HOUR_MS));
    let fixture = Fixture::new().await;
    // A minute after midnight.
    fixture.set_now(Micros(START_US + 12 * 3_600_000_000 + 60_000_000));
    fixture.check(Operation::Consume, 600, &hour).await;
    fixture.check(Operation::Consume, 1, &day).await;
    let before = fixture.dump().await;
    fixture.check(Operation::Refund, 100, &hour).await;
    assert_eq!(values(fixture.dump().await), values(before));
    assert_eq!(fixture.check(Operation::Refund, 100, &day).await[0].remaining, 1_499);
}

#[tokio::test]
async fn refund_in_the_next_window_gives_back_to_a_sliding_one_and_not_to_a_fixed_one() {
    for (limit, left) in [(counter(10, 60_000), 8), (fixed(10, 60_000), 10)] {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        fixture.check(Operation::Consume, 6, &rules).await;
        fixture.pass_ms(60_000);
        fixture.check(Operation::Refund, 4, &rules).await;
        assert_eq!(
            fixture.check(Operation::Inspect, 1, &rules).await[0].remaining,
            left,
            "{limit:?}"
        );
    }
}

fn bucket() -> LimitDraft {
    LimitDraft::TokenBucket { capacity: 5, refill_tokens: 5, refill_interval_ms: 60_000 }
}

/// Charges a check that passes.
async fn charged(fixture: &Fixture, cost: u64, rules: &[RuleCharge]) -> Charged {
    let decisions = fixture.check(Operation::Consume, cost, rules).await;
    assert!(passed(&decisions), "{decisions:?}");
    name_charge(fixture.now(), cost, rules, Some(&decisions)).expect("it charged a rule")
}

/// The decision of the first limit after a refund of this charge.
async fn refund(fixture: &Fixture, charged: &Charged, rules: &[RuleCharge]) -> Decision {
    let asked = fixture.asked(Operation::Refund, charged.cost, rules);
    let asked = ScriptCheck { charged: Some(charged), ..asked };
    match fixture.check_all(vec![asked]).await.remove(0) {
        Answer::Decided(_, decisions) => decisions[0],
        other => panic!("not decided: {other:?}"),
    }
}

#[tokio::test]
async fn refund_of_a_charge_gives_back_what_is_still_counted() {
    for limit in one_of_each(5, 60_000) {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let full = fixture.check(Operation::Inspect, 1, &rules).await[0].remaining;
        let charge = charged(&fixture, 3, &rules).await;
        let takes_back = rules[0].limits()[0].algorithm.refundable();
        let after = refund(&fixture, &charge, &rules).await;
        assert_eq!(
            (after.returned, after.remaining == full),
            (takes_back, takes_back),
            "{limit:?}"
        );
        assert!(!refund(&fixture, &charge, &rules).await.returned, "nothing is left: {limit:?}");
    }
}

#[tokio::test]
async fn refund_of_a_charge_of_a_former_window_does_not_enlarge_the_next_one() {
    let limits = [fixed(5, 60_000), quota(5, Period::Day), counter(5, 60_000), bucket()];
    for limit in limits {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let mut charges = Vec::new();
        for _ in 0..5 {
            charges.push(charged(&fixture, 1, &rules).await);
        }
        // As many units are counted anew, two windows later.
        fixture.pass_ms(2 * 24 * HOUR_MS);
        for _ in 0..5 {
            charged(&fixture, 1, &rules).await;
        }
        for charge in &charges {
            let after = refund(&fixture, charge, &rules).await;
            assert_eq!((after.returned, after.remaining), (false, 0), "{limit:?}");
        }
        // A refund that names nothing returns units of others.
        let after = fixture.check(Operation::Refund, 1, &rules).await[0];
        assert_eq!((after.returned, after.remaining), (true, 1), "{limit:?}");
    }
}

#[tokio::test]
async fn refund_of_an_entry_frees_its_part_of_the_window_and_no_other() {
    let fixture = Fixture::new().await;
    let log = LimitDraft::SlidingWindowLog { limit: 5, window_ms: 60_000, count_denied: false };
    let rules = [charge_of(1, vec![log])];
    let mut charges = Vec::new();
    for _ in 0..5 {
        charges.push(charged(&fixture, 1, &rules).await);
        fixture.pass_ms(1_000);
    }
    assert_eq!(refund(&fixture, &charges[1], &rules).await.remaining, 1);
    assert!(!refund(&fixture, &charges[1], &rules).await.returned);
    charged(&fixture, 1, &rules).await;
    // The entries of 0, 2, 3, 4 and 5 seconds leave one after the other.
    for (at_ms, left) in
        [(60_000, 1), (61_000, 1), (62_000, 2), (63_000, 3), (64_000, 4), (65_000, 5)]
    {
        fixture.set_now(Micros(START_US + at_ms * 1_000));
        let inspected = fixture.check(Operation::Inspect, 1, &rules).await;
        assert_eq!(inspected[0].remaining, left, "{at_ms}");
    }
}

#[tokio::test]
async fn refund_of_an_entry_with_very_many_newer_ones_changes_nothing() {
    let fixture = Fixture::new().await;
    let limit = REFUNDED_ENTRIES_MAX as u64 + 2;
    let log = LimitDraft::SlidingWindowLog { limit, window_ms: 60_000, count_denied: false };
    let rules = [charge_of(1, vec![log])];
    let (first, second) = (charged(&fixture, 1, &rules).await, {
        fixture.pass_ms(1);
        charged(&fixture, 1, &rules).await
    });
    for _ in 1..REFUNDED_ENTRIES_MAX {
        fixture.pass_ms(1);
        charged(&fixture, 1, &rules).await;
    }
    assert!(!refund(&fixture, &first, &rules).await.returned);
    let after = refund(&fixture, &second, &rules).await;
    assert_eq!((after.returned, after.remaining), (true, 2));
}

/// Others took tokens meanwhile. Those of the charge refill first.
#[tokio::test]
async fn refund_of_a_charge_to_a_bucket_gives_back_what_has_not_refilled() {
    for (wait_ms, left) in [(0, 2), (12_000, 2), (24_000, 2), (36_000, 3), (60_000, 5)] {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![bucket()])];
        let charge = charged(&fixture, 2, &rules).await;
        charged(&fixture, 3, &rules).await;
        fixture.pass_ms(wait_ms);
        assert_eq!(refund(&fixture, &charge, &rules).await.remaining, left, "{wait_ms}");
    }
}
