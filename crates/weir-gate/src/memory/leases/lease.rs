//! One lease: units of one counter in one window.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_domain::algorithm::{Algorithm, Approximation};
use weir_domain::approximation::{LEASE_UNITS_MAX, lease_units_max};
use weir_domain::calendar::window_start_us;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::time::Micros;

use super::unsettled::{Holder, Origin, Unsettled};
use super::window::LeaseWindow;

#[derive(Debug)]
pub(super) struct Lease {
    tenant: TenantId,
    charge: RuleCharge,
    units: u64,
    /// The decision with which Redis gave the units.
    decision: Option<Decision>,
    decided_at: Instant,
    /// The time at which Redis gave the units, by its clock.
    taken_at: Micros,
    /// The time by Redis' clock from which the units cannot be returned.
    ends: Micros,
    /// The time by this gate's clock from which the units are not used.
    until: Instant,
    /// The number of units to take at once.
    size: u64,
    /// The number of units used since units were last taken.
    used: u64,
    /// The beginning of the present span of a lease whose units are far, and the units used before it.
    span: (Instant, u64),
    used_at: Instant,
    /// The id of the request for units that is in flight.
    taking: Option<u64>,
    holder: Holder,
}

/// A lease has as many units as are used in about this time.
const LASTS: Duration = Duration::from_secs(2);
/// A lease takes at most one n-th of the remaining units, so that the last ones reach all gates.
const REMAINING_SHARE: u64 = 8;
/// A lease decides at least this many later checks, unless the limit permits no lease of that size. A smaller one costs
/// Redis more than it saves: its request has an idempotency record, and units that stay unused are returned by a call of
/// their own.
const CHECKS_MIN: u64 = 3;

/// The units that Redis gave.
pub(super) struct GivenUnits {
    /// The units that the check did not need.
    pub(super) surplus: u64,
    pub(super) cost: u64,
    pub(super) decision: Decision,
    /// The time of the decision, by Redis' clock.
    pub(super) at: Micros,
    /// The end of the window, by Redis' clock.
    pub(super) ends: Micros,
    /// The end of the window, by this gate's clock.
    pub(super) until: Instant,
}

impl Lease {
    pub(super) fn empty(
        tenant: TenantId,
        charge: RuleCharge,
        holder: Holder,
        now: Instant,
    ) -> Self {
        Self {
            tenant,
            charge,
            units: 0,
            decision: None,
            decided_at: now,
            taken_at: Micros(0),
            ends: Micros(0),
            until: now,
            size: 1,
            used: 0,
            span: (now, 0),
            used_at: now,
            taking: None,
            holder,
        }
    }

    pub(super) fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub(super) fn charge(&self) -> &RuleCharge {
        &self.charge
    }

    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Whether the lease is of this version of the rule, of the same override and of the counter at the same place.
    pub(super) fn is_of(&self, charge: &RuleCharge) -> bool {
        Arc::ptr_eq(&self.charge.active, &charge.active)
            && self.charge.spread == charge.spread
            && charge.uses_override(self.charge.override_limits.as_ref())
    }

    pub(super) fn is_idle(&self, now: Instant, during: Duration) -> bool {
        self.used_at + during <= now
    }

    /// Whether the units are not used any more.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Whether the units can be returned until this time by Redis' clock.
    pub(super) fn ends_at(&self, ends: Micros) -> bool {
        self.ends == ends
    }

    /// Whether Redis decides until the next window begins, and units of this one are only returned.
    pub(super) fn rests(&self, now: Instant) -> bool {
        let is_in_window = matches!(self.approximation(), Some(Approximation::InWindow { .. }));
        is_in_window && self.decision.is_some() && self.is_over(now) && now < self.returned_until()
    }

    pub(super) fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Whether units of an approximate rule are also held outside the lease. Its bound counts them as leased.
    pub(super) fn has_other_holders(&self) -> bool {
        self.is_approximate() && Arc::strong_count(&self.holder) > 1
    }

