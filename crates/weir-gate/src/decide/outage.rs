//! The last stage: answers the checks that Redis did not decide by each rule's `on_store_failure`, marked in `degraded`.

use std::sync::Arc;

use weir_domain::charge::RuleCharge;
use weir_domain::draft::OnStoreFailure;
use weir_domain::request::Operation;
use weir_wire::check::{CheckAnswer, Degraded, LimitAnswer};
use weir_wire::words::Mode;

use super::pending::{Outcome, PendingCheck, unanswered};
use crate::decide::turns::Turns;
use crate::outage::local::{Local, RETRY_AFTER_MS};
use crate::requests::answer::{AnswerTemplate, LimitLabel};
use crate::state::GateState;

/// Answers all checks without an answer.
pub(super) async fn answer(state: &GateState, checks: &mut [PendingCheck<'_>]) {
    let mut turns = Turns::default();
    for check in unanswered(checks) {
        check.outcome = Some(Outcome::Answered(degraded_answer(&state.local, check)));
        turns.worked(check.limit_count()).await;
    }
}

fn degraded_answer(local_counters: &Local, check: &PendingCheck<'_>) -> CheckAnswer {
    let charges = check.charges();
    let template = check.template();
    let operation = check.request.operation();
    let cost = check.request.cost();
    let policy = |charge: &RuleCharge| charge.active.rule.on_store_failure();
    let denies =
        charges.iter().any(|charge| !charge.is_alone() && policy(charge) == OnStoreFailure::Deny);
    let local_operation = match operation {
        // A denied check takes nothing from local counters either.
        Operation::Consume | Operation::Reserve(_) if denies => Operation::Peek,
        // Nothing is held in memory: the estimate is taken, and nothing returns.
        Operation::Reserve(_) => Operation::Consume,
        // The caller repeats them.
        Operation::Commit(_)
        | Operation::Exhaust(_)
        | Operation::Renew(_)
        | Operation::Release(_) => Operation::Peek,
        other => other,
    };
    let is_local = |charge: &&RuleCharge| policy(charge) == OnStoreFailure::Local;
    let local: Vec<RuleCharge> = charges.iter().filter(is_local).cloned().collect();
    let decisions = local_counters.decide(check.caller.tenant, local_operation, cost, &local);

    // The answer by the local rules alone. The limits of the other rules are inserted between theirs below.
    let labels = || template.limits.iter();
    let policies =
        || charges.iter().flat_map(|charge| charge.limits().iter().map(|_| policy(charge)));
    let local_labels =
        labels().zip(policies()).filter(|(_, policy)| *policy == OnStoreFailure::Local);
    let local_template = AnswerTemplate {
        denied_by: template.denied_by.clone(),
        limits: local_labels.map(|(label, _)| label.clone()).collect(),
        rulebook_version: template.rulebook_version,
        reservation: None,
        leases: Vec::new(),
    };
    let mut answer = local_template.answer(&decisions, operation);

    let has_local_limits = !answer.limits.is_empty();
    let mut local_limits = std::mem::take(&mut answer.limits).into_iter();
    let limits = labels().zip(policies()).filter_map(|(label, policy)| match policy {
        OnStoreFailure::Local => local_limits.next(),
        OnStoreFailure::Allow => Some(unknown(label, operation, true)),
        OnStoreFailure::Deny => Some(unknown(label, operation, false)),
    });
    answer.limits = limits.collect();
    if has_local_limits || denies {
        answer.denied_by = denied_by(&answer.limits);
    }
    if denies {
        answer.allowed = false;
        // `None` means never, which an answer of Redis cannot change.
        answer.retry_after_ms = answer.retry_after_ms.map(|ms| ms.max(RETRY_AFTER_MS));
    }
    answer.degraded = (!charges.is_empty()).then(|| {
        if denies {
            Degraded::Deny
        } else if local.iter().any(|charge| !charge.is_alone()) {
            Degraded::Local
        } else {
            Degraded::Allow
        }
    });
    answer
}

/// The answer of a limit whose counter is unknown.
fn unknown(label: &LimitLabel, operation: Operation, allowed: bool) -> LimitAnswer {
    LimitAnswer {
        rule: Arc::clone(&label.rule),
        rule_id: Arc::clone(&label.rule_id),
        algorithm: label.algorithm,
        mode: label.mode(),
        allowed,
        limit: label.limit,
        remaining: None,
        window_ms: label.window_ms,
        reset_after_ms: None,
        retry_after_ms: Some(if allowed { 0 } else { RETRY_AFTER_MS }),
        delay_ms: 0,
        refunded: (operation == Operation::Refund).then_some(false),
    }
}

/// The rules with a denying limit, each once.
fn denied_by(limits: &[LimitAnswer]) -> Vec<Arc<str>> {
    let denying = limits.iter().filter(|limit| limit.mode == Mode::Enforce && !limit.allowed);
    let mut names: Vec<Arc<str>> = denying.map(|limit| Arc::clone(&limit.rule)).collect();
    names.dedup();
    names
}
