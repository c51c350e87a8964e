//! The stage of checks whose counters are at several places.
//!
//! In a namespace whose counters are spread, a rule counts by all attributes of `spread_by`, or it is leased. The counters of the
//! latter are in the bucket of the namespace, those of the former in a bucket for the values of the attributes. Counters of rules
//! that hold in all regions are in the home region. So a check has up to four parts, each with the counters of one place.
//!
//! A check that consumes takes the units of all places but the last first: those of other regions, and those of the bucket of the
//! namespace, mostly from leases in memory. Only then the last part is decided. If that denies, the other units go back into
//! the lease, or to Redis with other unused units, and places in concurrency limits are released. So all enforced limits are
//! charged or none, no limit is ever exceeded, and meanwhile each gate withholds at most the units of checks in flight. Other
//! operations ask for all parts at once.

mod part;

use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::OnStoreFailure;
use weir_domain::request::Operation;

use self::part::{Part, PartResult, decide};
use super::pending::{ChargedAt, Failure, Outcome, PendingCheck};
use crate::decide::turns::Turns;
use crate::memory::leases::LeaseOutcome;
use crate::regions;
use crate::requests::answer::AnswerTemplate;
use crate::state::GateState;

/// A check whose counters are at several places.
struct SplitCheck<'c, 'a> {
    check: &'c mut PendingCheck<'a>,
    /// The parts that are decided first, of all places but the last.
    common: Vec<Part<'a>>,
    /// The part at the last place.
    spread: Part<'a>,
}

/// Answers the pending checks whose counters are at several places, in at most three calls of Redis for all of them.
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
        let mut places: Vec<_> = check.charges().iter().map(|charge| check.place(charge)).collect();
        places.sort_unstable();
        places.dedup();
        let last = places.pop();
        let at = |place| {
            let charges =
                check.charges().iter().filter(|charge| Some(check.place(charge)) == place);
            charges.cloned().collect::<Vec<_>>()
        };
        let part = |charges| Part::new(check, charges);
        let mut common = Vec::new();
        for (place, marks) in places.into_iter().zip(1..) {
            if check.is_leasable() {
                common.extend(at(Some(place)).into_iter().map(|charge| part(vec![charge])));
            } else {
                // One part for each place, because one record holds the answer of an idempotency key.
                let mut of_place = part(at(Some(place))).into_common();
                of_place.separate_record(marks);
                common.push(of_place);
            }
        }
        let spread = part(at(last));
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
                    let book = &self.check.caller.book;
                    let charged = (tenant, part.charges.as_slice());
                    regions::take_early(state, book, charged, self.check.started);
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
            part.put_back(state, now).await;
        }
    }

    /// One decision for each limit, in the order of the charges.
    fn decisions(&self) -> Vec<Decision> {
        let parts: Vec<_> = self.common.iter().chain([&self.spread]).collect();
        let mut read = vec![0; parts.len()];
        let mut all = Vec::with_capacity(self.check.limit_count());
        for charge in self.check.charges() {
            let count = charge.limits().len();
            let Some(at) = parts.iter().position(|part| part.has(charge)) else { continue };
            let decisions = parts[at].decisions().unwrap_or_default();
            all.extend(decisions.iter().skip(read[at]).take(count));
            read[at] += count;
        }
        all
    }
}