    pub(super) fn is_approximate(&self) -> bool {
        self.approximation().is_some()
    }

    pub(super) fn is_taking(&self) -> bool {
        self.taking.is_some()
    }

    pub(super) fn is_taken_by(&self, id: u64) -> bool {
        self.taking == Some(id)
    }

    /// Uses units for a check, if there are enough and their window has not ended.
    pub(super) fn spend(&mut self, cost: u64, now: Instant) -> Option<Decision> {
        if now >= self.until || cost > self.units {
            return None;
        }
        self.units -= cost;
        self.used += cost;
        self.used_at = now;
        self.decision_at(now)
    }

    /// Whether the units last for less than `wait`, at the rate since units were last taken or at that of a part of `wait`, which
    /// follows a burst at once.
    pub(super) fn runs_low(&mut self, wait: Duration, now: Instant) -> bool {
        let (began, before) = self.span;
        let product = |units: u64, time: Duration| u128::from(units) * time.as_micros();
        let is_low = |used: u64, since: Instant, least: Duration| {
            let elapsed = now.saturating_duration_since(since).max(least);
            product(self.units, elapsed) < product(used, wait)
        };
        let is_low = is_low(self.used, self.decided_at, wait)
            || is_low(self.used.saturating_sub(before), began, wait / 4);
        if now.saturating_duration_since(began) >= wait / 2 {
            self.span = (now, self.used);
        }
        is_low && !self.is_over(now)
    }

    /// The number of units to take before a check needs them: as for a check of one unit, without that unit. `None` if they are
    /// few, because a later request can take more.
    pub(super) fn early_units(&mut self, now: Instant) -> Option<u64> {
        let units = self.next_units(1, now) - 1;
        let most = self.size.min(lease_units_max(self.limit()));
        (units > 0 && units >= most / 4).then_some(units)
    }

    /// Notes that fewer units remain than were requested.
    pub(super) fn note_remaining(&mut self, remaining: u64) {
        if let Some(decision) = &mut self.decision {
            decision.remaining = remaining;
        }
    }

    /// The window of the units.
    pub(super) fn window(&self, resets: u64) -> LeaseWindow {
        LeaseWindow { ends: self.ends, until: self.until, taken_at: self.taken_at, resets }
    }

    /// Takes back units that a check did not use. Returns false if they are of another window than those of the lease.
    pub(super) fn put_back(&mut self, units: u64, window: LeaseWindow, now: Instant) -> bool {
        let is_same = self.ends == window.ends && now < self.until;
        if is_same {
            self.units += units;
            self.used = self.used.saturating_sub(units);
        }
        is_same
    }

    /// The number of units to take for a check of `cost`: as many as the last two seconds used, but at most twice as many as
    /// before, and only the cost if the lease would decide too few later checks.
    pub(super) fn next_units(&mut self, cost: u64, now: Instant) -> u64 {
        let elapsed_ms = now.saturating_duration_since(self.decided_at).as_millis().max(1);
        let used = u128::from(self.used) * LASTS.as_millis() / elapsed_ms;
        let used = u64::try_from(used).unwrap_or(LEASE_UNITS_MAX);
        self.size = used.clamp(1, (self.size * 2).min(LEASE_UNITS_MAX));
        let remaining = self.decision.map_or(0, |decision| decision.remaining);
        let held = if self.is_over(now) { 0 } else { self.units };
        let most = lease_units_max(self.limit()).saturating_sub(held);
        let wanted = self.size.min(remaining / REMAINING_SHARE);
        let surplus = wanted.saturating_sub(cost).min(most);
        let too_few = surplus < CHECKS_MIN.saturating_mul(cost) && surplus < most;
        if too_few { cost } else { cost + surplus }
    }

    pub(super) fn take(&mut self, id: u64) {
        self.taking = Some(id);
    }

    pub(super) fn release(&mut self) {
        self.taking = None;
    }

