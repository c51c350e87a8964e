//! The exact microseconds at which windows and blocks begin or end, and at which a stamp no longer holds.

use weir_domain::algorithm::Kind;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, START_US, charge_of, charge_with_block, of_kind, one_of_each, passed,
};

const DAY_US: u64 = 86_400_000_000;
const MIDNIGHT_US: u64 = START_US + DAY_US / 2;
/// The most by which a stamp can be ahead of the clock and still hold.
const SLACK_US: u64 = 1_000_000;

/// Sends the check to Redis and to its twin. Their answers must agree.
async fn check(
    fixture: &mut Fixture,
    operation: Operation,
    now_us: u64,
    rules: &[RuleCharge],
) -> Vec<Decision> {
    fixture.set_now(Micros(now_us));
    let decisions = fixture.check(operation, 1, rules).await;
    assert_eq!(
        decisions,
        fixture.check_twin(operation, 1, rules),
        "Redis (left) and its twin differ"
    );
    decisions
}

async fn take(fixture: &mut Fixture, now_us: u64, rules: &[RuleCharge]) -> bool {
    passed(&check(fixture, Operation::Consume, now_us, rules).await)
}

fn two_a_day() -> LimitDraft {
    of_kind(Kind::Quota, 2, 1)
}

#[tokio::test]
async fn unit_is_free_again_at_its_microsecond_and_not_one_before() {
    // Two units a second, taken at once at the start of a window, and the time at which the first is free again.
    let free_after_us = [1_000_000, 1_000_000, 1_001_000, 500_000, 500_000, 1_000_000, DAY_US / 2];
    let limits = one_of_each(2, 1_000);
    assert_eq!(limits.len(), free_after_us.len(), "every algorithm has its time");
    for (limit, free_after_us) in limits.into_iter().zip(free_after_us) {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let free_us = START_US + free_after_us;
        take(&mut fixture, START_US, &rules).await;
        take(&mut fixture, START_US, &rules).await;
        for operation in [Operation::Inspect, Operation::Peek] {
            assert!(
                !passed(&check(&mut fixture, operation, free_us - 1, &rules).await),
                "{limit:?}"
            );
        }
        let decision = check(&mut fixture, Operation::Inspect, free_us, &rules).await[0];
        assert!(decision.allowed && decision.remaining > 0, "{limit:?}: {decision:?}");
        assert!(take(&mut fixture, free_us, &rules).await, "{limit:?}");
    }
}

#[tokio::test]
async fn entries_leave_a_log_one_by_one() {
    let mut fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![of_kind(Kind::SlidingWindowLog, 2, 1_000)])];
    assert!(take(&mut fixture, START_US, &rules).await);
    assert!(take(&mut fixture, START_US + 10_000, &rules).await);
    assert!(!take(&mut fixture, START_US + 999_999, &rules).await);
    let decision = check(&mut fixture, Operation::Inspect, START_US + 1_000_000, &rules).await[0];
    assert_eq!((decision.remaining, decision.reset_after_ms), (1, 10));
    assert!(take(&mut fixture, START_US + 1_000_000, &rules).await);
    assert!(!take(&mut fixture, START_US + 1_009_999, &rules).await);
    assert!(take(&mut fixture, START_US + 1_010_000, &rules).await);
}

#[tokio::test]
async fn time_stands_still_for_a_stamp_up_to_a_second_ahead_and_then_the_stamp_is_pulled_back() {
    for limit in one_of_each(1, 60_000) {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        // The stamp of a window is its start.
        assert!(take(&mut fixture, MIDNIGHT_US, &rules).await);
        let mut wait_ms = async |at_us| {
            let decision = check(&mut fixture, Operation::Consume, at_us, &rules).await[0];
            assert!(!decision.allowed, "{limit:?}");
            decision.retry_after_ms.expect("not for ever")
        };
        let at_us = MIDNIGHT_US - SLACK_US;
        let (small, larger) = (wait_ms(at_us).await, wait_ms(at_us - 1).await);
        // The window that is next by the clock continues to be counted.
        let windows =
            matches!(limit.kind(), Kind::FixedWindow | Kind::SlidingWindowCounter | Kind::Quota);
        let expected = if windows { small + 1 } else { small - 1_000 };
        assert_eq!(larger, expected, "{limit:?}");
    }
}

