//! Leases of concurrency limits.

use weir_domain::algorithm::Kind;
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::draft::LimitDraft;
use weir_domain::lease::Lease;
use weir_domain::request::Operation;
use weir_domain::reservation::{Commit, ReservationId, Reserve, Settlement};
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, charge_of, connection, counts_units, of_kind, passed, shadow_of, values,
};
use crate::limiter::{Answer, ScriptCheck};

const LEASE_MS: u64 = 10_000;

fn places(capacity: u64) -> LimitDraft {
    LimitDraft::Concurrency { capacity, lease_ms: LEASE_MS }
}

fn lease(charge: &RuleCharge, id: LeaseId, lease_ms: u64) -> Lease {
    let (rule, slot) = (charge.active.id, charge.limits()[0].slot);
    Lease { id, lease_ms, rule, slot, subject: charge.subject, spread: charge.spread }
}

/// Takes a lease. `None` if the check is denied.
async fn take(fixture: &Fixture, rules: &[RuleCharge]) -> Option<Lease> {
    let asked = fixture.asked(Operation::Consume, 5, rules);
    let id = asked.lease_id;
    let answers = fixture.check_all(vec![asked]).await;
    let [Answer::Settled(at, None, decisions, Settlement::Leased { at: leased })] = &answers[..]
    else {
        panic!("not leased: {answers:?}")
    };
    assert_eq!(at, leased);
    passed(decisions).then(|| lease(&rules[0], id, LEASE_MS))
}

async fn settle(fixture: &Fixture, operation: Operation) -> bool {
    let answers = fixture.check_all(vec![fixture.asked(operation, 1, &[])]).await;
    match &answers[..] {
        [Answer::Settled(_, None, decisions, Settlement::Leased { .. })] => {
            assert!(decisions.is_empty());
            true
        }
        [Answer::NotOpen] => false,
        other => panic!("neither: {other:?}"),
    }
}

#[tokio::test]
async fn places_are_free_after_a_release_or_the_end_of_a_lease_and_renewals_extend_it() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![places(2)])];
    let first = take(&fixture, &rules).await.expect("free");
    fixture.pass_ms(1_000);
    let second = take(&fixture, &rules).await.expect("free");
    let denied = fixture.check(Operation::Consume, 1, &rules).await;
    assert_eq!((denied[0].allowed, denied[0].remaining), (false, 0));
    assert_eq!(denied[0].retry_after_ms, Some(LEASE_MS - 1_000), "when the first one ends");
    assert_eq!(denied[0].reset_after_ms, LEASE_MS);
    assert!(settle(&fixture, Operation::Renew(first)).await);
    fixture.pass_ms(LEASE_MS - 1);
    assert!(take(&fixture, &rules).await.is_none(), "refused attempts extend nothing");
    fixture.pass_ms(1);
    assert!(!settle(&fixture, Operation::Renew(second)).await, "it has ended");
    assert!(!settle(&fixture, Operation::Release(second)).await, "it has ended");
    let peek = fixture.check(Operation::Peek, 1, &rules).await;
    assert_eq!((peek[0].allowed, peek[0].remaining), (true, 1), "the first one has ended too");
    let third = take(&fixture, &rules).await.expect("free");
    assert!(settle(&fixture, Operation::Release(third)).await);
    assert!(!settle(&fixture, Operation::Release(third)).await, "it was released");
    assert!(!settle(&fixture, Operation::Renew(third)).await, "it was released");
    assert_eq!(fixture.check(Operation::Inspect, 1, &rules).await[0].remaining, 2);
    assert!(fixture.dump().await.is_empty(), "a set without leases is no key");
}

#[tokio::test]
async fn check_denied_for_concurrency_leaves_all_rate_counters_byte_for_byte_unchanged() {
    let fixture = Fixture::new().await;
    let kinds = Kind::ALL.iter().filter(|&&kind| counts_units(kind));
    let rates = charge_of(2, kinds.map(|&kind| of_kind(kind, 10, 60_000)).collect());
    let rules = [charge_of(1, vec![places(1)]), rates];
    assert!(take(&fixture, &rules).await.is_some());
    let before = values(fixture.dump().await);
    assert!(before.len() >= 3, "a hash, a log and a set: {:?}", before.keys());
    for _ in 0..3 {
        fixture.pass_ms(50);
        assert!(take(&fixture, &rules).await.is_none());
    }
    assert_eq!(values(fixture.dump().await), before);
}

#[tokio::test]
async fn check_denied_by_a_rate_takes_no_place() {
    let fixture = Fixture::new().await;
    let rate = LimitDraft::FixedWindow { limit: 4, window_ms: 60_000 };
    let rules = [charge_of(1, vec![places(3), rate])];
    assert!(take(&fixture, &rules).await.is_none(), "it costs 5");
    assert!(fixture.dump().await.is_empty());
}

