//! One part of a check: its counters at one place.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::decide::Decision;
use weir_domain::lease::Lease;
use weir_domain::request::{IDEMPOTENCY_KEY_BYTES_MAX, Operation};
use weir_domain::reservation::Settlement;
use weir_domain::time::Micros;
use weir_redis::limiter::{Answer, Idempotency, ScriptCheck};

use super::super::pending::PendingCheck;
use super::super::redis;
use crate::memory::leases::{LeaseRequest, LeaseWindow};
use crate::regions;
use crate::requests::caller::Caller;
use crate::state::GateState;

pub(super) struct Part<'a> {
    caller: &'a Caller,
    namespace: &'a str,
    pub(super) operation: Operation,
    cost: u64,
    pub(super) idempotency: Option<Idempotency>,
    pub(super) charges: Vec<RuleCharge>,
    /// The request for units of a lease, to be sent with the part. Only a part of a single charge has one.
    pub(super) lease: Option<LeaseRequest>,
    pub(super) result: Option<PartResult>,
    lease_id: LeaseId,
    /// The effect on leases of concurrency limits.
    pub(super) settlement: Option<Settlement>,
    /// The windows of the units that were taken, one for each charge.
    taken: Vec<LeaseWindow>,
    /// The charge that a refund names.
    charged: Option<Charged>,
    /// The time of the charge, by Redis' clock.
    pub(super) charged_at: Option<Micros>,
}

pub(super) enum PartResult {
    Decided(Vec<Decision>),
    /// The first answer to the same idempotency key, with its text.
    Repeated(String, Vec<Decision>),
    KeyReused,
    /// Redis did not decide.
    Failed,
}

/// Lets Redis decide the parts without a result, in one call. A part stays without a result only if Redis denied the units
/// of a lease to it.
pub(super) async fn decide<'p, 'a: 'p>(
    state: &GateState,
    parts: impl Iterator<Item = &'p mut Part<'a>>,
) {
    let mut parts: Vec<_> = parts.filter(|part| part.result.is_none()).collect();
    if parts.is_empty() {
        return;
    }
    let asked_at = state.monotonic.now();
    let resets: Vec<Vec<u64>> = parts.iter().map(|part| part.resets(state)).collect();
    let calls: Vec<_> = parts.iter().map(|part| part.call()).collect();
    let Some(caller) = parts.first().map(|part| part.caller) else { return };
    let results = redis::call(state, &calls, caller).await;
    drop(calls);
    for ((part, result), resets) in parts.iter_mut().zip(results).zip(resets) {
        match result {
            Ok(answer) => part.accept(state, answer, (asked_at, &resets)),
            Err(error) => part.fail(redis::was_sent(&error)),
        }
    }
}

impl<'a> Part<'a> {
    pub(super) fn new(check: &PendingCheck<'a>, charges: Vec<RuleCharge>) -> Self {
        Self {
            caller: check.caller,
            namespace: check.request.namespace(),
            operation: check.request.operation(),
            cost: check.request.cost(),
            idempotency: check.idempotency(),
            charges,
            lease: None,
            result: None,
            lease_id: check.lease_id.unwrap_or_default(),
            settlement: None,
            taken: Vec::new(),
            charged: check.request.charged().cloned(),
            charged_at: None,
        }
    }

    /// Lets the part be the common one.
    pub(super) fn into_common(mut self) -> Self {
        self.charged = self.charged.map(Charged::common);
        self
    }

    /// Names the record of the idempotency key apart from those of the other parts, because all can be in one bucket. The name
    /// is longer than any key of a caller.
    pub(super) fn separate_record(&mut self, marks: usize) {
        if let Some(idempotency) = &mut self.idempotency {
            idempotency.key.push_str(&" ".repeat(marks * IDEMPOTENCY_KEY_BYTES_MAX));
        }
    }

    /// Whether it has this charge.
    pub(super) fn has(&self, charge: &RuleCharge) -> bool {
        let is_it = |own: &RuleCharge| {
            own.subject == charge.subject && Arc::ptr_eq(&own.active, &charge.active)
        };
        self.charges.iter().any(is_it)
    }

