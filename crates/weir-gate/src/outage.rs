//! The answer when Redis cannot be asked: each rule's `on_store_failure`, marked in `degraded`.

use std::sync::Arc;

use weir_domain::charge::RuleCharge;
use weir_domain::draft::OnStoreFailure;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_wire::check::{CheckAnswer, Degraded, LimitAnswer};

use crate::answer::{AnswerTemplate, LimitLabel};
use crate::local::{Local, RETRY_AFTER_MS};

/// A request that Redis was not asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unasked<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) operation: Operation,
    pub(crate) cost: u64,
    pub(crate) charges: &'a [RuleCharge],
    pub(crate) template: &'a AnswerTemplate,
}

/// Answers for the rules a request met.
pub(crate) fn answer(local_counters: &Local, unasked: Unasked<'_>) -> CheckAnswer {
    let Unasked { tenant, operation, cost, charges, template } = unasked;
    let policy = |charge: &RuleCharge| charge.active.rule.on_store_failure();
    let denies = charges.iter().any(|it| !it.shadow() && policy(it) == OnStoreFailure::Deny);
    // A check that is refused takes nothing, here as everywhere.
    let local_operation =
        if denies && operation == Operation::Consume { Operation::Peek } else { operation };
    let local: Vec<RuleCharge> =
        charges.iter().filter(|it| policy(it) == OnStoreFailure::Local).cloned().collect();
    let mut decided = local_counters.decide(tenant, local_operation, cost, &local).into_iter();

    let mut named = template.limits.iter();
    let (mut ours, mut ours_named) = (Vec::new(), Vec::new());
    let mut limits = Vec::with_capacity(template.limits.len());
    for charge in charges {
        for named in named.by_ref().take(charge.limits().len()) {
            match policy(charge) {
                OnStoreFailure::Local => {
                    ours.extend(decided.next());
                    ours_named.push(named.clone());
                    limits.push(None);
                }
                OnStoreFailure::Allow => limits.push(Some(unknown(named, operation, true))),
                OnStoreFailure::Deny => limits.push(Some(unknown(named, operation, false))),
            }
        }
    }
    // What was decided here is put together as always; the rest is laid around it.
    let here = AnswerTemplate { limits: ours_named, ..template.clone() }.answer(&ours, operation);
    let mut here_limits = here.limits.clone().into_iter();
    let limits: Vec<LimitAnswer> =
        limits.into_iter().filter_map(|it| it.or_else(|| here_limits.next())).collect();
    let degraded = if denies {
        Degraded::Deny
    } else if local.iter().any(|it| !it.shadow()) {
        Degraded::Local
    } else {
        Degraded::Allow
    };
    let denied_by = denied_by(&limits);
    CheckAnswer {
        allowed: here.allowed && !denies,
        // `None` means never, which no later answer of Redis can change.
        retry_after_ms: if denies {
            here.retry_after_ms.map(|ms| ms.max(RETRY_AFTER_MS))
        } else {
            here.retry_after_ms
        },
        denied_by: if here.limits.is_empty() && !denies { here.denied_by } else { denied_by },
        limits,
        degraded: (!charges.is_empty()).then_some(degraded),
        ..here
    }
}

/// The entry of a limit whose counter is not known.
fn unknown(named: &LimitLabel, operation: Operation, allowed: bool) -> LimitAnswer {
    LimitAnswer {
        rule: Arc::clone(&named.rule),
        rule_id: Arc::clone(&named.rule_id),
        algorithm: named.algorithm,
        mode: named.mode(),
        allowed,
        limit: named.limit,
        remaining: None,
        window_ms: named.window_ms,
        reset_after_ms: None,
        retry_after_ms: Some(if allowed { 0 } else { RETRY_AFTER_MS }),
        delay_ms: 0,
        refunded: (operation == Operation::Refund).then_some(false),
    }
}

fn denied_by(limits: &[LimitAnswer]) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    let enforced = limits.iter().filter(|it| it.mode == weir_wire::words::Mode::Enforce);
    for limit in enforced.filter(|it| !it.allowed) {
        if names.last() != Some(&limit.rule) {
            names.push(limit.rule.clone());
        }
    }
    names
}
