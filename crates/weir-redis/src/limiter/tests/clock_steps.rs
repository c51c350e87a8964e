//! A clock that is set back repeatedly: counts remain, and no subject is shut out.

use weir_domain::algorithm::Kind;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, START_US, charge_of, charge_with_block, of_kind, one_of_each, passed,
};

const BACK_US: u64 = 2_000_000;

/// Whether Redis and its twin admit a unit. They must agree.
async fn takes(fixture: &mut Fixture, rules: &[weir_domain::charge::RuleCharge]) -> bool {
    let decisions = fixture.check(Operation::Consume, 1, rules).await;
    assert_eq!(
        decisions,
        fixture.check_twin(Operation::Consume, 1, rules),
        "Redis (left) and its twin differ"
    );
    passed(&decisions)
}

#[tokio::test]
async fn clock_set_back_again_and_again_admits_nothing_more() {
    for limit in one_of_each(10, 60_000) {
        let mut fixture = Fixture::new().await;
        // The second half of a minute in which no hour and no day ends.
        fixture.set_now(Micros(START_US + 90_000_000));
        let rules = [charge_of(1, vec![limit.clone()])];
        let (mut admitted, mut passed_us) = (0, 0);
        for _ in 0..20 {
            for _ in 0..15 {
                admitted += u64::from(takes(&mut fixture, &rules).await);
                fixture.set_now(Micros(fixture.now().0 + 1_000));
                passed_us += 1_000;
            }
            fixture.set_now(Micros(fixture.now().0 - BACK_US));
        }
        // Counters that drain or refill over time. Spacing admits one unit, all others admit ten.
        let flows = matches!(limit.kind(), Kind::TokenBucket | Kind::LeakyBucket);
        let refilled = if flows { 10 * passed_us / 60_000_000 } else { 0 };
        let most = if limit.kind() == Kind::Spacing { 1 } else { 10 };
        assert_eq!(admitted, most + refilled, "{limit:?}");
    }
}

#[tokio::test]
async fn clock_set_back_over_the_start_of_a_window_admits_one_window_more_at_most() {
    for kind in [Kind::FixedWindow, Kind::SlidingWindowCounter] {
        let limit = of_kind(kind, 10, 60_000);
        let mut fixture = Fixture::new().await;
        fixture.set_now(Micros(START_US - 1_000_000));
        let rules = [charge_of(1, vec![limit.clone()])];
        let mut admitted = 0;
        for _ in 0..10 {
            for _ in 0..15 {
                admitted += u64::from(takes(&mut fixture, &rules).await);
            }
            fixture.set_now(Micros(START_US + 1_000_000));
            for _ in 0..15 {
                admitted += u64::from(takes(&mut fixture, &rules).await);
            }
            fixture.set_now(Micros(START_US - 1_500_000));
        }
        assert!(admitted <= 20, "{admitted}: {limit:?}");
    }
}

#[tokio::test]
async fn clock_set_back_by_an_hour_shuts_nobody_out_for_longer_than_the_limit_says() {
    for limit in one_of_each(1, 60_000) {
        if matches!(limit, LimitDraft::Quota { .. }) {
            continue; // The day of the quota continues.
        }
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        assert!(takes(&mut fixture, &rules).await);
        fixture.set_now(Micros(START_US - 3_600_000_000));
        assert!(!takes(&mut fixture, &rules).await, "what was counted stays: {limit:?}");
        let wait_ms = fixture.check(Operation::Inspect, 1, &rules).await[0]
            .retry_after_ms
            .expect("not for ever");
        assert!(wait_ms <= 120_000, "{wait_ms}: {limit:?}");
        fixture.pass_ms(wait_ms - 1);
        assert!(!takes(&mut fixture, &rules).await, "{limit:?}");
        fixture.pass_ms(1);
        assert!(takes(&mut fixture, &rules).await, "{limit:?}");
    }
}

#[tokio::test]
async fn block_survives_a_clock_that_is_set_back_and_lasts_no_longer_than_the_rule_says() {
    let mut fixture = Fixture::new().await;
    let rules = [charge_with_block(1, 5_000, vec![LimitDraft::Spacing { interval_ms: 1 }])];
    assert!(takes(&mut fixture, &rules).await);
    assert!(!takes(&mut fixture, &rules).await, "blocked from now on");
    for _ in 0..5 {
        fixture.set_now(Micros(fixture.now().0 - BACK_US));
        assert!(!takes(&mut fixture, &rules).await);
        fixture.pass_ms(100);
        assert!(!takes(&mut fixture, &rules).await);
    }
    fixture.set_now(Micros(fixture.now().0 - 3_600_000_000));
    assert!(!takes(&mut fixture, &rules).await);
    fixture.pass_ms(4_999);
    assert!(!takes(&mut fixture, &rules).await);
    fixture.pass_ms(1);
    assert!(takes(&mut fixture, &rules).await);
}

#[tokio::test]
async fn peek_and_inspect_of_a_counter_of_the_future_write_nothing() {
    for limit in one_of_each(2, 60_000) {
        let fixture = Fixture::new().await;
        let rules = [charge_with_block(1, 5_000, vec![limit.clone()])];
        fixture.exhaust(&rules).await;
        fixture.set_now(Micros(START_US - 200_000_000));
        let before = super::fixture::values(fixture.dump().await);
        let inspected = fixture.check(Operation::Inspect, 1, &rules).await;
        fixture.check(Operation::Peek, 1, &rules).await;
        assert_eq!(super::fixture::values(fixture.dump().await), before, "{limit:?}");
        assert!(!passed(&inspected), "{limit:?}");
    }
}