    /// The decisions, one for each limit. `None` if Redis did not decide.
    pub(super) fn decisions(&self) -> Option<&[Decision]> {
        match &self.result {
            Some(PartResult::Decided(decisions) | PartResult::Repeated(_, decisions)) => {
                Some(decisions)
            }
            Some(PartResult::KeyReused | PartResult::Failed) | None => None,
        }
    }

    /// Whether all enforced limits admit the check.
    pub(super) fn admits(&self) -> bool {
        let decisions = self.decisions().unwrap_or_default();
        let mut decisions = decisions.iter();
        self.charges.iter().all(|charge| {
            let own = decisions.by_ref().take(charge.limits().len());
            own.filter(|decision| !charge.is_alone() && !decision.allowed).count() == 0
        })
    }

    /// Notes the windows of the units that were taken.
    pub(super) fn take(&mut self, windows: &[LeaseWindow]) {
        self.taken = windows.to_vec();
        self.charged_at = windows.iter().map(|window| window.taken_at).min();
    }

    /// Lets a repeat of the check take the units of this part again, before they are returned. If that fails, they stay
    /// taken, because the record admits a repeat.
    pub(super) async fn record_denial(&mut self, state: &GateState) {
        let Some(idempotency) = self.idempotency.as_ref().filter(|_| !self.taken.is_empty()) else {
            return;
        };
        let mut decisions = self.decisions().unwrap_or_default().iter();
        let charged = self.charges.iter().filter(|charge| {
            let own = decisions.by_ref().take(charge.limits().len());
            own.filter(|decision| !decision.allowed).count() == 0 && charge.is_alone()
        });
        let charged: Vec<_> = charged.map(|charge| charge.active.id).collect();
        let tenant = self.caller.tenant;
        let namespace = self.namespace;
        let book = &self.caller.book;
        let mut own = self.charges.iter();
        let is_far = own.any(|charge| book.is_counted_elsewhere(&charge.active.rule));
        let place = (tenant, namespace);
        let recorded = regions::record_denial(state, is_far, place, idempotency, &charged);
        if recorded.await.is_err() {
            self.taken.clear();
        }
    }

    /// Returns the units that were taken. Those of shadow rules stay taken: shadow rules are charged by denied checks too.
    pub(super) async fn put_back(&mut self, state: &GateState, now: Instant) {
        let taken = std::mem::take(&mut self.taken);
        if taken.is_empty() {
            return;
        }
        self.release(state).await;
        let Some(PartResult::Decided(decisions)) = &mut self.result else { return };
        let mut decisions = decisions.iter_mut();
        for (charge, window) in self.charges.iter().zip(taken) {
            let own: Vec<_> = decisions.by_ref().take(charge.limits().len()).collect();
            let cost = charge.own_cost.unwrap_or(self.cost);
            if charge.is_alone() || cost == 0 || charge.has_concurrency() {
                continue;
            }
            for decision in own {
                decision.remaining += cost;
            }
            state.leases.put_back(self.caller.tenant, charge, cost, window, now);
            // A denial that was cached before must not hide the units.
            state.denial_cache.invalidate(charge.subject);
        }
    }

    /// Releases the places that were taken in concurrency limits. A place that cannot be released ends by itself.
    async fn release(&self, state: &GateState) {
        let limits = self.charges.iter().flat_map(|charge| {
            charge.limits().iter().filter_map(move |limit| {
                let lease_ms = limit.algorithm.lease_ms().filter(|_| !charge.is_alone())?;
                let (rule, subject, spread) = (charge.active.id, charge.subject, charge.spread);
                let id = self.lease_id;
                Some(Lease { id, lease_ms, rule, slot: limit.slot, subject, spread })
            })
        });
        let release = |lease| ScriptCheck {
            operation: Operation::Release(lease),
            rules: &[],
            idempotency: None,
            charged: None,
            ..self.call()
        };
        let calls: Vec<_> = limits.map(release).collect();
        if !calls.is_empty() {
            redis::call(state, &calls, self.caller).await;
        }
    }

