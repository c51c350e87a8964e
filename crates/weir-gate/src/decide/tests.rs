//! Each stage of the pipeline by itself.

mod fixture;
mod reservations;
mod split;

use std::time::Duration;

use serde_json::json;
use weir_domain::decide::Decision;
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_wire::check::{AnswerCode, CheckAnswer, Degraded};

use self::fixture::{Fixture, leased_window, window};
use super::pending::{Outcome, PendingCheck};
use super::*;
use crate::decide::turns::tests::turns_of_others;
use crate::memory::leases::LeaseOutcome;

fn answer<'c>(check: &'c PendingCheck<'_>) -> Option<&'c CheckAnswer> {
    match check.outcome.as_ref()? {
        Outcome::Answered(answer) | Outcome::Repeated(answer) => Some(answer),
        Outcome::KeyReused | Outcome::NotOpen => None,
    }
}

fn allowed(checks: &[PendingCheck<'_>]) -> Vec<Option<bool>> {
    checks.iter().map(|check| answer(check).map(|answer| answer.allowed)).collect()
}

fn denial() -> Decision {
    let (reset_after_ms, retry_after_ms) = (50_000, Some(50_000));
    Decision {
        allowed: false,
        remaining: 0,
        reset_after_ms,
        retry_after_ms,
        delay_ms: 0,
        returned: false,
    }
}

#[tokio::test]
async fn admission_answers_the_checks_beyond_the_ceiling_and_passes_the_others_on() {
    let fixture = Fixture::away(&window("allow")).with_ceiling(2);
    let requests = fixture.requests(Operation::Consume, &["a", "b", "c"]);
    let mut checks = fixture.checks(&requests);
    admission::answer(&fixture.state, &mut checks);
    assert_eq!(allowed(&checks), [None, None, Some(false)]);
    assert_eq!(answer(&checks[2]).and_then(|answer| answer.code), Some(AnswerCode::TenantRate));
}

#[tokio::test]
async fn rules_answer_checks_without_limits_and_pass_the_others_on() {
    let fixture = Fixture::away(&window("allow"));
    let requests = [
        fixture.request(Operation::Consume, Some("a"), 1),
        fixture.request(Operation::Consume, None, 1),
    ];
    let mut checks = fixture.checks(&requests);
    rules::answer(&fixture.state, &mut checks).await.expect("few limits");
    assert_eq!(
        allowed(&checks),
        [None, Some(true)],
        "a request without the attribute has no counter"
    );
    assert_eq!(checks[0].limit_count(), 1);
}

#[tokio::test]
async fn denial_cache_answers_the_same_check_and_passes_other_costs_peeks_and_refunds_on() {
    let fixture = Fixture::away(&window("allow"));
    fixture.cache_denial("a").await;
    let requests = [
        fixture.request(Operation::Consume, Some("a"), 1),
        fixture.request(Operation::Consume, Some("a"), 2),
        fixture.request(Operation::Consume, Some("b"), 1),
        fixture.request(Operation::Peek, Some("a"), 1),
        fixture.request(Operation::Refund, Some("a"), 1),
    ];
    let mut checks = fixture.matched(&requests).await;
    denied::answer(&fixture.state, &mut checks).await;
    assert_eq!(allowed(&checks), [Some(false), None, None, None, None]);
    let generations: Vec<_> = checks.iter().map(|check| check.generation.is_some()).collect();
    assert_eq!(generations, [false, true, true, false, false]);
}

#[tokio::test]
async fn leases_answer_with_units_of_this_gate_and_pass_the_others_on() {
    let fixture = Fixture::away(&leased_window());
    fixture.lease("a", 3).await;
    let requests = fixture.requests(Operation::Consume, &["a", "a", "a", "a"]);
    let mut checks = fixture.matched(&requests).await;
    leased::answer(&fixture.state, &mut checks).await;
    assert_eq!(allowed(&checks), [Some(true), Some(true), Some(true), None]);
}

/// Another check takes the last unit in Redis while a lease holds units, so Redis denies; the units arrive before or after
/// that denial.
#[tokio::test]
async fn cached_denial_does_not_hide_units_that_arrive_before_or_after_it() {
    for units_arrive_first in [true, false] {
        let fixture = Fixture::connected(&leased_window()).await;
        let requests = fixture.requests(Operation::Consume, &["a"]);
        let mut checks = fixture.matched(&requests).await;
        denied::answer(&fixture.state, &mut checks).await;
        let generation = checks[0].generation.expect("nothing is cached");
        let rules = checks[0].charged_rules();
        let now = checks[0].started;
        if !units_arrive_first {
            fixture.state.denial_cache.insert(generation, rules, &[denial()], now);
            assert!(fixture.state.denial_cache.get(rules, now).is_ok());
        }
        fixture.take_units("a", 4).await;
        if units_arrive_first {
            fixture.state.denial_cache.insert(generation, rules, &[denial()], now);
        }
        let answers = decide(&fixture.state, &fixture.caller, &requests).await.expect("few limits");
        assert!(answers[0].as_ref().is_ok_and(|answer| answer.allowed), "{units_arrive_first}");
        assert_eq!(fixture.state.leases.held(), 2, "the check used a unit of this gate");
    }
}

/// 50 units are left, and a busy lease asks for more than that.
#[tokio::test]
async fn denied_units_of_a_lease_leave_the_check_pending_and_redis_then_decides_its_cost() {
    let fixture = Fixture::connected(&leased_window()).await;
    let requests = fixture.requests(Operation::Consume, &["a"]);
    let mut checks = fixture.matched(&requests).await;
    fixture.attach_request(&mut checks[0], 5_000);
    redis::answer(&fixture.state, &mut checks).await;
    assert_eq!(allowed(&checks), [None]);
    assert!(checks[0].lease.is_none() && checks[0].failure.is_none());
    redis::answer(&fixture.state, &mut checks).await;
    assert_eq!(allowed(&checks), [Some(true)]);
    assert_eq!(answer(&checks[0]).and_then(|answer| answer.remaining), Some(999));
    assert_eq!(fixture.state.leases.held(), 0);
    assert!(fixture.state.leases.take_unsettled(true, checks[0].started).is_empty());
}

/// The first check asks for more units than the limit has, so Redis denies them.
#[tokio::test]
async fn lease_stage_repeats_denied_requests_itself_in_a_second_call() {
    let fixture = Fixture::connected(&leased_window()).await;
    let requests = [
        fixture.request(Operation::Consume, Some("a"), 1),
        fixture.request(Operation::Peek, Some("a"), 1),
        fixture.request(Operation::Consume, Some("b"), 1),
    ];
    let mut checks = fixture.matched(&requests).await;
    fixture.attach_request(&mut checks[0], 5_000);
    leased::answer(&fixture.state, &mut checks).await;
    assert_eq!(allowed(&checks), [Some(true); 3], "no check is left to another stage");
    let remaining: Vec<_> =
        checks.iter().map(|check| answer(check).and_then(|answer| answer.remaining)).collect();
    assert_eq!(remaining, [Some(999); 3], "a peek shows what its check would leave");
    assert_eq!(fixture.redis_calls(), 2);
    redis::answer(&fixture.state, &mut checks).await;
    assert_eq!(fixture.redis_calls(), 2);
}

#[tokio::test]
async fn redis_answers_a_mixed_batch_in_order_and_in_one_call() {
    let fixture = Fixture::connected(&leased_window()).await;
    let requests = [
        fixture.request(Operation::Consume, Some("a"), 1),
        fixture.request(Operation::Peek, Some("a"), 1),
        fixture.request(Operation::Consume, Some("a"), 2),
        fixture.request(Operation::Consume, Some("b"), 1),
    ];
    let answers = decide(&fixture.state, &fixture.caller, &requests).await.expect("few limits");
    let remaining: Vec<_> =
        answers.iter().map(|answer| answer.as_ref().expect("no key").remaining).collect();
    assert_eq!(remaining, [Some(999), Some(998), Some(997), Some(999)]);
    assert_eq!(fixture.redis_calls(), 1);
}

#[tokio::test]
async fn near_part_of_a_batch_outside_the_home_is_measured_as_a_call_of_redis() {
    let mut world = window("allow");
    (world["name"], world["count_by"], world["reach"]) =
        (json!("world"), json!(["team"]), json!("world"));
    let fixture = Fixture::outside_the_home(&[window("allow"), world]).await;
    let draft = RequestDraft {
        namespace: "default".to_owned(),
        attributes: [("team".to_owned(), "a".to_owned())].into(),
        cost: 1,
        operation: Operation::Consume,
        idempotency_key: None,
    };
    let far = Request::parse(draft).expect("valid");
    let near = fixture.request(Operation::Consume, Some("a"), 1);
    decide(&fixture.state, &fixture.caller, std::slice::from_ref(&far)).await.expect("few limits");
    assert_eq!((fixture.redis_calls(), fixture.state.round_trip.get_us()), (0, None));
    let answers = decide(&fixture.state, &fixture.caller, &[far, near]).await.expect("few limits");
    let degraded = |answer: &Result<CheckAnswer, _>| {
        answer.as_ref().ok().map(|answer| answer.degraded.is_some())
    };
    let degraded: Vec<_> = answers.iter().map(degraded).collect();
    assert_eq!(degraded, [Some(true), Some(false)]);
    assert_eq!(fixture.redis_calls(), 1);
    assert!(fixture.state.round_trip.get_us().is_some());
}

#[tokio::test]
async fn redis_that_is_away_leaves_checks_to_the_outage_stage_and_takes_no_units() {
    let fixture = Fixture::away(&leased_window());
    let requests = fixture.requests(Operation::Consume, &["a"]);
    let mut checks = fixture.matched(&requests).await;
    fixture.attach_request(&mut checks[0], 4);
    redis::answer(&fixture.state, &mut checks).await;
    assert_eq!(allowed(&checks), [None]);
    assert!(checks[0].failure.is_some() && !checks[0].is_pending());
    assert!(fixture.state.leases.take_unsettled(true, checks[0].started).is_empty());
    let spent = fixture.state.leases.spend(
        fixture.caller.tenant,
        checks[0].charges(),
        1,
        checks[0].started,
    );
    assert!(matches!(spent, LeaseOutcome::Take(_)), "the next check can ask for units");
}

#[tokio::test]
async fn outage_answers_every_check_by_the_policy_of_its_rule() {
    for (policy, degraded, expected) in [
        ("allow", Degraded::Allow, true),
        ("deny", Degraded::Deny, false),
        ("local", Degraded::Local, true),
    ] {
        let fixture = Fixture::away(&window(policy));
        let requests = fixture.requests(Operation::Consume, &["a"]);
        let mut checks = fixture.matched(&requests).await;
        outage::answer(&fixture.state, &mut checks).await;
        let answer = answer(&checks[0]).expect("answered");
        assert_eq!((answer.degraded, answer.allowed), (Some(degraded), expected), "{policy}");
        assert_eq!(answer.denied_by.len(), usize::from(!expected), "{policy}");
        assert_eq!(answer.limits.len(), 1, "{policy}");
    }
}

#[tokio::test]
async fn other_tasks_run_while_the_denial_cache_and_the_outage_answer_a_large_batch() {
    let mut rule = window("local");
    let limit = |at: u64| serde_json::json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 + at });
    rule["limits"] = (0..8).map(limit).collect();
    let fixture = Fixture::away(&rule);
    let requests = fixture.requests(Operation::Consume, &["a"; 100]);
    let mut checks = fixture.matched(&requests).await;
    // Checks of 8 limits: 15 in a turn.
    let turns = turns_of_others(denied::answer(&fixture.state, &mut checks)).await;
    assert!((6..=8).contains(&turns), "denial cache: {turns}");
    let turns = turns_of_others(outage::answer(&fixture.state, &mut checks)).await;
    assert!((6..=8).contains(&turns), "outage: {turns}");
    assert!(checks.iter().all(|check| answer(check).is_some()));
}

