//! Units that are held outside the counters until a commit, or until their time has passed.

use weir_domain::algorithm::Kind;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::{LimitDraft, Over, RuleDraft};
use weir_domain::request::Operation;
use weir_domain::reservation::{Commit, Exhaust, ReservationId, Reserve, Settlement};
use weir_domain::rule::Rule;
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, charge, charge_of, charge_with_block, connection, counts_units, draft, of_kind,
    passed, shadow_of, values,
};

const HOUR_MS: u64 = 3_600_000;
const TTL_MS: u64 = 60_000;

fn reserve(id: u8, at_most: bool) -> Operation {
    Operation::Reserve(Reserve { id: ReservationId([id; 16]), ttl_ms: TTL_MS, at_most })
}

/// Reserves in Redis and in the twin, which must agree. Returns the decisions, and the commit if units are held.
async fn hold(
    fixture: &mut Fixture,
    (id, at_most): (u8, bool),
    cost: u64,
    rules: &[RuleCharge],
) -> (Vec<Decision>, Option<(u64, Commit)>) {
    let operation = reserve(id, at_most);
    let settled = fixture.settle(operation, cost, rules).await.expect("a reserve is decided");
    let expected = fixture.settle_twin(operation, cost, rules).expect("the same");
    assert_eq!((settled.0.clone(), Some(settled.1)), expected, "Redis (left) and its twin");
    let (decisions, Settlement::Held { units, ends }) = settled else { panic!("not a reserve") };
    let commit = Commit { id: ReservationId([id; 16]), ends };
    (decisions, (units > 0).then_some((units, commit)))
}

async fn commit(
    fixture: &mut Fixture,
    commit: Commit,
    cost: u64,
    rules: &[RuleCharge],
) -> Option<(u64, u64)> {
    let operation = Operation::Commit(commit);
    let settled = fixture.settle(operation, cost, rules).await;
    let expected = fixture.settle_twin(operation, cost, rules);
    let same = settled.clone().map(|(decisions, settlement)| (decisions, Some(settlement)));
    assert_eq!(same, expected, "Redis (left) and its twin");
    match settled {
        Some((_, Settlement::Released { units, charged })) => Some((units, charged)),
        None => None,
        other => panic!("not a commit: {other:?}"),
    }
}

async fn remaining(fixture: &mut Fixture, rules: &[RuleCharge]) -> u64 {
    let decisions = fixture.check(Operation::Inspect, 1, rules).await;
    assert_eq!(decisions, fixture.check_twin(Operation::Inspect, 1, rules));
    decisions[0].remaining
}

fn window(limit: u64) -> [RuleCharge; 1] {
    [charge_of(1, vec![LimitDraft::FixedWindow { limit, window_ms: 24 * HOUR_MS }])]
}

#[tokio::test]
async fn reserved_units_are_missing_to_checks_until_the_commit_charges_the_actual_cost() {
    for kind in Kind::ALL.iter().filter(|&&kind| counts_units(kind)) {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![of_kind(*kind, 10, 24 * HOUR_MS)])];
        let (decisions, held) = hold(&mut fixture, (1, false), 6, &rules).await;
        assert!(passed(&decisions) && decisions[0].remaining == 4, "{kind:?}: {decisions:?}");
        let (units, open) = held.expect("held");
        assert_eq!(units, 6);
        let denied = fixture.check(Operation::Consume, 5, &rules).await;
        assert_eq!(fixture.check_twin(Operation::Consume, 5, &rules), denied, "{kind:?}");
        assert!(!passed(&denied), "{kind:?}");
        assert_eq!(denied[0].retry_after_ms, Some(TTL_MS), "{kind:?}: when the reservation ends");
        let (decisions, none) = hold(&mut fixture, (2, false), 5, &rules).await;
        assert!(!passed(&decisions) && none.is_none(), "{kind:?}");
        assert!(passed(&fixture.check(Operation::Consume, 4, &rules).await), "{kind:?}");
        fixture.check_twin(Operation::Consume, 4, &rules);
        assert_eq!(commit(&mut fixture, open, 2, &rules).await, Some((6, 2)), "{kind:?}");
        assert_eq!(remaining(&mut fixture, &rules).await, 4, "{kind:?}");
        assert_eq!(commit(&mut fixture, open, 2, &rules).await, None, "{kind:?}: it is closed");
        assert_eq!(remaining(&mut fixture, &rules).await, 4, "{kind:?}");
    }
}

