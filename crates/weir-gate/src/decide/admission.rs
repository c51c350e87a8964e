//! The stage before all rules: the switch that turns limits off, and the tenant's ceiling of checks a second.

use weir_wire::check::{AnswerCode, CheckAnswer};

use super::pending::{Outcome, PendingCheck};
use crate::decide::tenant_rates::share;
use crate::requests::caller::Caller;
use crate::state::GateState;

/// Answers all checks while limits are off, else those beyond the tenant's ceiling. The checks are of one caller.
pub(super) fn answer(state: &GateState, checks: &mut [PendingCheck<'_>]) {
    let Some(&PendingCheck { caller, started, .. }) = checks.first() else { return };
    if !caller.book.enforced(caller.tenant) {
        return answer_all(checks, &answer_without_rules(caller, AnswerCode::EnforcementOff));
    }
    let ceiling = caller.book.checks_per_second(caller.tenant);
    let per_second = share(ceiling, state.local.live_gates().all);
    let taken = state.tenant_rates.take(caller.tenant, per_second, checks.len() as u64, started);
    let admitted = usize::try_from(taken.units).unwrap_or(usize::MAX).min(checks.len());
    let refused = &mut checks[admitted..];
    if refused.is_empty() {
        return;
    }
    let answer = CheckAnswer {
        allowed: false,
        retry_after_ms: Some(taken.retry_after_ms),
        limit: Some(ceiling),
        remaining: Some(0),
        reset_after_ms: Some(1_000),
        ..answer_without_rules(caller, AnswerCode::TenantRate)
    };
    answer_all(refused, &answer);
}

fn answer_all(checks: &mut [PendingCheck<'_>], answer: &CheckAnswer) {
    for check in checks {
        check.outcome = Some(Outcome::Answered(answer.clone()));
    }
}

fn answer_without_rules(caller: &Caller, code: AnswerCode) -> CheckAnswer {
    CheckAnswer {
        allowed: true,
        denied_by: Vec::new(),
        retry_after_ms: Some(0),
        cache_for_ms: 0,
        delay_ms: 0,
        limit: None,
        remaining: None,
        reset_after_ms: None,
        limits: Vec::new(),
        over: Vec::new(),
        leases: Vec::new(),
        charge: None,
        degraded: None,
        rulebook_version: caller.book.version(),
        code: Some(code),
    }
}
