//! Reserves and commits while Redis is away, of leased rules, and of spread namespaces.

use serde_json::json;
use weir_domain::request::{Operation, Request};
use weir_domain::reservation::{ReservationId, Reserve};
use weir_wire::check::Degraded;

use super::fixture::{Fixture, leased_window, window};
use crate::decide::{Refused, Reserved, commit, decide, reserve};
use crate::requests::reservation_text::ReservationText;

fn hold(fixture: &Fixture, cost: u64) -> Request {
    let (id, ttl_ms, at_most) = (ReservationId([9; 16]), 60_000, false);
    fixture.request(Operation::Reserve(Reserve { id, ttl_ms, at_most }), Some("u"), cost)
}

/// The text as a client returns it.
fn returned(reserved: &Reserved) -> ReservationText {
    let text = reserved.reservation.as_ref().expect("reserved").to_text();
    ReservationText::parse(&text).expect("what was written")
}

#[tokio::test]
async fn on_store_failure_answers_a_reserve_and_its_commit_says_so() {
    for (policy, degraded) in [("allow", Degraded::Allow), ("local", Degraded::Local)] {
        let fixture = Fixture::away(&window(policy));
        let (state, caller) = (&fixture.state, &fixture.caller);
        let reserved = reserve(state, caller, &hold(&fixture, 3)).await.expect("an answer");
        assert_eq!((reserved.answer.allowed, reserved.answer.degraded), (true, Some(degraded)));
        let text = returned(&reserved);
        assert_eq!((text.degraded, text.units), (Some(degraded), 3));
        let committed = commit(state, caller, &text, 2, None).await.expect("an answer");
        assert_eq!((committed.charged, committed.released), (0, 0));
        assert_eq!(committed.degraded, Some(degraded), "{policy}: still away");
    }
    let fixture = Fixture::away(&window("deny"));
    let reserved = reserve(&fixture.state, &fixture.caller, &hold(&fixture, 3)).await;
    let reserved = reserved.expect("an answer");
    assert!(!reserved.answer.allowed && reserved.reservation.is_none());
}

#[tokio::test]
async fn reservation_that_nothing_holds_is_recorded_when_redis_is_back() {
    let fixture = Fixture::connected(&window("allow")).await;
    let (state, caller) = (&fixture.state, &fixture.caller);
    let mut text = returned(&reserve(state, caller, &hold(&fixture, 3)).await.expect("decided"));
    // As a gate without Redis would have written it.
    text.degraded = Some(Degraded::Allow);
    for _ in 0..2 {
        let committed = commit(state, caller, &text, 2, None).await.expect("an answer");
        assert_eq!((committed.charged, committed.degraded), (2, Some(Degraded::Allow)));
    }
    let peek = fixture.request(Operation::Inspect, Some("u"), 1);
    let answers = decide(state, caller, std::slice::from_ref(&peek)).await.expect("few limits");
    let answer = answers.into_iter().next().expect("one").expect("decided");
    assert_eq!(answer.remaining, Some(0), "5, less 2 once, less the 3 that are held");
}

#[tokio::test]
async fn reservation_of_a_leased_rule_and_leases_share_the_limit() {
    let fixture = Fixture::connected(&leased_window()).await;
    let (state, caller) = (&fixture.state, &fixture.caller);
    let reserved = reserve(state, caller, &hold(&fixture, 990)).await.expect("decided");
    let text = returned(&reserved);
    let mut admitted = 0;
    for _ in 0..30 {
        let check = fixture.request(Operation::Consume, Some("u"), 1);
        let answers = decide(state, caller, &[check]).await.expect("few limits");
        admitted += u32::from(answers[0].as_ref().is_ok_and(|answer| answer.allowed));
    }
    assert_eq!(admitted, 10);
    let committed = commit(state, caller, &text, 985, None).await.expect("an answer");
    assert_eq!((committed.charged, committed.released), (985, 5));
    let check = fixture.request(Operation::Consume, Some("u"), 5);
    let answers = decide(state, caller, &[check]).await.expect("few limits");
    assert!(answers[0].as_ref().is_ok_and(|answer| answer.allowed), "{answers:?}");
}

#[tokio::test]
async fn reservation_with_counters_at_several_places_is_refused_and_one_with_spread_counters_is_not()
 {
    let all = json!({
        "name": "all", "consistency": "leased",
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000, "window_ms": 31_622_400_000_u64 }],
    });
    let fixture = Fixture::spread(&[window("deny"), all]).await;
    let refused = reserve(&fixture.state, &fixture.caller, &hold(&fixture, 3)).await;
    assert!(matches!(refused, Err(Refused::Split)), "{refused:?}");
    let fixture = Fixture::spread(&[window("deny")]).await;
    let (state, caller) = (&fixture.state, &fixture.caller);
    let text = returned(&reserve(state, caller, &hold(&fixture, 3)).await.expect("decided"));
    let committed = commit(state, caller, &text, 1, None).await.expect("an answer");
    assert_eq!((committed.charged, committed.released), (1, 2), "in the bucket of the user");
}