#[tokio::test]
async fn abandoned_reservation_returns_its_units_when_it_ends_and_leaves_the_counter_unchanged() {
    for kind in Kind::ALL.iter().filter(|&&kind| counts_units(kind)) {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![of_kind(*kind, 1_000, 24 * HOUR_MS)])];
        fixture.check(Operation::Consume, 300, &rules).await;
        fixture.check_twin(Operation::Consume, 300, &rules);
        let before = fixture.twin.clone();
        hold(&mut fixture, (1, false), 700, &rules).await.1.expect("held");
        assert_eq!(remaining(&mut fixture, &rules).await, 0, "{kind:?}");
        fixture.pass_ms(TTL_MS - 1);
        let left = remaining(&mut fixture, &rules).await;
        fixture.pass_ms(1);
        assert!(remaining(&mut fixture, &rules).await >= left + 700, "{kind:?}");
        // The twin agrees with Redis, and its counter is the one from before.
        assert_eq!(fixture.twin.0, before.0, "{kind:?}");
        let cost = remaining(&mut fixture, &rules).await;
        assert!(passed(&fixture.check(Operation::Consume, cost, &rules).await), "{kind:?}");
        let keys = fixture.dump().await;
        assert!(!keys.keys().any(|key| key.contains(":r:")), "it was removed: {:?}", keys.keys());
    }
}

#[tokio::test]
async fn excess_over_a_reservation_is_a_debt_and_a_cancel_charges_nothing() {
    let mut fixture = Fixture::new().await;
    let rules = window(10);
    let (_, open) = hold(&mut fixture, (1, false), 6, &rules).await.1.expect("held");
    let other = hold(&mut fixture, (2, false), 4, &rules).await.1.expect("held").1;
    assert_eq!(commit(&mut fixture, open, 25, &rules).await, Some((6, 25)));
    assert_eq!(remaining(&mut fixture, &rules).await, 0);
    assert_eq!(commit(&mut fixture, other, 0, &rules).await, Some((4, 0)));
    let refunded = fixture.check(Operation::Refund, 15, &rules).await;
    assert_eq!(refunded[0].remaining, 0, "25 were charged");
}

#[tokio::test]
async fn reservation_at_most_holds_what_is_left_of_all_limits() {
    let mut fixture = Fixture::new().await;
    let tight = charge(
        2,
        Rule::parse(RuleDraft {
            over: Over::Debt,
            ..draft(vec![LimitDraft::FixedWindow { limit: 1, window_ms: HOUR_MS }])
        })
        .expect("a valid rule"),
        7,
    );
    let spaced = charge_of(3, vec![LimitDraft::Spacing { interval_ms: 1 }]);
    let rules = [window(10)[0].clone(), tight, spaced];
    fixture.check(Operation::Record, 3, &rules[..1]).await;
    fixture.check_twin(Operation::Record, 3, &rules[..1]);
    let (decisions, held) = hold(&mut fixture, (1, true), 500, &rules).await;
    assert!(passed(&decisions), "{decisions:?}");
    let (units, open) = held.expect("held");
    assert_eq!(units, 7, "the rest of the first; a rule with debts and a spacing bound nothing");
    fixture.pass_ms(1);
    let (decisions, none) = hold(&mut fixture, (2, true), 500, &rules).await;
    assert!(!decisions[0].allowed && none.is_none(), "nothing is left");
    assert_eq!(decisions[0].retry_after_ms, Some(TTL_MS - 1));
    assert_eq!(commit(&mut fixture, open, 5, &rules).await, Some((7, 5)));
    assert_eq!(remaining(&mut fixture, &rules).await, 2);
}

#[tokio::test]
async fn denied_reservation_leaves_all_keys_byte_for_byte_and_counts_as_a_denial() {
    let mut fixture = Fixture::new().await;
    let rules = [window(10)[0].clone(), charge_of(2, vec![of_kind(Kind::TokenBucket, 3, HOUR_MS)])];
    fixture.check(Operation::Consume, 1, &rules).await;
    fixture.check_twin(Operation::Consume, 1, &rules);
    let before = values(fixture.dump().await);
    let (decisions, none) = hold(&mut fixture, (1, false), 5, &rules).await;
    assert!(decisions[0].allowed && !decisions[1].allowed && none.is_none());
    assert_eq!(values(fixture.dump().await), before);
    let blocked = [charge_with_block(9, 5_000, vec![of_kind(Kind::FixedWindow, 1, HOUR_MS)])];
    hold(&mut fixture, (2, false), 1, &blocked).await.1.expect("held");
    let (decisions, _) = hold(&mut fixture, (3, false), 1, &blocked).await;
    assert_eq!(decisions[0].retry_after_ms, Some(TTL_MS));
    let (decisions, _) = hold(&mut fixture, (4, false), 1, &blocked).await;
    assert!(!decisions[0].allowed, "a block began");
}

