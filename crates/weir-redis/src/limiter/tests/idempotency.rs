//! A repeated request gets the first answer and takes nothing.

use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, charge_of, charge_with_block, connection, one_of_each, passed, values,
};
use crate::limiter::{Answer, FirstAnswer, ScriptCheck};

fn five_a_minute() -> LimitDraft {
    LimitDraft::FixedWindow { limit: 5, window_ms: 60_000 }
}

/// The first answer of [`Fixture::with_key`], decided at this time.
fn first_at(at: Micros) -> FirstAnswer {
    FirstAnswer { at: Some(at), text: "decided by Redis".to_owned() }
}

/// A gate of the release before, and what it reads, have no time.
#[tokio::test]
async fn record_of_an_earlier_release_is_the_first_answer() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![five_a_minute()])];
    let asked = || vec![fixture.with_key(1, &rules, "key")];
    let first = fixture.check_all(asked()).await.remove(0);
    let Answer::Decided(_, decisions) = first else { panic!("{first:?}") };
    let keys = fixture.dump().await.into_keys();
    let record = keys.filter(|key| key.contains(":i:")).collect::<Vec<_>>().remove(0);
    let mut forget = redis::cmd("HDEL");
    let removed = forget.arg(record).arg("at").query_async(&mut connection().await).await;
    assert_eq!(removed, Ok(1));
    let again = fixture.check_all(asked()).await.remove(0);
    let earlier = FirstAnswer { at: None, ..first_at(fixture.now()) };
    assert_eq!(again, Answer::Repeated(fixture.now(), earlier, decisions));
}

#[tokio::test]
async fn repeat_gets_the_first_answer_and_takes_nothing() {
    for limit in one_of_each(2, 60_000) {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()]), charge_with_block(2, 900, vec![limit])];
        for key in ["first", "second"] {
            let asked = || vec![fixture.with_key(1, &rules, key)];
            let first = fixture.check_all(asked()).await.remove(0);
            let Answer::Decided(at, decisions) = first else { panic!("{first:?}") };
            if !passed(&decisions) {
                // A spacing admits one.
                continue;
            }
            let before = values(fixture.dump().await);
            fixture.pass_ms(100);
            let again = fixture.check_all(asked()).await.remove(0);
            let now = fixture.now();
            assert!(at < now);
            assert_eq!(again, Answer::Repeated(now, first_at(at), decisions));
            assert_eq!(values(fixture.dump().await), before);
        }
    }
}

/// A record is read by itself, and not by the rules of the repeat.
#[tokio::test]
async fn repeat_gets_the_first_answer_although_the_rule_gained_or_lost_a_concurrency_limit() {
    let places = LimitDraft::Concurrency { capacity: 9, lease_ms: 60_000 };
    let plain = [charge_of(1, vec![five_a_minute()])];
    let with_places = [charge_of(1, vec![five_a_minute(), places])];
    for (before, after) in [(&plain, &with_places), (&with_places, &plain)] {
        let fixture = Fixture::new().await;
        let asked = |rules| vec![ScriptCheck { cost: 3, ..fixture.with_key(1, rules, "key") }];
        let (first, settled) = match fixture.check_all(asked(before)).await.remove(0) {
            Answer::Decided(_, decisions) => (decisions, None),
            Answer::Settled(_, None, decisions, settlement) => (decisions, Some(settlement)),
            other => panic!("{other:?}"),
        };
        assert!(first[0].allowed);
        let again = match fixture.check_all(asked(after)).await.remove(0) {
            Answer::Repeated(_, _, decisions) => (decisions, None),
            Answer::Settled(_, Some(_), decisions, settlement) => (decisions, Some(settlement)),
            other => panic!("{other:?}"),
        };
        assert_eq!(again, (first, settled));
    }
}

#[tokio::test]
async fn key_of_another_request_is_refused_and_takes_nothing() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![five_a_minute()])];
    fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
    let before = values(fixture.dump().await);
    let answers = fixture.check_all(vec![fixture.with_key(2, &rules, "key")]).await;
    assert_eq!(answers, [Answer::KeyReused]);
    assert_eq!(values(fixture.dump().await), before);
    assert!(matches!(
        fixture.check_all(vec![fixture.with_key(2, &rules, "another")]).await[0],
        Answer::Decided(..)
    ));
}

