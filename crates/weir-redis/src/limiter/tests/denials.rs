//! A denial under an idempotency key is decided anew when it is repeated, and what it counted is counted once.

use weir_domain::algorithm::Kind;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::reservation::{ReservationId, Reserve, Settlement};

use super::fixture::{
    Fixture, charge_of, charge_with_block, log_of_denials, one_of_each, passed, shadow_of, values,
};
use crate::limiter::{Answer, ScriptCheck};

/// The decisions of a check with this key, which is no repeat of an answer.
async fn decided(fixture: &Fixture, rules: &[RuleCharge], key: &str) -> Vec<Decision> {
    match fixture.check_all(vec![fixture.with_key(1, rules, key)]).await.remove(0) {
        Answer::Decided(_, decisions) | Answer::Settled(_, None, decisions, _) => decisions,
        other => panic!("{key}: {other:?}"),
    }
}

fn fixed(limit: u64, window_ms: u64) -> LimitDraft {
    LimitDraft::FixedWindow { limit, window_ms }
}

fn places(capacity: u64) -> LimitDraft {
    LimitDraft::Concurrency { capacity, lease_ms: 60_000 }
}

#[tokio::test]
async fn repeat_of_a_denial_passes_after_its_wait_and_is_then_recorded() {
    let mut limits = one_of_each(1, 60_000);
    limits.push(places(1));
    for limit in limits {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        assert!(passed(&decided(&fixture, &rules, "other").await));
        let before = values(fixture.dump().await);
        let denied = decided(&fixture, &rules, "key").await;
        let wait_ms = denied[0].retry_after_ms.expect("it can pass");
        assert!(!passed(&denied));
        assert_eq!(values(fixture.dump().await), before, "nothing is recorded: {limit:?}");
        fixture.pass_ms(wait_ms);
        assert!(passed(&decided(&fixture, &rules, "key").await), "{limit:?}");
        let before = values(fixture.dump().await);
        let asked = vec![fixture.with_key(1, &rules, "key")];
        let again = fixture.check_all(asked).await.remove(0);
        let is_repeat = matches!(again, Answer::Repeated(..) | Answer::Settled(_, Some(_), _, _));
        assert!(is_repeat, "{again:?}");
        assert_eq!(values(fixture.dump().await), before, "{limit:?}");
    }
}

#[tokio::test]
async fn repeat_of_a_denied_reserve_passes_after_its_wait() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![fixed(1, 60_000)])];
    assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
    let reserve = Reserve { id: ReservationId([7; 16]), ttl_ms: 5_000, at_most: false };
    for (wait_ms, held) in [(0, 0), (60_000, 1)] {
        fixture.pass_ms(wait_ms);
        let asked = fixture.with_key(1, &rules, "key");
        let asked = ScriptCheck { operation: Operation::Reserve(reserve), ..asked };
        match fixture.check_all(vec![asked]).await.remove(0) {
            Answer::Settled(_, None, _, Settlement::Held { units, .. }) => assert_eq!(units, held),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn denial_is_logged_once_for_each_key() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![log_of_denials(2, 60_000)])];
    let denied_at_once = [charge_of(2, vec![fixed(1, 60_000)]), rules[0].clone()];
    fixture.check(Operation::Consume, 1, &denied_at_once[..1]).await;
    let left = async |expected: u64| {
        let decisions = fixture.check(Operation::Inspect, 1, &rules).await;
        assert_eq!(decisions[0].remaining, expected);
    };
    for (key, expected) in [("key", 1), ("key", 1), ("another", 0), ("key", 0), ("another", 0)] {
        fixture.pass_ms(10);
        assert!(!passed(&decided(&fixture, &denied_at_once, key).await));
        left(expected).await;
    }
}