#[tokio::test]
async fn spacing_begins_with_the_reservation_and_its_commit_does_not_count_again() {
    let mut fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![LimitDraft::Spacing { interval_ms: 1_000 }])];
    let (_, open) = hold(&mut fixture, (1, false), 5, &rules).await.1.expect("admitted");
    let (decisions, _) = hold(&mut fixture, (2, false), 5, &rules).await;
    assert_eq!(decisions[0].retry_after_ms, Some(1_000));
    fixture.pass_ms(999);
    assert_eq!(commit(&mut fixture, open, 5, &rules).await, None, "it holds nothing");
    fixture.pass_ms(1);
    assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
}

#[tokio::test]
async fn shadow_rule_denies_no_reservation_and_its_own_denial_holds_nothing() {
    let mut fixture = Fixture::new().await;
    let shadow = shadow_of(2, vec![LimitDraft::FixedWindow { limit: 3, window_ms: HOUR_MS }]);
    let rules = [window(10)[0].clone(), shadow];
    let (decisions, held) = hold(&mut fixture, (1, false), 5, &rules).await;
    assert!(decisions[0].allowed && !decisions[1].allowed);
    assert_eq!((decisions[0].remaining, decisions[1].remaining), (5, 3));
    let (_, open) = held.expect("held");
    assert_eq!(commit(&mut fixture, open, 5, &rules).await, Some((5, 5)));
    let decisions = fixture.check(Operation::Inspect, 1, &rules).await;
    assert_eq!((decisions[0].remaining, decisions[1].remaining), (5, 0), "records charge all");
}

#[tokio::test]
async fn subject_has_a_thousand_open_reservations_at_most_and_the_denial_states_when_the_next_ends()
{
    let mut fixture = Fixture::new().await;
    let rules = window(1_000_000);
    for at in 0..1_000_u16 {
        let mut id = [0; 16];
        id[..2].copy_from_slice(&at.to_be_bytes());
        let operation =
            Operation::Reserve(Reserve { id: ReservationId(id), ttl_ms: TTL_MS, at_most: false });
        let (decisions, _) = fixture.settle(operation, 1, &rules).await.expect("decided");
        assert!(passed(&decisions), "{at}");
        fixture.settle_twin(operation, 1, &rules);
        fixture.pass_ms(1);
    }
    let (decisions, none) = hold(&mut fixture, (255, false), 1, &rules).await;
    assert!(!passed(&decisions) && none.is_none());
    assert_eq!(decisions[0].retry_after_ms, Some(TTL_MS - 1_000));
    assert!(
        passed(&fixture.check(Operation::Consume, 1, &rules).await),
        "checks are not concerned"
    );
    fixture.check_twin(Operation::Consume, 1, &rules);
    fixture.pass_ms(TTL_MS - 1_000);
    hold(&mut fixture, (254, false), 1, &rules).await.1.expect("one has ended");
}

#[tokio::test]
async fn wait_of_a_denied_check_is_exact_beside_reservations_of_different_ends() {
    for kind in [Kind::FixedWindow, Kind::TokenBucket, Kind::SlidingWindowLog] {
        let mut fixture = Fixture::new().await;
        // A token each 100 s.
        let rules = [charge_of(1, vec![of_kind(kind, 100, 10_000_000)])];
        for id in 1..=4 {
            hold(&mut fixture, (id, false), 25, &rules).await.1.expect("held");
            fixture.pass_ms(7_000);
        }
        for cost in [1, 25, 26, 60, 100] {
            let denied = fixture.check(Operation::Peek, cost, &rules).await;
            let wait_ms = denied[0].retry_after_ms.expect("a wait");
            assert_eq!(fixture.check_twin(Operation::Peek, cost, &rules), denied);
            let now = fixture.now();
            fixture.pass_ms(wait_ms - 1);
            assert!(
                !passed(&fixture.check(Operation::Peek, cost, &rules).await),
                "{kind:?} {cost}"
            );
            fixture.pass_ms(1);
            assert!(passed(&fixture.check(Operation::Peek, cost, &rules).await), "{kind:?} {cost}");
            fixture.set_now(now);
        }
        let denied = fixture.check(Operation::Peek, 101, &rules).await;
        assert_eq!(denied[0].retry_after_ms, None, "{kind:?}: never");
    }
}

