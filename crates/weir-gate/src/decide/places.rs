//! Places in concurrency limits that this gate takes for itself: for the deliveries of deferred jobs.
//!
//! The tenant's ceiling of checks per second does not apply to them, and no statistics count them.

use std::time::{Duration, Instant};

use weir_domain::charge::RuleCharge;
use weir_domain::lease::Lease;
use weir_domain::limit::Limit;
use weir_domain::matching::Matched;
use weir_domain::request::{Operation, Request};
use weir_domain::reservation::Settlement;
use weir_wire::check::CheckAnswer;

use super::pending::{Outcome, PendingCheck};
use super::{count, redis, renewal, rules};
use crate::metrics::events::LeaseEvent;
use crate::requests::caller::Caller;
use crate::requests::lease_text::LeaseText;
use crate::state::GateState;

/// The leases that hold the places of one delivery.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<LeaseText>);

/// The result of taking places without a charge of other limits.
#[derive(Debug)]
pub(crate) enum Retaken {
    /// The places are taken, or none are needed.
    Taken(Places),
    /// A limit has no free place. None is taken.
    Denied(CheckAnswer),
    /// Redis did not decide.
    Undecided,
}

/// The effect of a renewal or release.
enum Effect {
    Done,
    Ended,
    Unknown,
}

impl Places {
    /// The places that a check took.
    pub(crate) fn of(answer: &CheckAnswer) -> Self {
        Self(answer.leases.iter().filter_map(|lease| LeaseText::parse(&lease.id)).collect())
    }

    /// The shortest time for which a place is held without a renewal. `None` if there are no places.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        let shortest = self.0.iter().map(|text| text.lease.lease_ms).min();
        shortest.map(Duration::from_millis)
    }

    /// Takes a place of each concurrency limit that a request meets, and charges no other limit.
    pub(crate) async fn retake(state: &GateState, caller: &Caller, request: &Request) -> Retaken {
        if !caller.book.enforced(caller.tenant) {
            return Retaken::Taken(Self::default());
        }
        // The key belongs to the check that charged.
        let request = request.clone().without_idempotency_key();
        let mut checks = [PendingCheck::new(caller, &request, state.monotonic.at(Instant::now()))];
        if rules::answer(state, &mut checks).await.is_err() {
            return Retaken::Undecided;
        }
        let [check] = &mut checks;
        let charges: Vec<_> = check.charges().iter().filter_map(of_concurrency).collect();
        if charges.is_empty() {
            return Retaken::Taken(Self::default());
        }
        check.matched = Matched::Charged(charges);
        redis::answer(state, &mut checks).await;
        let [check] = checks;
        let Some(Outcome::Answered(answer)) = check.outcome else { return Retaken::Undecided };
        count::note_leases(state, &answer);
        if answer.allowed { Retaken::Taken(Self::of(&answer)) } else { Retaken::Denied(answer) }
    }

    /// Lets the leases begin anew. Returns whether all places are still held; `None` if Redis did not answer.
    pub(crate) async fn renew(&self, state: &GateState, caller: &Caller) -> Option<bool> {
        let effects = self.settle(state, caller, Operation::Renew, LeaseEvent::Renewed).await;
        let known = effects.iter().all(|effect| !matches!(effect, Effect::Unknown));
        known.then(|| effects.iter().all(|effect| matches!(effect, Effect::Done)))
    }

    /// Ends the leases. Returns whether Redis answered.
    pub(crate) async fn release(&self, state: &GateState, caller: &Caller) -> bool {
        let effects = self.settle(state, caller, Operation::Release, LeaseEvent::Released).await;
        effects.iter().all(|effect| !matches!(effect, Effect::Unknown))
    }

    async fn settle(
        &self,
        state: &GateState,
        caller: &Caller,
        operation: fn(Lease) -> Operation,
        event: LeaseEvent,
    ) -> Vec<Effect> {
        let started = state.monotonic.at(Instant::now());
        let request = |text: &LeaseText| renewal::request(text, operation(text.lease));
        let requests: Vec<_> = self.0.iter().map(request).collect();
        let pending = |request| PendingCheck::new(caller, request, started);
        let mut checks: Vec<_> = requests.iter().map(pending).collect();
        redis::answer(state, &mut checks).await;
        let each = checks.iter().zip(&self.0);
        let effects = each.map(|(check, text)| match (&check.outcome, check.settlement) {
            (Some(Outcome::NotOpen), _) => {
                count::note_settled(state, LeaseEvent::Ended, &text.lease);
                Effect::Ended
            }
            (Some(outcome), Some(Settlement::Leased { .. })) => {
                if matches!(outcome, Outcome::Answered(_)) {
                    count::note_settled(state, event, &text.lease);
                }
                Effect::Done
            }
            _ => Effect::Unknown,
        });
        effects.collect()
    }
}

/// The charge to the concurrency limits alone. `None` if there are none.
fn of_concurrency(charge: &RuleCharge) -> Option<RuleCharge> {
    let is_concurrency = |limit: &&Limit| limit.algorithm.lease_ms().is_some();
    let limits: Vec<Limit> = charge.limits().iter().filter(is_concurrency).cloned().collect();
    (!limits.is_empty())
        .then(|| RuleCharge { override_limits: Some(limits.into()), ..charge.clone() })
}
