//! The stage of checks whose counters are at two places.
//!
//! In a namespace whose counters are spread, a rule counts by all attributes of `spread_by`, or it is leased. A check that
//! meets rules of both kinds has two parts: the *spread* part, which one bucket decides for the values of the attributes, and
//! the *common* parts, whose counters are in the bucket of the namespace.
//!
//! A check that consumes takes the units of its common parts first, mostly from leases in memory. Only then Redis decides the
//! spread part. If that denies, the common units go back into the lease, or to Redis with other unused units. So all
//! enforced limits are charged or none, no limit is ever exceeded, and meanwhile each gate withholds at most the units of
//! checks in flight. Other operations ask for all parts at once.

mod part;

use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::OnStoreFailure;
use weir_domain::request::Operation;

use self::part::{Part, PartResult, decide};
use super::pending::{ChargedAt, Failure, Outcome, PendingCheck};
use crate::decide::turns::Turns;
use crate::memory::leases::LeaseOutcome;
use crate::requests::answer::AnswerTemplate;
use crate::state::GateState;

/// A check whose counters are at two places.
struct SplitCheck<'c, 'a> {
    check: &'c mut PendingCheck<'a>,
    common: Vec<Part<'a>>,
    spread: Part<'a>,
}

/// Answers the pending checks whose counters are at two places, in at most three calls of Redis for all of them.
pub(super) async fn answer<'a>(state: &'a GateState, checks: &mut [PendingCheck<'a>]) {
    let mut split = Vec::new();
    let mut turns = Turns::default();
    for check in checks.iter_mut().filter(|check| check.is_pending() && check.is_split()) {
        let limits = check.limit_count();
        let mut check = SplitCheck::new(check);
        check.spend(state);
        split.push(check);
        turns.worked(limits).await;
    }
    if split.is_empty() {
        return;
    }
    decide(state, split.iter_mut().flat_map(SplitCheck::first_parts)).await;
    // Pending are only parts whose request for units was denied, if there are any.
    decide(state, split.iter_mut().flat_map(|check| check.common.iter_mut())).await;
    for check in &mut split {
        check.pass_on();
    }
    decide(state, split.iter_mut().map(|check| &mut check.spread)).await;
    for check in split {
        let limits = check.check.limit_count();
        check.finish(state).await;
        turns.worked(limits).await;
    }
}

impl<'c, 'a> SplitCheck<'c, 'a> {
    fn new(check: &'c mut PendingCheck<'a>) -> Self {
        let (spread, common): (Vec<_>, Vec<_>) =
            check.charges().iter().cloned().partition(|charge| charge.spread.is_spread());
        let part = |charges| Part::new(check, charges);
        let common = if check.is_leasable() {
            common.into_iter().map(|charge| part(vec![charge])).collect()
        } else {
            // One part, because one record holds the answer of an idempotency key.
            let mut common = part(common).into_common();
            common.separate_record();
            vec![common]
        };
        let spread = part(spread);
        Self { check, common, spread }
    }

    fn consumes(&self) -> bool {
        self.check.request.operation() == Operation::Consume
    }

    /// Takes units from leases, or attaches requests for units.
    fn spend(&mut self, state: &'a GateState) {
        if !self.check.is_leasable() {
            return;
        }
        let tenant = self.check.caller.tenant;
        let cost = self.check.request.cost();
        for part in &mut self.common {
            match state.leases.spend(tenant, &part.charges, cost, self.check.started) {
                LeaseOutcome::Admitted(decisions, window) => {
                    part.take(&[window]);
                    part.result = Some(PartResult::Decided(decisions));
                }
                LeaseOutcome::Take(request) => part.lease = Some(request),
                LeaseOutcome::NotLeased => {}
            }
        }
    }

    /// The parts that do not wait for others.
    fn first_parts(&mut self) -> impl Iterator<Item = &mut Part<'a>> {
        let spread = (!self.consumes()).then_some(&mut self.spread);
        self.common.iter_mut().chain(spread)
    }

    /// Lets Redis decide the spread part only if the common ones admit the check. Otherwise its counters are inspected for the
    /// answer.
    fn pass_on(&mut self) {
        if !self.consumes() {
            return;
        }
        if self.common.iter().any(|part| part.decisions().is_none()) {
            self.spread.result = Some(PartResult::Failed);
        } else if !self.common.iter().all(Part::admits) {
            self.spread.operation = Operation::Inspect;
            self.spread.idempotency = None;
        }
    }

    /// Answers the check, and returns the units of common parts if it is denied.
    async fn finish(mut self, state: &GateState) {
        let key_reused = |part: &Part<'_>| matches!(part.result, Some(PartResult::KeyReused));
        if self.common.iter().chain([&self.spread]).any(key_reused) {
            self.put_back(state).await;
            self.check.outcome = Some(Outcome::KeyReused);
            return;
        }
        let decided =
            self.common.iter().chain([&self.spread]).all(|part| part.decisions().is_some());
        if !decided {
            if self.is_denied_without_redis() {
                self.put_back(state).await;
            }
            // Redis possibly ran one of the parts.
            self.check.failure = Some(Failure::PossiblyRun);
            return;
        }
        if self.consumes() && !(self.spread.admits() && self.common.iter().all(Part::admits)) {
            self.put_back(state).await;
        }
        if self.check.request.operation() == Operation::Refund {
            state.denial_cache.invalidate_all(self.check.charges());
        }
        let decisions = self.decisions();
        self.check.charged_at = self.spread.charged_at.map(|at| ChargedAt {
            common_at: self.common.iter().filter_map(|part| part.charged_at).min(),
            ..ChargedAt::by_redis(at)
        });
        self.check.settlement = self.spread.settlement;
        match self.repeated() {
            Some(text) => {
                let first = AnswerTemplate::from_text(text);
                let first = first.filter(|first| first.limits.len() == decisions.len());
                let first = first.unwrap_or_else(|| self.check.template());
                let answer = self.check.answer_of(first, &decisions);
                self.check.outcome = Some(Outcome::Repeated(answer));
            }
            None => self.check.answer(&decisions),
        }
    }

    /// The first answer of the same idempotency key, which can be unreadable.
    fn repeated(&self) -> Option<&str> {
        match &self.spread.result {
            Some(PartResult::Repeated(text, _)) => Some(text),
            _ => None,
        }
    }

    /// Whether the outage stage denies the check, so that its units are unused.
    fn is_denied_without_redis(&self) -> bool {
        let denies = |charge: &RuleCharge| {
            !charge.is_alone() && charge.active.rule.on_store_failure() == OnStoreFailure::Deny
        };
        self.consumes() && self.check.charges().iter().any(denies)
    }

    /// Returns the units that the common parts took, if there are any.
    async fn put_back(&mut self, state: &GateState) {
        let now = state.monotonic.now();
        for part in &mut self.common {
            part.record_denial(state).await;
            part.put_back(state, now);
        }
    }

    /// One decision for each limit, in the order of the charges.
    fn decisions(&self) -> Vec<Decision> {
        let of = |part: &Part<'_>| part.decisions().unwrap_or_default().to_vec();
        let mut common = self.common.iter().flat_map(of);
        let mut spread = of(&self.spread).into_iter();
        let mut all = Vec::with_capacity(self.check.limit_count());
        for charge in self.check.charges() {
            let count = charge.limits().len();
            if charge.spread.is_spread() {
                all.extend(spread.by_ref().take(count));
            } else {
                all.extend(common.by_ref().take(count));
            }
        }
        all
    }
}