/// `cache_for_ms` of a denied check by the rule of this fixture.
async fn cache_for_ms(
    rule: &serde_json::Value,
    operation: Operation,
    retry_after_ms: Option<u64>,
) -> u64 {
    let fixture = Fixture::away(rule);
    let requests = fixture.requests(operation, &["a"]);
    let mut checks = fixture.matched(&requests).await;
    checks[0].answer(&[Decision { retry_after_ms, ..denial() }]);
    answer(&checks[0]).expect("answered").cache_for_ms
}

#[tokio::test]
async fn denial_is_cacheable_until_it_could_pass_and_at_most_a_second() {
    let rule = window("allow");
    for (retry_after_ms, expected) in
        [(Some(50_000), 1_000), (Some(1_000), 1_000), (Some(999), 999), (Some(1), 1), (None, 1_000)]
    {
        let cached = cache_for_ms(&rule, Operation::Consume, retry_after_ms).await;
        assert_eq!(cached, expected, "retry after {retry_after_ms:?}");
    }
}

#[tokio::test]
async fn answer_that_a_further_check_could_change_is_not_cacheable() {
    let with = |field: &str, value: serde_json::Value| {
        let mut rule = window("allow");
        rule[field] = value;
        rule
    };
    let counts_denied = serde_json::json!([
        { "algorithm": "sliding_window_log", "limit": 5, "window_ms": 60_000, "count_denied": true }]);
    let rules = [
        with("limits", counts_denied),
        with("block_ms", 60_000.into()),
        with("mode", "shadow".into()),
    ];
    for rule in rules {
        assert_eq!(cache_for_ms(&rule, Operation::Consume, Some(500)).await, 0, "{rule}");
    }
    for operation in [Operation::Peek, Operation::Refund, Operation::Inspect] {
        assert_eq!(cache_for_ms(&window("allow"), operation, Some(500)).await, 0, "{operation:?}");
    }
}

