//! What is answered before any rule is looked at: the switch that turns limits off, and the tenant's ceiling of checks
//! a second.

use std::time::Instant;

use weir_domain::matching::Matched;
use weir_domain::request::{Operation, Request};
use weir_wire::check::{AnswerCode, CheckAnswer};

use crate::caller::Caller;
use crate::decide::{self, KeyReused, TooManyLimits};
use crate::state::GateState;
use crate::tally::DecisionEvent;
use crate::tenant_rates::share;

/// Decides requests in order and counts them. Those beyond the tenant's ceiling are refused without asking Redis.
pub(crate) async fn decide(
    state: &GateState,
    caller: &Caller,
    requests: &[Request],
) -> Result<Vec<Result<CheckAnswer, KeyReused>>, TooManyLimits> {
    let started = Instant::now();
    if !caller.book.enforced(caller.tenant) {
        let answer = answer(caller, AnswerCode::EnforcementOff);
        let settled = |request| Ok(settle(state, caller, request, &answer, started));
        return Ok(requests.iter().map(settled).collect());
    }
    let ceiling = caller.book.checks_per_second(caller.tenant);
    let per_second = share(ceiling, state.local.live_gates());
    let taken = state.tenant_rates.take(caller.tenant, per_second, requests.len() as u64, started);
    let admitted = usize::try_from(taken.units).unwrap_or(usize::MAX).min(requests.len());
    let (admitted, refused) = requests.split_at(admitted);
    if refused.is_empty() {
        return decide::decide(state, caller, admitted).await;
    }
    let mut results = if admitted.is_empty() {
        Vec::new()
    } else {
        decide::decide(state, caller, admitted).await?
    };
    let answer = CheckAnswer {
        allowed: false,
        retry_after_ms: Some(taken.retry_after_ms),
        limit: Some(ceiling),
        remaining: Some(0),
        reset_after_ms: Some(1_000),
        ..answer(caller, AnswerCode::TenantRate)
    };
    state.meters.tenant_rate_denied(refused.len() as u64);
    let settled = |request| Ok(settle(state, caller, request, &answer, started));
    results.extend(refused.iter().map(settled));
    Ok(results)
}

/// An answer that no rule gave.
fn answer(caller: &Caller, code: AnswerCode) -> CheckAnswer {
    CheckAnswer {
        allowed: true,
        denied_by: Vec::new(),
        retry_after_ms: Some(0),
        delay_ms: 0,
        limit: None,
        remaining: None,
        reset_after_ms: None,
        limits: Vec::new(),
        degraded: None,
        rulebook_version: caller.book.version(),
        code: Some(code),
    }
}

/// Counts a request with this answer, for the metrics and the statistics.
fn settle(
    state: &GateState,
    caller: &Caller,
    request: &Request,
    answer: &CheckAnswer,
    started: Instant,
) -> CheckAnswer {
    state.meters.decided(answer, started.elapsed());
    if request.operation() == Operation::Consume {
        let namespace = caller.book.namespace(caller.tenant, request.namespace());
        state.tally.record(&DecisionEvent {
            tenant: caller.tenant,
            key: caller.key,
            at: caller.at,
            known_namespace: namespace.is_some_and(|namespace| !namespace.rules.is_empty()),
            sample: None,
            request,
            matched: &Matched::Charged(Vec::new()),
            answer,
        });
    }
    answer.clone()
}