#[tokio::test]
async fn only_the_tenant_and_the_exact_id_settle_a_lease() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![places(1)])];
    let own = take(&fixture, &rules).await.expect("free");
    let mut other_id = own.id.0;
    other_id[15] ^= 1;
    for other in [
        Lease { id: LeaseId(other_id), ..own },
        Lease { lease_ms: LEASE_MS + 1, ..own },
        Lease { slot: own.slot + 1, ..own },
    ] {
        assert!(!settle(&fixture, Operation::Renew(other)).await, "{other:?}");
        assert!(!settle(&fixture, Operation::Release(other)).await, "{other:?}");
    }
    let foreign = Fixture::new().await;
    assert!(!settle(&foreign, Operation::Release(own)).await, "of another tenant");
    assert!(settle(&fixture, Operation::Release(own)).await);
}

#[tokio::test]
async fn lease_of_a_reserve_ends_with_its_commit() {
    let fixture = Fixture::new().await;
    let window = LimitDraft::FixedWindow { limit: 10, window_ms: 60_000 };
    let rules = [charge_of(1, vec![places(1)]), charge_of(2, vec![window])];
    let reserve = |id: u8| {
        let id = ReservationId([id; 16]);
        Operation::Reserve(Reserve { id, ttl_ms: 60_000, at_most: false })
    };
    let (decisions, settlement) = fixture.settle(reserve(1), 4, &rules).await.expect("decided");
    let Settlement::Held { units: 4, ends } = settlement else { panic!("{settlement:?}") };
    assert!(passed(&decisions));
    let (decisions, denied) = fixture.settle(reserve(2), 4, &rules).await.expect("decided");
    assert!(!decisions[0].allowed && decisions[1].allowed, "no place, but units");
    assert!(matches!(denied, Settlement::Held { units: 0, .. }));
    let of_reserve = lease(&rules[0], LeaseId([1; 16]), LEASE_MS);
    assert!(settle(&fixture, Operation::Renew(of_reserve)).await);
    let commit = Operation::Commit(Commit { id: ReservationId([1; 16]), ends });
    let (decisions, _) = fixture.settle(commit, 3, &rules).await.expect("open");
    assert_eq!((decisions[0].remaining, decisions[1].remaining), (1, 7));
    assert!(take(&fixture, &rules).await.is_some(), "the place is free");
}

#[tokio::test]
async fn shadow_rule_gives_places_apart() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![places(2)]), shadow_of(2, vec![places(1)])];
    assert!(fixture.check(Operation::Consume, 1, &rules).await.iter().all(|one| one.allowed));
    let second = fixture.check(Operation::Consume, 1, &rules).await;
    assert!(second[0].allowed && !second[1].allowed, "{second:?}");
    assert_eq!((second[0].remaining, second[1].remaining), (0, 0));
}

#[tokio::test]
async fn clock_that_is_set_back_prolongs_no_lease_beyond_its_time() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![places(1)])];
    take(&fixture, &rules).await.expect("free");
    fixture.set_now(Micros(fixture.now().0 - 3_600_000_000));
    let denied = fixture.check(Operation::Consume, 1, &rules).await;
    assert_eq!(denied[0].retry_after_ms, Some(LEASE_MS));
    fixture.pass_ms(LEASE_MS);
    assert!(take(&fixture, &rules).await.is_some());
}

#[tokio::test]
async fn lowered_capacity_gives_no_place_until_enough_leases_ended() {
    let fixture = Fixture::new().await;
    let wide = [charge_of(1, vec![places(3)])];
    for _ in 0..3 {
        take(&fixture, &wide).await.expect("free");
        fixture.pass_ms(1_000);
    }
    let narrow = [charge_of(1, vec![places(1)])];
    let denied = fixture.check(Operation::Consume, 1, &narrow).await;
    assert_eq!((denied[0].remaining, denied[0].retry_after_ms), (0, Some(LEASE_MS - 1_000)));
}

#[tokio::test]
async fn key_of_another_type_fails_the_checks_that_need_it_alone() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![places(1)])];
    let own = take(&fixture, &rules).await.expect("free");
    let key = fixture.dump().await.into_keys().next().expect("a key");
    let mut connection = connection().await;
    redis::cmd("DEL").arg(&key).query_async::<()>(&mut connection).await.expect("deleted");
    let mut set = redis::cmd("SET");
    set.arg(&key).arg("damaged").arg("PX").arg(60_000);
    set.query_async::<()>(&mut connection).await.expect("written");
    let other = [charge_of(2, vec![places(1)])];
    let asked = |operation, rules| ScriptCheck { ..fixture.asked(operation, 1, rules) };
    let answers = fixture
        .check_all(vec![
            asked(Operation::Consume, &rules[..]),
            asked(Operation::Renew(own), &[]),
            asked(Operation::Consume, &other[..]),
        ])
        .await;
    assert!(matches!(&answers[0], Answer::Unreadable(at) if *at == key), "{answers:?}");
    assert!(matches!(&answers[1], Answer::Unreadable(at) if *at == key), "{answers:?}");
    assert!(matches!(&answers[2], Answer::Settled(..)), "{answers:?}");
}