#[tokio::test]
async fn degraded_denial_and_the_answer_of_an_idempotency_key_are_not_cacheable() {
    let fixture = Fixture::away(&window("deny"));
    let requests = fixture.requests(Operation::Consume, &["a"]);
    let mut checks = fixture.matched(&requests).await;
    outage::answer(&fixture.state, &mut checks).await;
    let degraded = answer(&checks[0]).expect("answered");
    assert_eq!((degraded.allowed, degraded.cache_for_ms), (false, 0));

    let requests = [fixture.keyed("a", "once")];
    let mut checks = fixture.matched(&requests).await;
    checks[0].answer(&[denial()]);
    assert_eq!(answer(&checks[0]).expect("answered").cache_for_ms, 0);
}

/// When the check is repeated, the rule possibly denies no longer.
#[tokio::test]
async fn denial_by_a_rule_is_not_recorded_under_an_idempotency_key() {
    let denying = json!({ "name": "rule", "count_by": [], "action": "deny", "limits": [] });
    for (rule, seconds) in [(denying, 0), (window("allow"), 60)] {
        let fixture = Fixture::away(&rule);
        let requests = [fixture.keyed("ada", "once")];
        let checks = fixture.matched(&requests).await;
        let recorded = checks[0].idempotency().expect("a key").recorded_for;
        assert_eq!(recorded, Duration::from_secs(seconds), "{rule}");
    }
}
