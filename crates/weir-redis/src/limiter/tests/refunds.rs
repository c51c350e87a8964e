//! Units return to the window from which they were taken, and to no other.

use weir_domain::algorithm::Period;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{Fixture, START_US, charge_of, values};

const HOUR_MS: u64 = 3_600_000;

/// The rule before and after an edit, which does not change the counter of the limit.
fn edited(before: LimitDraft, after: LimitDraft) -> [[RuleCharge; 1]; 2] {
    let (before, after) = (charge_of(1, vec![before]), charge_of(1, vec![after]));
    assert_eq!(before.limits()[0].slot, after.limits()[0].slot);
    [[before], [after]]
}

fn quota(limit: u64, period: Period) -> LimitDraft {
    LimitDraft::Quota { limit, period, time_zone: "UTC".into(), anchor_day: 1 }
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
