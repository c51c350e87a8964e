//! Used units stay used when a window, a period, its first day or its time zone is edited.

use weir_domain::algorithm::Period;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{Fixture, START_US, charge_of, passed};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

fn quota(period: Period, time_zone: &str, anchor_day: u16) -> LimitDraft {
    LimitDraft::Quota { limit: 50, period, time_zone: time_zone.into(), anchor_day, ends_at: None }
}

fn fixed(window_ms: u64) -> LimitDraft {
    LimitDraft::FixedWindow { limit: 50, window_ms }
}

fn counter(window_ms: u64) -> LimitDraft {
    LimitDraft::SlidingWindowCounter { limit: 50, window_ms }
}

fn log(window_ms: u64) -> LimitDraft {
    LimitDraft::SlidingWindowLog { limit: 50, window_ms, count_denied: false }
}

/// Friday, 21 November, half past one in UTC.
fn edits() -> Vec<(LimitDraft, LimitDraft)> {
    use Period::{Day, Month, Week, Year};
    vec![
        (fixed(DAY_MS), fixed(12 * HOUR_MS)),
        (fixed(12 * HOUR_MS), fixed(DAY_MS)),
        (fixed(HOUR_MS), fixed(90 * 60_000)),
        (counter(DAY_MS), counter(HOUR_MS)),
        (counter(HOUR_MS), counter(DAY_MS)),
        (log(DAY_MS), log(HOUR_MS)),
        (log(HOUR_MS), log(DAY_MS)),
        (quota(Month, "UTC", 1), quota(Week, "UTC", 1)),
        (quota(Week, "UTC", 1), quota(Month, "UTC", 1)),
        (quota(Year, "UTC", 1), quota(Month, "UTC", 1)),
        (quota(Month, "UTC", 1), quota(Month, "UTC", 21)),
        (quota(Month, "UTC", 15), quota(Month, "UTC", 1)),
        (quota(Day, "UTC", 1), quota(Day, "Asia/Kathmandu", 1)),
        (quota(Day, "UTC", 1), quota(Day, "America/St_Johns", 1)),
        (quota(Day, "Asia/Kathmandu", 1), quota(Day, "America/St_Johns", 1)),
    ]
}

#[tokio::test]
async fn units_that_were_used_a_second_ago_stay_used_until_the_new_window_ends() {
    for (before, after) in edits() {
        let mut fixture = Fixture::new().await;
        fixture.set_now(Micros(START_US + 90 * 60_000_000));
        let old = [charge_of(1, vec![before.clone()])];
        let new = [charge_of(1, vec![after.clone()])];
        fixture.check(Operation::Consume, 40, &old).await;
        fixture.check_twin(Operation::Consume, 40, &old);
        fixture.pass_ms(1_000);
        let denied = fixture.check(Operation::Consume, 11, &new).await;
        assert_eq!((denied[0].allowed, denied[0].remaining), (false, 10), "{before:?}: {after:?}");
        assert_eq!(fixture.check_twin(Operation::Consume, 11, &new), denied, "{after:?}");
        // The promise holds, although a denied check stores nothing.
        fixture.pass_ms(denied[0].retry_after_ms.expect("it can pass") - 1);
        assert!(!passed(&fixture.check(Operation::Consume, 11, &new).await), "{after:?}");
        fixture.pass_ms(1);
        let admitted = fixture.check(Operation::Consume, 11, &new).await;
        assert!(passed(&admitted), "{before:?}: {after:?}");
    }
}

#[tokio::test]
async fn units_that_were_used_before_the_new_window_do_not_count_in_it() {
    for (before, after) in [
        (fixed(7 * DAY_MS), fixed(HOUR_MS)),
        (counter(7 * DAY_MS), counter(HOUR_MS)),
        (quota(Period::Month, "UTC", 1), quota(Period::Day, "UTC", 1)),
    ] {
        let fixture = Fixture::new().await;
        let (old, new) = ([charge_of(1, vec![before])], [charge_of(1, vec![after.clone()])]);
        // An hour and a half before midnight, and half an hour after it. The former window holds both.
        fixture.set_now(Micros(START_US - 12 * 3_600_000_000 - 90 * 60_000_000));
        fixture.check(Operation::Consume, 40, &old).await;
        fixture.pass_ms(90 * 60_000 + 30 * 60_000);
        let left = fixture.check(Operation::Inspect, 1, &new).await[0].remaining;
        assert_eq!(left, 50, "{after:?}");
    }
}

/// The units of both windows of a counter are of the present day.
#[tokio::test]
async fn counter_keeps_the_units_of_both_windows_when_its_window_grows() {
    let fixture = Fixture::new().await;
    let (old, new) =
        ([charge_of(1, vec![counter(HOUR_MS)])], [charge_of(1, vec![counter(DAY_MS)])]);
    fixture.check(Operation::Consume, 20, &old).await;
    fixture.pass_ms(HOUR_MS);
    fixture.check(Operation::Consume, 20, &old).await;
    assert_eq!(fixture.check(Operation::Inspect, 1, &new).await[0].remaining, 10);
}

/// A gate of the release before stores the start of the window in place of the time of the last charge.
#[tokio::test]
async fn counter_of_an_earlier_release_is_read() {
    for limit in [fixed(HOUR_MS), counter(HOUR_MS), quota(Period::Day, "UTC", 1)] {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        // The time of the first charge is the start of the window.
        let start_us = START_US
            - if matches!(limit, LimitDraft::Quota { .. }) { 12 * 3_600_000_000 } else { 0 };
        fixture.set_now(Micros(start_us));
        fixture.check(Operation::Consume, 40, &rules).await;
        fixture.set_now(Micros(START_US + 60_000_000));
        let after = fixture.check(Operation::Refund, 5, &rules).await[0];
        assert_eq!((after.returned, after.remaining), (true, 15), "{limit:?}");
    }
}