    fn call(&self) -> ScriptCheck<'_> {
        let (cost, idempotency) = match &self.lease {
            Some(lease) => (lease.units(), lease.idempotency()),
            None => (self.cost, self.idempotency.clone()),
        };
        ScriptCheck {
            tenant: self.caller.tenant,
            namespace: self.namespace,
            operation: self.operation,
            cost,
            rules: &self.charges,
            lease_id: self.lease_id,
            idempotency,
            charged: self.charged.as_ref(),
        }
    }

    /// The number of resets of each subject's counters so far.
    fn resets(&self, state: &GateState) -> Vec<u64> {
        let of = |charge: &RuleCharge| state.leases.resets(self.caller.tenant, charge.subject);
        self.charges.iter().map(of).collect()
    }

    fn accept(&mut self, state: &GateState, answer: Answer, asked: (Instant, &[u64])) {
        match answer {
            Answer::Decided(at, decisions) => self.accept_decisions(state, at, decisions, asked),
            Answer::Repeated(_, first, decisions) => {
                self.charged_at = first.at;
                self.result = Some(PartResult::Repeated(first.text, decisions));
            }
            Answer::Settled(at, first, decisions, settlement @ Settlement::Leased { .. }) => {
                self.settlement = Some(settlement);
                match first {
                    None => self.accept_decisions(state, at, decisions, asked),
                    Some(first) => {
                        self.charged_at = first.at;
                        self.result = Some(PartResult::Repeated(first.text, decisions));
                    }
                }
            }
            Answer::KeyReused => self.result = Some(PartResult::KeyReused),
            // Reserves and commits have no parts.
            Answer::Settled(..) | Answer::NotOpen => self.fail(false),
            Answer::Unreadable(key) => {
                redis::report_unreadable(state, &key);
                self.fail(false);
            }
        }
    }

    fn accept_decisions(
        &mut self,
        state: &GateState,
        at: Micros,
        mut decisions: Vec<Decision>,
        (asked_at, resets): (Instant, &[u64]),
    ) {
        let windows = self.windows(at, &decisions, asked_at, resets);
        self.charged_at = Some(at);
        if let Some(lease) = self.lease.take() {
            let brings_units = lease.asks_for_more();
            let settled = lease.settle(at, decisions, state.monotonic.now());
            let Some(settled) = settled else { return };
            decisions = settled;
            if brings_units {
                // A denial that was cached before must not hide the new units.
                state.denial_cache.invalidate_all(&self.charges);
            }
        }
        self.result = Some(PartResult::Decided(decisions));
        if self.operation == Operation::Consume && self.admits() {
            self.taken = windows;
        }
    }

    /// The windows in which Redis decided at `at`, one for each charge: of several limits, the one that ends first.
    fn windows(
        &self,
        at: Micros,
        decisions: &[Decision],
        asked_at: Instant,
        resets: &[u64],
    ) -> Vec<LeaseWindow> {
        let mut decisions = decisions.iter();
        let window = |(charge, resets): (&RuleCharge, &u64)| {
            let own = decisions.by_ref().take(charge.limits().len());
            let reset_after_ms = own.map(|decision| decision.reset_after_ms).min().unwrap_or(0);
            LeaseWindow {
                ends: LeaseWindow::end(at, reset_after_ms),
                until: asked_at + Duration::from_millis(reset_after_ms),
                taken_at: at,
                resets: *resets,
            }
        };
        self.charges.iter().zip(resets).map(window).collect()
    }

    /// Notes that Redis did not decide. A lease request that was sent is settled later: Redis possibly gave its units.
    fn fail(&mut self, was_sent: bool) {
        if let Some(lease) = self.lease.take().filter(|_| !was_sent) {
            lease.not_taken();
        }
        self.result = Some(PartResult::Failed);
    }
}
