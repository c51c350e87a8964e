//! The worked facts that every implementation must reproduce.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::LeaseId;
use weir_domain::algorithm::{Kind, Period};
use weir_domain::draft::{LimitDraft, Over, RuleDraft};
use weir_domain::limit::COST_MAX;
use weir_domain::request::Operation;
use weir_domain::rule::Rule;
use weir_domain::time::Micros;

use super::fixture::{
    Fixture, START_US, charge, charge_of, client, connection, draft, fresh_tenant, of_kind,
    one_of_each, passed, until_up, values,
};
use crate::limiter::{Answer, Limiter, LimiterSettings, ScriptCheck};

/// The number of single checks that pass, of a hundred.
async fn passes_of_100(fixture: &Fixture, limit: &LimitDraft) -> u32 {
    let rules = [charge_of(1, vec![limit.clone()])];
    let hundred = (0..100).map(|_| fixture.asked(Operation::Consume, 1, &rules));
    let answers = fixture.check_all(hundred.collect()).await;
    let pass =
        |answer: &Answer| matches!(answer, Answer::Decided(_, decisions) if passed(decisions));
    answers.iter().map(|answer| u32::from(pass(answer))).sum()
}

#[tokio::test]
async fn boundary_burst_passes_a_fixed_window_and_neither_a_log_nor_a_bucket() {
    let limits = one_of_each(100, 60_000);
    for (limit, second_hundred) in [(&limits[0], 100), (&limits[1], 0), (&limits[3], 0)] {
        let fixture = Fixture::new().await;
        fixture.set_now(Micros(START_US - 100_000));
        assert_eq!(passes_of_100(&fixture, limit).await, 100, "at 11:59:59.9, {limit:?}");
        fixture.set_now(Micros(START_US + 100_000));
        assert_eq!(
            passes_of_100(&fixture, limit).await,
            second_hundred,
            "at 12:00:00.1, {limit:?}"
        );
    }
    // The units that a bucket refills in the meantime: one each 600 ms.
    let fixture = Fixture::new().await;
    passes_of_100(&fixture, &limits[3]).await;
    fixture.pass_ms(1_799);
    assert_eq!(passes_of_100(&fixture, &limits[3]).await, 2);
}

#[tokio::test]
async fn refusal_by_one_of_four_levels_takes_nothing_from_the_others() {
    for kind in 0..3 {
        let level = |limit, window_ms| one_of_each(limit, window_ms).swap_remove(kind);
        let levels = vec![
            level(10, 1_000),
            level(100, 60_000),
            level(1_000, 3_600_000),
            level(10_000, 86_400_000),
        ];
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, levels)];
        for _ in 0..10 {
            assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
        }
        let before = values(fixture.dump().await);
        for _ in 0..25 {
            let decisions = fixture.check(Operation::Consume, 1, &rules).await;
            let remaining: Vec<_> = decisions.iter().map(|decision| decision.remaining).collect();
            assert_eq!(remaining, [0, 90, 990, 9_990]);
            assert!(!decisions[0].allowed && passed(&decisions[1..]));
        }
        assert_eq!(values(fixture.dump().await), before);
        for _ in 1..10 {
            fixture.pass_ms(2_000);
            for _ in 0..10 {
                assert!(passed(&fixture.check(Operation::Consume, 1, &rules).await));
            }
        }
        fixture.pass_ms(2_000);
        let decisions = fixture.check(Operation::Consume, 1, &rules).await;
        let remaining: Vec<_> = decisions.iter().map(|decision| decision.remaining).collect();
        assert_eq!(remaining, [10, 0, 900, 9_900], "now the minute refuses");
    }
}

#[tokio::test]
async fn ten_a_minute_and_two_in_three_seconds_and_spacing_hold_together() {
    let log =
        |limit, window_ms| LimitDraft::SlidingWindowLog { limit, window_ms, count_denied: false };
    let limits = vec![log(10, 60_000), log(2, 3_000), LimitDraft::Spacing { interval_ms: 1_000 }];
    let fixture = Fixture::new().await;
    let rules = [charge_of(1, limits)];
    let mut passes_ms = Vec::new();
    let mut denied_by = [0; 3];
    for at_ms in (0..=63_000).step_by(500) {
        fixture.set_now(Micros(START_US + at_ms * 1000));
        let decisions = fixture.check(Operation::Consume, 1, &rules).await;
        if passed(&decisions) {
            passes_ms.push(at_ms);
        }
        for (count, decision) in denied_by.iter_mut().zip(&decisions) {
            *count += u32::from(!decision.allowed);
        }
    }
    let seconds = [0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 60, 61, 63];
    assert_eq!(passes_ms, seconds.map(|second| second * 1000));
    // Ten a minute: from 13.5 s to 59.5 s, and at 60.5, 61.5, 62, 62.5 s, when ten are in the log.
    assert_eq!(denied_by[0], 93 + 4);
    assert!(denied_by[1] > 10 && denied_by[2] > 10, "{denied_by:?}");
}

