//! One lease: units of one counter in one window.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_domain::algorithm::Algorithm;
use weir_domain::calendar;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::time::Micros;

use super::unsettled::{Origin, Unsettled};

#[derive(Debug)]
pub(super) struct Lease {
    tenant: TenantId,
    charge: RuleCharge,
    units: u64,
    /// What Redis decided when it gave them.
    decision: Option<Decision>,
    decided_at: Instant,
    /// When Redis gave them, by its clock.
    taken_at: Micros,
    /// When their window ends, by Redis' clock and by this gate's.
    ends: Micros,
    until: Instant,
    /// How many units to take at once.
    size: u64,
    /// How many were asked for since units were last taken.
    used: u64,
    used_at: Instant,
    /// The request for units that is in flight.
    taking: Option<u64>,
}

/// A lease is as large as what is used in about this time.
const LASTS: Duration = Duration::from_secs(1);
/// A lease is at most this part of what is left, so that the last units reach all gates.
const LEFT_SHARE: u64 = 8;
/// A lease is at most this part of the limit: bounds what a killed gate loses.
const LIMIT_SHARE: u64 = 100;
const SIZE_MAX: u64 = 10_000;

impl Lease {
    pub(super) fn empty(tenant: TenantId, charge: RuleCharge, now: Instant) -> Self {
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
            used_at: now,
            taking: None,
        }
    }

    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Whether it is of this rule as it is now, under the same override.
    pub(super) fn is_of(&self, charge: &RuleCharge) -> bool {
        Arc::ptr_eq(&self.charge.active, &charge.active)
            && charge.uses_override(self.charge.override_limits.as_ref())
    }

    pub(super) fn is_idle(&self, now: Instant, during: Duration) -> bool {
        self.used_at + during <= now
    }

    pub(super) fn is_taking(&self) -> bool {
        self.taking.is_some()
    }

    pub(super) fn is_taken_by(&self, id: u64) -> bool {
        self.taking == Some(id)
    }

    /// Uses units for a check, if there are as many in a window that goes on.
    pub(super) fn spend(&mut self, cost: u64, now: Instant) -> Option<Decision> {
        if now >= self.until || cost > self.units {
            return None;
        }
        self.units -= cost;
        self.used += cost;
        self.used_at = now;
        self.decision_at(now)
    }

    /// How many units to take for a check of `cost`: what the last second used, but at most twice as many as before.
    pub(super) fn next_units(&mut self, cost: u64, now: Instant) -> u64 {
        let elapsed_ms = now.saturating_duration_since(self.decided_at).as_millis().max(1);
        let used = u128::from(self.used) * LASTS.as_millis() / elapsed_ms;
        let used = u64::try_from(used).unwrap_or(SIZE_MAX);
        self.size = used.clamp(1, (self.size * 2).min(SIZE_MAX));
        let left = self.decision.map_or(0, |it| it.remaining);
        let here = if now < self.until { self.units } else { 0 };
        let most = (self.limit() / LIMIT_SHARE).saturating_sub(here);
        let wanted = self.size.min(left / LEFT_SHARE);
        cost + wanted.saturating_sub(cost).min(most)
    }

    pub(super) fn take(&mut self, id: u64) {
        self.taking = Some(id);
    }

    pub(super) fn release(&mut self) {
        self.taking = None;
    }

    /// Adds `surplus` units that Redis gave at `at` and that end at `until`; returns the decision about the check.
    pub(super) fn add(
        &mut self,
        surplus: u64,
        cost: u64,
        decision: Decision,
        (at, until, now): (Micros, Instant, Instant),
    ) -> Option<Decision> {
        let same_window = now < self.until;
        self.units = surplus + if same_window { self.units } else { 0 };
        self.until = if same_window { self.until.min(until) } else { until };
        self.ends = end_of(at, decision);
        (self.decision, self.taken_at) = (Some(decision), at);
        (self.decided_at, self.used_at, self.used) = (now, now, cost);
        self.decision_at(now)
    }

    /// Takes its units out, to be returned, if their window goes on.
    pub(super) fn take_returned(&mut self, now: Instant) -> Option<Unsettled> {
        let units = std::mem::take(&mut self.units);
        (units > 0 && now < self.until).then(|| Unsettled {
            tenant: self.tenant,
            charge: self.charge.clone(),
            origin: Origin::Return { units, ends: self.ends },
            id: None,
            until: self.until,
        })
    }

    /// Ends it: its units are to be returned. `edited` is the rule as it is now, if it was edited.
    pub(super) fn into_returned(
        mut self,
        edited: Option<&RuleCharge>,
        now: Instant,
    ) -> Option<Unsettled> {
        let mut returned = self.take_returned(now)?;
        if let Some(edited) = edited {
            match after_edit(&self.charge, edited, self.taken_at) {
                AfterEdit::SameWindow => {}
                AfterEdit::Carried => returned.charge = edited.clone(),
                AfterEdit::Forgotten => return None,
            }
        }
        Some(returned)
    }

    /// What the limit says now: all that passes is time, and what is here is left too.
    fn decision_at(&self, now: Instant) -> Option<Decision> {
        let passed = now.saturating_duration_since(self.decided_at);
        let decision = self.decision?.later(passed);
        Some(Decision { remaining: decision.remaining + self.units, ..decision })
    }

    fn limit(&self) -> u64 {
        self.charge.limits().iter().map(|it| it.algorithm.limit()).min().unwrap_or(0)
    }
}

/// The end of the window in which Redis decided at `at`, by its clock. Windows end with a whole millisecond, and
/// decisions round up to one.
pub(super) fn end_of(at: Micros, decision: Decision) -> Micros {
    Micros((at.0 + decision.reset_after_ms * 1000) / 1000 * 1000)
}

/// What becomes of units in Redis when the rule of their counter is edited.
#[derive(Debug, PartialEq, Eq)]
enum AfterEdit {
    /// They stay counted in the same window.
    SameWindow,
    /// They are counted in the new, longer window from the next charge on.
    Carried,
    /// The next charge begins a new window without them, or counts elsewhere.
    Forgotten,
}

fn after_edit(before: &RuleCharge, after: &RuleCharge, taken_at: Micros) -> AfterEdit {
    let ([old], [new]) = (before.limits(), after.limits()) else { return AfterEdit::SameWindow };
    let same_windows = match (&old.algorithm, &new.algorithm) {
        (Algorithm::FixedWindow(old), Algorithm::FixedWindow(new)) => {
            old.window_ms() == new.window_ms()
        }
        (Algorithm::Quota(old), Algorithm::Quota(new)) => old.calendar() == new.calendar(),
        // Another algorithm has another counter.
        _ => true,
    };
    if same_windows {
        AfterEdit::SameWindow
    } else if window_start(&new.algorithm, taken_at) <= window_start(&old.algorithm, taken_at) {
        AfterEdit::Carried
    } else {
        AfterEdit::Forgotten
    }
}

/// When the window that holds `at` began, in microseconds.
fn window_start(algorithm: &Algorithm, at: Micros) -> u64 {
    match algorithm {
        Algorithm::Quota(quota) => calendar::bounds(quota, at).bounds_us[1],
        other => at.0 - at.0 % (other.window_ms().unwrap_or(1) * 1000),
    }
}