#[tokio::test]
async fn next_window_is_counted_up_to_a_minute_ahead_and_then_pulled_back() {
    const STEP_US: u64 = 60_000_000;
    let windows = [(of_kind(Kind::FixedWindow, 1, 600_000), 600_000), (two_a_day(), 86_400_000)];
    for (limit, window_ms) in windows {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        while take(&mut fixture, MIDNIGHT_US, &rules).await {}
        let decision =
            check(&mut fixture, Operation::Consume, MIDNIGHT_US - STEP_US, &rules).await[0];
        assert_eq!(decision.retry_after_ms, Some(60_000 + window_ms), "{limit:?}");
        let decision =
            check(&mut fixture, Operation::Consume, MIDNIGHT_US - STEP_US - 1, &rules).await[0];
        assert_eq!((decision.allowed, decision.retry_after_ms), (false, Some(60_001)), "{limit:?}");
        assert!(take(&mut fixture, MIDNIGHT_US, &rules).await, "one window more: {limit:?}");
    }
}

#[tokio::test]
async fn block_lasts_up_to_a_second_longer_than_the_rule_says_and_then_begins_again() {
    let mut fixture = Fixture::new().await;
    let rules = [charge_with_block(1, 5_000, vec![LimitDraft::Spacing { interval_ms: 1 }])];
    take(&mut fixture, START_US, &rules).await;
    assert!(!take(&mut fixture, START_US, &rules).await, "blocked from now on");
    let decision = check(&mut fixture, Operation::Inspect, START_US - SLACK_US, &rules).await[0];
    assert_eq!((decision.allowed, decision.retry_after_ms), (false, Some(6_000)));
    let decision =
        check(&mut fixture, Operation::Consume, START_US - SLACK_US - 1, &rules).await[0];
    assert_eq!((decision.allowed, decision.retry_after_ms), (false, Some(5_000)));
    // The block ends at its exact microsecond.
    let rules = [charge_with_block(2, 5_000, vec![LimitDraft::Spacing { interval_ms: 1 }])];
    take(&mut fixture, START_US, &rules).await;
    take(&mut fixture, START_US, &rules).await;
    assert!(!take(&mut fixture, START_US + 4_999_999, &rules).await);
    assert!(take(&mut fixture, START_US + 5_000_000, &rules).await);
}

#[tokio::test]
async fn day_ends_at_midnight_whichever_day_the_limiter_thought_it_was() {
    // The limiter assumes the day before: midnight is the start of the next period.
    let mut fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![two_a_day()])];
    take(&mut fixture, MIDNIGHT_US - 10_000, &rules).await;
    take(&mut fixture, MIDNIGHT_US - 10_000, &rules).await;
    assert!(!take(&mut fixture, MIDNIGHT_US - 1, &rules).await);
    assert!(take(&mut fixture, MIDNIGHT_US, &rules).await);

    // The limiter assumes the day after: midnight is the start of the present period.
    let (mut fixture, other) = (Fixture::new().await, [charge_of(2, vec![two_a_day()])]);
    take(&mut fixture, MIDNIGHT_US - 10_000, &rules).await;
    take(&mut fixture, MIDNIGHT_US - 10_000, &rules).await;
    take(&mut fixture, MIDNIGHT_US + 1_000, &other).await;
    assert!(take(&mut fixture, MIDNIGHT_US, &rules).await);

    // The limiter assumes the day before the day before, with a stamp of the day after.
    let mut fixture = Fixture::new().await;
    take(&mut fixture, MIDNIGHT_US, &rules).await;
    take(&mut fixture, MIDNIGHT_US, &rules).await;
    take(&mut fixture, MIDNIGHT_US - 3 * DAY_US / 2, &other).await;
    let decision = check(&mut fixture, Operation::Consume, MIDNIGHT_US - SLACK_US, &rules).await[0];
    assert_eq!((decision.allowed, decision.retry_after_ms), (false, Some(86_401_000)));
}