#[tokio::test]
async fn quota_that_never_renews_denies_until_it_is_reset_and_from_its_end_on() {
    const DAY_US: u64 = 86_400_000_000;
    let ends = Micros(START_US + 60 * 366 * DAY_US);
    let quota = |ends_at| LimitDraft::Quota {
        limit: 5,
        period: Period::None,
        time_zone: "UTC".into(),
        anchor_day: 1,
        ends_at,
    };
    for limit in [quota(None), quota(Some(ends.timestamp()))] {
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit.clone()])];
        let take = async |fixture: &mut Fixture, at: u64, cost| {
            fixture.set_now(Micros(at));
            let expected = fixture.check_twin(Operation::Consume, cost, &rules);
            assert_eq!(fixture.check(Operation::Consume, cost, &rules).await, expected);
            (expected[0].allowed, expected[0].remaining, expected[0].retry_after_ms)
        };
        assert_eq!(take(&mut fixture, START_US, 4).await, (true, 1, Some(0)));
        assert_eq!(take(&mut fixture, START_US + DAY_US, 2).await, (false, 1, None));
        assert_eq!(take(&mut fixture, START_US + 9 * 366 * DAY_US, 1).await, (true, 0, Some(0)));
        assert_eq!(take(&mut fixture, ends.0 - 1, 1).await, (false, 0, None), "60 years later");
        for key in fixture.dump().await.into_keys() {
            let ttl_ms: i64 = redis::cmd("PTTL")
                .arg(key)
                .query_async(&mut connection().await)
                .await
                .expect("redis answers");
            assert!(ttl_ms > 60 * 366 * 86_400_000, "{ttl_ms}");
        }
        // The twin has no reset.
        fixture.limiter.reset(fixture.tenant, "test", &rules[0]).await.expect("redis answers");
        let [decision] = fixture.check(Operation::Consume, 5, &rules).await[..] else { panic!() };
        assert_eq!((decision.allowed, decision.remaining), (true, 0));
        fixture.limiter.reset(fixture.tenant, "test", &rules[0]).await.expect("redis answers");
        fixture.set_now(ends);
        let [decision] = fixture.check(Operation::Consume, 1, &rules).await[..] else { panic!() };
        let passes = limit == quota(None);
        assert_eq!((decision.allowed, decision.remaining), (passes, if passes { 4 } else { 0 }));
        assert_eq!(decision.retry_after_ms, passes.then_some(0));
    }
}

