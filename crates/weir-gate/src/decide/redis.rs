//! The stage that decides checks in Redis.

use std::time::Instant;

use weir_domain::decide::Decision;
use weir_domain::request::Operation;
use weir_domain::time::Micros;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, ScriptCheck};

use super::pending::{ChargedAt, Failure, Outcome, PendingCheck};
use crate::decide::turns::Turns;
use crate::regions;
use crate::requests::answer::AnswerTemplate;
use crate::requests::caller::Caller;
use crate::state::GateState;

/// Sends all pending checks to Redis in one call. A check stays pending only if Redis denied the units of a lease to it.
pub(super) async fn answer(state: &GateState, checks: &mut [PendingCheck<'_>]) {
    if !checks.iter().any(PendingCheck::is_pending) {
        return;
    }
    let calls = calls(checks);
    let Some(caller) = checks.first().map(|check| check.caller) else { return };
    let mut results = call(state, &calls, caller).await.into_iter();
    drop(calls);
    let mut turns = Turns::default();
    for check in checks.iter_mut() {
        if !check.is_pending() {
            continue;
        }
        let Some(result) = results.next() else { return };
        turns.worked(check.limit_count()).await;
        match result {
            Ok(answer) => accept(state, check, answer),
            Err(error) => fail(check, was_sent(&error), failure_of(&error)),
        }
    }
}

/// Calls Redis for a caller, here or in the home region.
pub(super) async fn call(
    state: &GateState,
    calls: &[ScriptCheck<'_>],
    caller: &Caller,
) -> Vec<Result<Answer, RedisError>> {
    regions::check(state, &caller.book, calls, caller.call_options()).await
}

/// Whether Redis possibly received the check that failed.
pub(super) fn was_sent(error: &RedisError) -> bool {
    !matches!(error, RedisError::Away | RedisError::Overloaded)
}

fn failure_of(error: &RedisError) -> Failure {
    if error.was_not_run() { Failure::NotRun } else { Failure::PossiblyRun }
}

/// Reports a key that holds a value of the wrong type.
pub(super) fn report_unreadable(state: &GateState, key: &str) {
    state.unreadable.report(key, Instant::now());
    state.meters.redis_unreadable();
}

fn calls<'c>(checks: &'c [PendingCheck<'_>]) -> Vec<ScriptCheck<'c>> {
    checks.iter().filter(|check| check.is_pending()).map(PendingCheck::call).collect()
}

fn accept(state: &GateState, check: &mut PendingCheck<'_>, answer: Answer) {
    match answer {
        Answer::Decided(at, decisions) => accept_decisions(state, check, at, decisions),
        Answer::Repeated(_, first, decisions) => {
            check.charged_at = first.at.map(ChargedAt::by_redis);
            let first = AnswerTemplate::from_text(&first.text).unwrap_or_else(|| check.template());
            let answer = check.answer_of(first, &decisions);
            check.outcome = Some(Outcome::Repeated(answer));
        }
        Answer::Settled(at, None, decisions, settlement) => {
            check.settlement = Some(settlement);
            accept_decisions(state, check, at, decisions);
        }
        Answer::Settled(_, Some(first), decisions, settlement) => {
            check.charged_at = first.at.map(ChargedAt::by_redis);
            let first = AnswerTemplate::from_text(&first.text).unwrap_or_else(|| check.template());
            check.settlement = Some(settlement);
            check.reservation.clone_from(&first.reservation);
            let answer = check.answer_of(first, &decisions);
            check.outcome = Some(Outcome::Repeated(answer));
        }
        Answer::NotOpen => check.outcome = Some(Outcome::NotOpen),
        Answer::KeyReused => check.outcome = Some(Outcome::KeyReused),
        Answer::Unreadable(key) => {
            report_unreadable(state, &key);
            fail(check, false, Failure::Unreadable);
        }
    }
}

fn accept_decisions(
    state: &GateState,
    check: &mut PendingCheck<'_>,
    at: Micros,
    mut decisions: Vec<Decision>,
) {
    let now = state.monotonic.now();
    check.charged_at = Some(ChargedAt::by_redis(at));
    if let Some(lease) = check.lease.take() {
        let brings_units = lease.asks_for_more();
        let Some(settled) = lease.settle(at, decisions, now) else { return };
        decisions = settled;
        if brings_units {
            // A denial that was cached before must not hide the new units.
            state.denial_cache.invalidate_all(check.charges());
        }
    }
    if let Some(generation) = check.generation.take() {
        state.denial_cache.insert(generation, check.charged_rules(), &decisions, now);
    }
    if matches!(check.request.operation(), Operation::Refund | Operation::Commit(_)) {
        state.denial_cache.invalidate_all(check.charges());
    }
    check.answer(&decisions);
}

/// Notes that Redis did not decide the check. A lease request that was sent is settled later: Redis possibly gave its units.
fn fail(check: &mut PendingCheck<'_>, was_sent: bool, failure: Failure) {
    if let Some(lease) = check.lease.take().filter(|_| !was_sent) {
        lease.not_taken();
    }
    check.failure = Some(failure);
}
