//! Independent checks that share a call.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use weir_domain::algorithm::Kind;
use weir_domain::calendar;
use weir_domain::draft::LimitDraft;
use weir_domain::request::Operation;
use weir_domain::rule::Rule;
use weir_domain::spread::SpreadKey;
use weir_domain::time::Micros;

use super::fixture::{Fixture, START_US, charge, charge_of, connection, draft, of_kind};
use crate::keys;
use crate::limiter::cluster_links::Route;
use crate::limiter::pending::{Batching, PendingCheck, Reply};
use crate::limiter::script::Encoded;
use crate::limiter::{Answer, ScriptCheck};
use crate::placement::{Bucket, Owner};

/// One of the checks has periods of a quota for another time.
#[tokio::test]
async fn check_is_decided_although_another_of_its_call_has_other_periods() {
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, vec![of_kind(Kind::Quota, 5, 1_000)])];
    let asked: [ScriptCheck<'_>; 1] = [fixture.asked(Operation::Consume, 1, &rules)];
    let ask = |now_us| {
        let encoded = Encoded::new(&asked, |quota| calendar::bounds(quota, Micros(now_us)));
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + Duration::from_secs(30);
        let pending = PendingCheck {
            encoded,
            checks: 1,
            cost: 1,
            deadline,
            batching: Batching::Shared,
            span: None,
            reply: Some(answer),
        };
        fixture.limiter.links.push(&Route::Bucket, fixture.tenant, pending).expect("there is room");
        answered
    };
    // Both are queued before the batcher runs, so it takes them together.
    let (of_another_time, of_this_time) = (ask(0), ask(START_US));
    let reply = of_this_time.await.expect("answered").expect("redis");
    let Reply::Answers(answers) = reply else { panic!("its periods hold") };
    assert!(matches!(answers[0], Answer::Decided(Micros(START_US), _)), "{answers:?}");
    let reply = of_another_time.await.expect("answered").expect("redis");
    assert!(matches!(reply, Reply::OtherPeriod(Micros(START_US))), "{reply:?}");
}

/// One check of a batch has a key of a type that its counters never have.
#[tokio::test]
async fn checks_of_a_batch_before_a_failing_one_keep_their_answers() {
    let fixture = Fixture::new().await;
    // The number of limits is so high that a call holds only a few of the checks.
    let limits = (1..=8).map(|n| LimitDraft::FixedWindow { limit: 1_000, window_ms: 60_000 * n });
    let rule = Rule::parse(draft(limits.collect())).expect("a valid rule");
    let of_subject =
        |subject| -> Vec<_> { (1..=8).map(|id| charge(id, rule.clone(), subject)).collect() };
    let (good, bad) = (of_subject(1), of_subject(2));
    let mut key = String::new();
    let bucket = Bucket::of(fixture.tenant, "test", SpreadKey::NONE);
    let owner = Owner { bucket, tenant: &fixture.tenant.to_string(), namespace: "test" };
    keys::counter_hash(&mut key, owner, bad[0].subject);
    let mut connection = connection().await;
    let mut set = redis::cmd("SET");
    set.arg(key).arg("not a hash").arg("PX").arg(60_000);
    set.query_async::<()>(&mut connection).await.expect("redis stores");

    let mut asked: Vec<_> = (0..99).map(|_| fixture.asked(Operation::Consume, 1, &good)).collect();
    asked.push(fixture.asked(Operation::Consume, 1, &bad));
    let results = fixture.limiter.check(&asked).await;
    assert_eq!(results.len(), 100);
    for (at, result) in results.iter().enumerate().take(90) {
        let Ok(Answer::Decided(_, decisions)) = result else { panic!("{at}: {result:?}") };
        assert_eq!(decisions[0].remaining, 999 - at as u64);
    }
}