    /// Adds units to those that end at the same time. Returns the decision about the check.
    pub(super) fn add(&mut self, given: &GivenUnits, now: Instant) -> Option<Decision> {
        let until = given.until;
        self.until = if self.units > 0 { self.until.min(until) } else { until };
        self.units += given.surplus;
        self.ends = given.ends;
        self.decision = Some(given.decision);
        self.taken_at = given.at;
        self.decided_at = now;
        self.used_at = now;
        self.used = given.cost;
        self.span = (now, given.cost);
        self.decision_at(now)
    }

    /// Takes the units out, to be returned. Those of a window that has ended are gone.
    pub(super) fn take_returned(&mut self, now: Instant) -> Option<Unsettled> {
        let units = std::mem::take(&mut self.units);
        let is_counted = !self.is_over(now) || self.is_approximate();
        (units > 0 && is_counted).then(|| Unsettled {
            tenant: self.tenant,
            charge: self.charge.clone(),
            origin: Origin::Return { units, ends: self.ends },
            id: None,
            until: self.returned_until(),
            holder: self.holder.clone(),
        })
    }

    /// Ends the lease, and returns its units to be returned to Redis. `edited` is the present rule, if the rule was edited.
    pub(super) fn into_returned(
        mut self,
        edited: Option<&RuleCharge>,
        now: Instant,
    ) -> Option<Unsettled> {
        let mut returned = self.take_returned(now)?;
        // The counter stays where it is, although the namespace is now spread otherwise.
        if let Some(edited) = edited.filter(|edited| edited.spread == self.charge.spread) {
            match after_edit(&self.charge, edited, self.taken_at) {
                AfterEdit::SameWindow => {}
                AfterEdit::Carried => returned.charge = edited.clone(),
                AfterEdit::Forgotten => return None,
            }
        }
        Some(returned)
    }

    /// The decision as it is now: time has passed, and the leased units remain too.
    fn decision_at(&self, now: Instant) -> Option<Decision> {
        let passed = now.saturating_duration_since(self.decided_at);
        let decision = self.decision?.later(passed);
        Some(Decision { remaining: decision.remaining + self.units, ..decision })
    }

    /// The time by this gate's clock until which unused units can be returned.
    fn returned_until(&self) -> Instant {
        self.until + self.algorithm().map(LeaseWindow::returned_for).unwrap_or_default()
    }

    fn approximation(&self) -> Option<Approximation> {
        self.algorithm().and_then(Algorithm::approximation)
    }

    fn limit(&self) -> u64 {
        self.algorithm().map_or(0, Algorithm::limit)
    }

    /// The algorithm of the one limit of the rule.
    fn algorithm(&self) -> Option<&Algorithm> {
        self.charge.limits().first().map(|limit| &limit.algorithm)
    }
}

/// The effect of an edit of the rule on units that are counted in Redis.
#[derive(Debug, PartialEq, Eq)]
enum AfterEdit {
    /// They stay counted in the same window.
    SameWindow,
    /// They are counted in the new, longer window or in the new bucket from the next charge on.
    Carried,
    /// The new window possibly begins without them, or counts them although they were taken before it. They are not returned.
    Forgotten,
}

fn after_edit(before: &RuleCharge, after: &RuleCharge, taken_at: Micros) -> AfterEdit {
    let ([old], [new]) = (before.limits(), after.limits()) else { return AfterEdit::SameWindow };
    let same_windows = old.algorithm.windows() == new.algorithm.windows();
    if old.algorithm.approximation() == Some(Approximation::BesideBucket) {
        // A bucket keeps its level. A shadow rule takes nothing back.
        let is_same = old.algorithm.kind() == new.algorithm.kind() && !after.is_alone();
        return if is_same { AfterEdit::Carried } else { AfterEdit::SameWindow };
    }
    // Another algorithm has another counter.
    if same_windows || old.algorithm.kind() != new.algorithm.kind() {
        AfterEdit::SameWindow
    } else if window_start_us(&new.algorithm, taken_at) <= window_start_us(&old.algorithm, taken_at)
    {
        AfterEdit::Carried
    } else {
        AfterEdit::Forgotten
    }
}