/// Limits of a hundred (spacing: one) whose windows do not end while the test runs.
fn endless() -> [(LimitDraft, u64); 7] {
    const DAY_MS: u64 = 86_400_000;
    const YEAR_MS: u64 = 366 * DAY_MS;
    let mut limits = one_of_each(100, YEAR_MS);
    limits[3] =
        LimitDraft::TokenBucket { capacity: 100, refill_tokens: 1, refill_interval_ms: DAY_MS };
    limits[4] =
        LimitDraft::LeakyBucket { capacity: 100, drain_units: 1, drain_interval_ms: DAY_MS };
    limits[6] = LimitDraft::Quota {
        limit: 100,
        period: Period::Year,
        time_zone: "UTC".into(),
        anchor_day: 1,
        ends_at: None,
    };
    let mut admits = [100; 7];
    admits[5] = 1;
    let limits: [LimitDraft; 7] = limits.try_into().expect("seven algorithms");
    let mut all = limits.into_iter().zip(admits);
    std::array::from_fn(|_| all.next().expect("seven algorithms"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_callers_over_two_limiters_get_exactly_the_limit() {
    let stop = CancellationToken::new();
    let settings = || LimiterSettings { budget: Duration::from_secs(30), ..Default::default() };
    let limiters: [Limiter; 2] =
        std::array::from_fn(|_| Limiter::start(client(), settings(), stop.clone()));
    for limiter in &limiters {
        until_up(limiter).await;
    }
    for run in 0..5 {
        for (limit, admits) in endless() {
            let tenant = fresh_tenant();
            let rules: Arc<[_]> = Arc::new([charge_of(1, vec![limit.clone()])]);
            let admitted = Arc::new(AtomicU64::new(0));
            let mut callers = JoinSet::new();
            for caller in 0..64 {
                let limiter = limiters[caller % 2].clone();
                let (rules, admitted) = (Arc::clone(&rules), Arc::clone(&admitted));
                callers.spawn(async move {
                    for _ in 0..5 {
                        let asked = [ScriptCheck {
                            tenant,
                            namespace: "test",
                            operation: Operation::Consume,
                            cost: 1,
                            rules: &rules,
                            lease_id: LeaseId::default(),
                            idempotency: None,
                            charged: None,
                        }];
                        let results = limiter.check(&asked).await;
                        let Ok(Answer::Decided(_, decisions)) = &results[0] else {
                            panic!("{results:?}")
                        };
                        admitted.fetch_add(u64::from(passed(decisions)), Ordering::Relaxed);
                    }
                });
            }
            callers.join_all().await;
            assert_eq!(admitted.load(Ordering::Relaxed), admits, "run {run}, {limit:?}");
        }
    }
    stop.cancel();
}

/// A budget of 50 tokens, of which each call uses 17: three calls pass, and the third leaves a debt of one.
#[tokio::test]
async fn debt_lets_a_check_pass_while_anything_is_left_and_delays_the_next() {
    for limit in one_of_each(50, 60_000) {
        let kind = limit.kind();
        if kind == Kind::Spacing {
            continue;
        }
        let fixture = Fixture::new().await;
        let debt =
            Rule::parse(RuleDraft { over: Over::Debt, ..draft(vec![limit]) }).expect("valid");
        let rules = [charge(1, debt, 0)];
        for left in [33, 16, 0] {
            let decision = fixture.check(Operation::Consume, 17, &rules).await[0];
            assert_eq!((decision.allowed, decision.remaining), (true, left), "{kind:?}");
        }
        let denied = fixture.check(Operation::Consume, 17, &rules).await[0];
        assert_eq!((denied.allowed, denied.remaining), (false, 0), "{kind:?}");
        let wait_ms = denied.retry_after_ms.expect("it can pass later");
        fixture.pass_ms(wait_ms - 1);
        let early = fixture.check(Operation::Peek, 17, &rules).await[0];
        assert!(!early.allowed, "{kind:?}");
        fixture.pass_ms(1);
        assert!(fixture.check(Operation::Consume, 17, &rules).await[0].allowed, "{kind:?}");
    }
}

/// A record is charged even if it exceeds the limit, and its waits are exact.
#[tokio::test]
async fn record_charges_more_than_is_left() {
    // A bucket refills a unit in 1.2 s.
    for (kind, wait_ms) in [
        (Kind::FixedWindow, Some(60_000)),
        (Kind::SlidingWindowLog, Some(60_000)),
        (Kind::SlidingWindowCounter, Some(96_751)),
        (Kind::TokenBucket, Some(60_000)),
        (Kind::LeakyBucket, Some(60_000)),
        (Kind::Spacing, Some(60_000)),
        (Kind::Quota, None),
    ] {
        let fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![of_kind(kind, 50, 60_000)])];
        let none = fixture.check(Operation::Record, 0, &rules).await[0];
        assert_eq!((none.allowed, none.reset_after_ms), (true, 0), "{kind:?}");
        assert!(fixture.dump().await.is_empty(), "{kind:?}: nothing was charged");
        fixture.check(Operation::Record, 60, &rules).await;
        let recorded = fixture.check(Operation::Record, 20, &rules).await[0];
        let denied = fixture.check(Operation::Consume, 20, &rules).await[0];
        assert_eq!(recorded, denied, "{kind:?}: the answer is that of the next check");
        assert_eq!((denied.allowed, denied.remaining), (false, 0), "{kind:?}");
        let wait = denied.retry_after_ms.expect("it can pass later");
        if let Some(wait_ms) = wait_ms {
            assert_eq!(wait, wait_ms, "{kind:?}");
        }
        fixture.pass_ms(wait - 1);
        assert!(!fixture.check(Operation::Peek, 20, &rules).await[0].allowed, "{kind:?}");
        fixture.pass_ms(1);
        assert!(fixture.check(Operation::Peek, 20, &rules).await[0].allowed, "{kind:?}");
    }
}

/// The greatest costs, again and again, leave every number exact and every counter readable.
#[tokio::test]
async fn debt_is_bounded() {
    for limit in one_of_each(2, 31_622_400_000) {
        let kind = limit.kind();
        let mut fixture = Fixture::new().await;
        let rules = [charge_of(1, vec![limit])];
        for _ in 0..20 {
            let records = (0..50).map(|_| fixture.asked(Operation::Record, COST_MAX, &rules));
            fixture.check_all(records.collect()).await;
            for _ in 0..50 {
                fixture.check_twin(Operation::Record, COST_MAX, &rules);
            }
        }
        let twin = fixture.check_twin(Operation::Peek, 1, &rules);
        let decisions = fixture.check(Operation::Peek, 1, &rules).await;
        assert_eq!(decisions, twin, "{kind:?}");
        assert_eq!((decisions[0].allowed, decisions[0].remaining), (false, 0), "{kind:?}");
        assert!(decisions[0].retry_after_ms.is_some_and(|ms| ms > 0), "{kind:?}");
    }
}