#[tokio::test]
async fn reservation_from_before_the_clock_was_set_back_far_counts_as_ended() {
    let mut fixture = Fixture::new().await;
    let rules = window(10);
    let (_, open) = hold(&mut fixture, (1, false), 10, &rules).await.1.expect("held");
    fixture.set_now(Micros(fixture.now().0 - 400_000_000));
    assert_eq!(remaining(&mut fixture, &rules).await, 0, "it lasts ten minutes at most");
    fixture.set_now(Micros(fixture.now().0 - 400_000_000));
    assert_eq!(remaining(&mut fixture, &rules).await, 10);
    assert_eq!(commit(&mut fixture, open, 3, &rules).await, None);
}

#[tokio::test]
async fn exhausted_limits_deny_for_that_time_and_their_counters_stay_unchanged() {
    for kind in Kind::ALL.iter().filter(|&&kind| counts_units(kind)) {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![of_kind(*kind, 10, 24 * HOUR_MS)])];
        fixture.check(Operation::Consume, 3, &rules).await;
        fixture.check_twin(Operation::Consume, 3, &rules);
        let before = fixture.twin.0.clone();
        for (id, for_ms) in [(1, 30_000), (2, 20_000)] {
            let operation = Operation::Exhaust(Exhaust { id: ReservationId([id; 16]), for_ms });
            let (decisions, settlement) =
                fixture.settle(operation, 1, &rules).await.expect("decided");
            let expected = fixture.settle_twin(operation, 1, &rules);
            assert_eq!(Some((decisions.clone(), Some(settlement))), expected, "{kind:?}");
            assert!(!decisions[0].allowed && decisions[0].remaining == 0, "{kind:?}");
        }
        let denied = fixture.check(Operation::Peek, 1, &rules).await;
        assert_eq!(denied[0].retry_after_ms, Some(30_000), "{kind:?}");
        fixture.pass_ms(29_999);
        assert!(!passed(&fixture.check(Operation::Consume, 1, &rules).await), "{kind:?}");
        fixture.check_twin(Operation::Consume, 1, &rules);
        fixture.pass_ms(1);
        assert!(remaining(&mut fixture, &rules).await >= 7, "{kind:?}");
        assert_eq!(fixture.twin.0, before, "{kind:?}");
    }
}

#[tokio::test]
async fn reset_releases_what_is_held_and_its_commit_still_charges() {
    let mut fixture = Fixture::new().await;
    let rules =
        [window(10)[0].clone(), charge_of(2, vec![of_kind(Kind::TokenBucket, 10, HOUR_MS)])];
    let (_, open) = hold(&mut fixture, (1, false), 6, &rules).await.1.expect("held");
    fixture.limiter.reset(fixture.tenant, "test", &rules[0]).await.expect("redis answers");
    for (key, (_, ttl_ms)) in fixture.dump().await {
        assert!(ttl_ms > 0, "{key} has no expiry");
    }
    let decisions = fixture.check(Operation::Inspect, 1, &rules).await;
    assert_eq!((decisions[0].remaining, decisions[1].remaining), (10, 4), "of that rule alone");
    let operation = reserve(2, false);
    fixture.settle(operation, 4, &rules).await.expect("decided");
    let committed = fixture.settle(Operation::Commit(open), 1, &rules).await;
    let expected = Settlement::Released { units: 6, charged: 1 };
    assert_eq!(committed.map(|(_, settlement)| settlement), Some(expected));
    let decisions = fixture.check(Operation::Inspect, 1, &rules).await;
    assert_eq!((decisions[0].remaining, decisions[1].remaining), (5, 5));
}

#[tokio::test]
async fn reservations_expire_with_their_keys_and_a_foreign_type_fails_its_check_alone() {
    let mut fixture = Fixture::with_short_grace().await;
    let rules = window(10);
    hold(&mut fixture, (1, false), 4, &rules).await.1.expect("held");
    let dump = fixture.dump().await;
    assert_eq!(dump.len(), 2, "the hash and the reservations");
    for (key, (_, ttl_ms)) in &dump {
        let most = i64::try_from(TTL_MS + 1).expect("small");
        assert!((1..=most).contains(ttl_ms), "{key} lives for {ttl_ms} ms");
    }
    let key = dump.keys().find(|key| key.contains(":r:")).expect("the reservations");
    let mut connection = connection().await;
    redis::cmd("SET").arg(key).arg("x").query_async::<()>(&mut connection).await.expect("redis");
    let answers = fixture.check_all(vec![fixture.asked(Operation::Consume, 1, &rules)]).await;
    assert!(matches!(&answers[0], crate::limiter::Answer::Unreadable(_)), "{answers:?}");
}