#[tokio::test]
async fn record_expires_after_a_minute() {
    let fixture = Fixture::by_redis_clock().await;
    let rules = [charge_of(1, vec![five_a_minute()])];
    fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
    fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
    let dump = fixture.dump().await;
    let (_, ttl_ms) = dump.iter().find(|(key, _)| key.contains(":i:")).expect("a record").1;
    assert!((30_000..=60_000).contains(ttl_ms), "{ttl_ms}");
}

#[tokio::test]
async fn batch_that_repeats_a_key_takes_once() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![five_a_minute()])];
    let answers = fixture
        .check_all(vec![
            fixture.with_key(1, &rules, "key"),
            fixture.asked(Operation::Consume, 1, &rules),
            fixture.with_key(1, &rules, "key"),
            fixture.with_key(3, &rules, "key"),
            fixture.with_key(1, &rules, "other"),
            fixture.asked(Operation::Peek, 1, &rules),
        ])
        .await;
    let [
        Answer::Decided(_, first),
        Answer::Decided(_, second),
        Answer::Repeated(_, _, again),
        Answer::KeyReused,
        Answer::Decided(_, third),
        Answer::Decided(_, peeked),
    ] = answers.as_slice()
    else {
        panic!("{answers:?}")
    };
    assert_eq!(again, first);
    assert_eq!(
        [first, second, third, peeked].map(|decisions| decisions[0].remaining),
        [4, 3, 2, 1]
    );
}

#[tokio::test]
async fn keys_of_tenants_are_apart() {
    let (fixture, other) = (Fixture::new().await, Fixture::new().await);
    let rules = [charge_of(1, vec![five_a_minute()])];
    for fixture in [&fixture, &other] {
        let answers = fixture.check_all(vec![fixture.with_key(1, &rules, "key")]).await;
        assert!(matches!(answers[0], Answer::Decided(..)), "{answers:?}");
    }
}

#[tokio::test]
async fn keys_of_namespaces_are_apart() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![five_a_minute()])];
    for (namespace, repeated) in [("one", false), ("other", false), ("one", true)] {
        let asked = ScriptCheck { namespace, ..fixture.with_key(1, &rules, "key") };
        let answer = fixture.check_all(vec![asked]).await.remove(0);
        assert_eq!(matches!(answer, Answer::Repeated(..)), repeated, "{namespace}: {answer:?}");
    }
}

#[tokio::test]
async fn check_that_meets_no_limit_can_be_repeated() {
    let fixture = Fixture::new().await;
    for repeated in [false, true] {
        let answer = fixture.check_all(vec![fixture.with_key(1, &[], "key")]).await.remove(0);
        match answer {
            Answer::Decided(_, decisions) => assert!(!repeated && decisions.is_empty()),
            Answer::Repeated(_, first, decisions) => {
                assert!(repeated && decisions.is_empty());
                assert_eq!(first, first_at(fixture.now()));
            }
            other => panic!("the same request: {other:?}"),
        }
    }
    assert_eq!(fixture.check_all(vec![fixture.asked(Operation::Consume, 1, &[])]).await.len(), 1);
}

#[tokio::test]
async fn repeated_refund_gives_nothing_back_again() {
    for limit in one_of_each(3, 60_000) {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        fixture.exhaust(&rules).await;
        let refund = |cost, key| {
            let asked = fixture.with_key(cost, &rules, key);
            vec![ScriptCheck { operation: Operation::Refund, ..asked }]
        };
        let first = fixture.check_all(refund(1, "key")).await.remove(0);
        let Answer::Decided(_, decisions) = first else { panic!("{first:?}") };
        let before = values(fixture.dump().await);
        let again = fixture.check_all(refund(1, "key")).await.remove(0);
        assert_eq!(again, Answer::Repeated(fixture.now(), first_at(fixture.now()), decisions));
        assert_eq!(fixture.check_all(refund(2, "key")).await, [Answer::KeyReused]);
        assert_eq!(values(fixture.dump().await), before, "{limit:?}");
        assert!(matches!(fixture.check_all(refund(1, "other")).await[0], Answer::Decided(..)));
    }
}