#[tokio::test]
async fn block_starts_once_for_each_key() {
    let fixture = Fixture::new().await;
    let rules = [charge_with_block(1, 1_000, vec![fixed(1, 60_000)])];
    fixture.check(Operation::Consume, 1, &rules).await;
    let before = fixture.counters().await;
    let blocks = async || {
        let decisions = fixture.check(Operation::Inspect, 1, &rules).await;
        decisions[0].retry_after_ms.expect("it can pass")
    };
    assert!(!passed(&decided(&fixture, &rules, "key").await));
    assert!(fixture.counters().await > before, "the block, and the record of it");
    // The block ends before the window.
    fixture.pass_ms(59_500);
    let window_ms = blocks().await;
    assert!(window_ms < 1_000);
    assert!(!passed(&decided(&fixture, &rules, "key").await));
    assert_eq!(blocks().await, window_ms, "a repeat starts no block");
    assert!(!passed(&decided(&fixture, &rules, "another").await));
    assert_eq!(blocks().await, 1_000, "another check does");
    fixture.pass_ms(1_000);
    assert!(passed(&decided(&fixture, &rules, "key").await));
}

#[tokio::test]
async fn shadow_rule_is_charged_once_for_each_key() {
    for limit in one_of_each(3, 600_000) {
        let fixture = Fixture::new().await;
        let (denying, shadow) = (charge_of(1, vec![fixed(1, 60_000)]), shadow_of(2, vec![limit]));
        fixture.check(Operation::Consume, 1, std::slice::from_ref(&denying)).await;
        let rules = [denying, shadow.clone()];
        assert!(!passed(&decided(&fixture, &rules, "key").await[..1]));
        let shadow = [shadow];
        let first = fixture.check(Operation::Inspect, 1, &shadow).await;
        // Denied once more, and then admitted.
        for (wait_ms, admits) in [(0, false), (60_000, true)] {
            fixture.pass_ms(wait_ms);
            let before = fixture.check(Operation::Inspect, 1, &shadow).await;
            assert_eq!(passed(&decided(&fixture, &rules, "key").await[..1]), admits);
            assert_eq!(fixture.check(Operation::Inspect, 1, &shadow).await, before);
        }
        if shadow[0].limits()[0].algorithm.kind() == Kind::FixedWindow {
            assert_eq!(first[0].remaining, 2, "it was charged");
        }
        // Another request counts.
        let before = values(fixture.dump().await);
        decided(&fixture, &shadow, "another").await;
        assert_ne!(values(fixture.dump().await), before);
    }
}

#[tokio::test]
async fn repeat_holds_one_place_in_a_shadow_rule() {
    let fixture = Fixture::new().await;
    let (denying, shadow) = (charge_of(1, vec![fixed(1, 60_000)]), shadow_of(2, vec![places(3)]));
    fixture.check(Operation::Consume, 1, std::slice::from_ref(&denying)).await;
    let rules = [denying, shadow];
    for _ in 0..3 {
        fixture.pass_ms(10);
        let decisions = decided(&fixture, &rules, "key").await;
        assert_eq!((decisions[0].allowed, decisions[1].remaining), (false, 2));
    }
    let inspected = fixture.check(Operation::Inspect, 1, &rules).await;
    assert_eq!(inspected[1].remaining, 2);
}

#[tokio::test]
async fn batch_decides_the_repeat_of_a_denial_anew() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![fixed(1, 60_000)])];
    fixture.check(Operation::Consume, 1, &rules).await;
    let answers = fixture
        .check_all(vec![
            fixture.with_key(1, &rules, "key"),
            fixture.asked(Operation::Refund, 1, &rules),
            fixture.with_key(1, &rules, "key"),
            fixture.with_key(1, &rules, "key"),
        ])
        .await;
    let [Answer::Decided(_, first), _, Answer::Decided(_, second), Answer::Repeated(_, _, third)] =
        answers.as_slice()
    else {
        panic!("{answers:?}")
    };
    assert_eq!([first, second, third].map(|decisions| decisions[0].allowed), [false, true, true]);
}
