//! The pipeline for renewals and releases of leases: admission → Redis.
//!
//! Neither meets a rule: the id of a lease names its counter. So both work for a lease of a rule that was edited or deleted.

use std::collections::BTreeMap;
use std::time::Instant;

use weir_domain::draft::OnStoreFailure;
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::reservation::Settlement;
use weir_domain::time::Micros;
use weir_wire::check::{AnswerCode, CheckAnswer, Degraded};

use super::pending::{Outcome, PendingCheck};
use super::{admission, count, redis};
use crate::metrics::events::LeaseEvent;
use crate::requests::caller::Caller;
use crate::requests::lease_text::LeaseText;
use crate::state::GateState;

/// The end of a renewal or release.
#[derive(Debug)]
pub(crate) enum LeaseSettled {
    /// Done, at this time of Redis' clock.
    Done(Micros),
    /// The lease has ended.
    Ended,
    /// Redis could not be reached: the policy of the rule.
    Degraded(Degraded),
    /// The tenant exceeds its ceiling of checks per second.
    OverCeiling(Box<CheckAnswer>),
    /// Limits are turned off.
    Off,
}

/// Lets a lease begin anew.
pub(crate) async fn renew(state: &GateState, caller: &Caller, text: &LeaseText) -> LeaseSettled {
    settle(state, caller, text, Operation::Renew(text.lease), LeaseEvent::Renewed).await
}

/// Ends a lease. A repeat gets the first answer.
pub(crate) async fn release(state: &GateState, caller: &Caller, text: &LeaseText) -> LeaseSettled {
    settle(state, caller, text, Operation::Release(text.lease), LeaseEvent::Released).await
}

async fn settle(
    state: &GateState,
    caller: &Caller,
    text: &LeaseText,
    operation: Operation,
    event: LeaseEvent,
) -> LeaseSettled {
    let request = request(text, operation);
    let mut checks = [PendingCheck::new(caller, &request, state.monotonic.at(Instant::now()))];
    admission::answer(state, &mut checks);
    redis::answer(state, &mut checks).await;
    let [check] = checks;
    match (check.outcome, check.settlement) {
        (Some(Outcome::NotOpen), _) => {
            count::note_settled(state, LeaseEvent::Ended, &text.lease);
            LeaseSettled::Ended
        }
        (Some(outcome), Some(Settlement::Leased { at })) => {
            if matches!(outcome, Outcome::Answered(_)) {
                count::note_settled(state, event, &text.lease);
            }
            LeaseSettled::Done(at)
        }
        (Some(Outcome::Answered(answer)), _) if answer.code == Some(AnswerCode::TenantRate) => {
            LeaseSettled::OverCeiling(Box::new(answer))
        }
        (Some(_), _) => LeaseSettled::Off,
        (None, _) => LeaseSettled::Degraded(policy(caller, text)),
    }
}

/// The answer of the rule while Redis is away; `allow` if the rule is gone.
fn policy(caller: &Caller, text: &LeaseText) -> Degraded {
    let rules = caller.book.rules(caller.tenant, &text.namespace);
    let rule = rules.iter().find(|active| active.id == text.lease.rule);
    match rule.map_or(OnStoreFailure::Allow, |active| active.rule.on_store_failure()) {
        OnStoreFailure::Allow => Degraded::Allow,
        OnStoreFailure::Deny => Degraded::Deny,
        OnStoreFailure::Local => Degraded::Local,
    }
}

/// The request that renews or releases a lease.
pub(super) fn request(text: &LeaseText, operation: Operation) -> Request {
    let releases = matches!(operation, Operation::Release(_));
    let lease = &text.lease;
    // The leases of one check share their random bits, and those of one rule their subject.
    let key = || {
        let id = u128::from_be_bytes(lease.id.0);
        format!("release {id:032x} {:032x} {}", lease.rule.to_u128(), lease.slot)
    };
    let draft = RequestDraft {
        namespace: text.namespace.clone(),
        attributes: BTreeMap::new(),
        cost: 1,
        operation,
        idempotency_key: releases.then(key),
    };
    Request::parse(draft).expect("the parts of a lease were checked")
}
