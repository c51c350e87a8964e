//! One rule while it is judged: its limits before the check, and their changes.

use super::counters::Counters;
use super::decision::Decision;
use crate::algorithm::{Counter, LeaseId, Meter, SLACK_US, Wait};
use crate::charge::{Check, Group, RuleMeters};
use crate::counter::{CounterName, CounterPart};
use crate::request::Operation;
use crate::reservation::{EXHAUSTED_UNITS, Held};
use crate::time::Micros;

/// One rule while it is judged.
#[derive(Debug)]
pub(super) struct RuleEvaluation<'a> {
    pub(super) meters: &'a RuleMeters,
    /// The units to take.
    pub(super) cost: u64,
    /// The units that must be left.
    needed: u64,
    /// Milliseconds for which the subject is still blocked.
    blocked_ms: u64,
    /// Milliseconds until the subject can have another reservation.
    pub(super) full_ms: u64,
    block_starts: bool,
    /// The number of the block that starts or restarts.
    block_number: u64,
    /// Whether the check is a refund, on which nobody acts.
    is_refund: bool,
    /// Whether the block was longer than the rule says, so that it restarts.
    block_restarts: bool,
    pub(super) limits: Vec<JudgedLimit<'a>>,
}

#[derive(Debug)]
pub(super) struct JudgedLimit<'a> {
    name: CounterName,
    pub(super) meter: &'a Meter,
    pub(super) counter: Counter,
    /// The units that reservations hold.
    pub(super) held: Held,
    /// Whether the limit passed the check when it was judged.
    passes: bool,
    /// The wait by the counter as it is now.
    wait: Wait,
    delay_ms: u64,
    /// Whether a refund returned units.
    returned: bool,
    changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Denied,
    Inspected,
}

/// Judges the limits of a rule as they are before the check.
pub(super) fn judge<'a>(
    counters: &Counters,
    rule: &'a RuleMeters,
    check: &Check,
    now: Micros,
) -> RuleEvaluation<'a> {
    let full_ms = || rule.limits.first().map_or(0, |(name, _)| counters.1.full_ms(*name, now));
    let (cost, needed) = (rule.taken(check.cost), rule.needed(check.cost));
    let (needed, full_ms) = match check.operation {
        Operation::Reserve(reserve) => {
            (if reserve.at_most { needed.min(1) } else { needed }, full_ms())
        }
        Operation::Exhaust(_) => (needed, full_ms()),
        _ => (needed, 0),
    };
    let limits = rule.limits.iter().map(|(name, meter)| {
        let mut counter = counters.0.get(name).cloned().unwrap_or_default();
        let ended = match check.operation {
            Operation::Commit(commit) => meter.end_leases(&mut counter, LeaseId(commit.id.0), now),
            _ => false,
        };
        let changed = meter.follow_clock(&mut counter, now) || ended;
        let held = counters.1.held(*name, now);
        let wait = held.wait(meter, &mut counter, needed, now);
        let delay_ms = meter.delay_ms(&mut counter, now);
        let passes = wait == Wait::None;
        let returned = false;
        JudgedLimit { name: *name, meter, counter, held, passes, wait, delay_ms, returned, changed }
    });
    let mut blocked_ms = 0;
    let mut block_restarts = false;
    let mut block_number = 0;
    if let Some(block) = &rule.block {
        let counter = counters.0.get(&block.name).unwrap_or(&Counter::Untouched);
        block_number = block.number(counter, now);
        if let Counter::BlockedUntil { until_us, .. } = counter {
            let block_ms = block.length_ms(block_number);
            (blocked_ms, block_restarts) = block_left(*until_us, block_ms, now);
        }
    }
    let limits = limits.collect();
    RuleEvaluation {
        meters: rule,
        cost,
        needed,
        blocked_ms,
        full_ms,
        block_restarts,
        block_starts: false,
        block_number,
        is_refund: check.operation == Operation::Refund,
        limits,
    }
}

/// The rest of a block in milliseconds, and whether it restarts because a step of the clock or an edit of the rule left
/// it longer than the rule says.
fn block_left(until_us: u64, block_ms: u64, now: Micros) -> (u64, bool) {
    let left_us = until_us.saturating_sub(now.0);
    if left_us > block_ms * 1000 + SLACK_US {
        (block_ms, true)
    } else {
        (left_us.div_ceil(1000), false)
    }
}

impl RuleEvaluation<'_> {
    pub(super) fn enforced(&self) -> bool {
        self.meters.group == Group::Enforced
    }

    pub(super) fn passes(&self) -> bool {
        self.blocked_ms == 0 && self.full_ms == 0 && !self.denied_by_limit()
    }

    pub(super) fn denied_by_limit(&self) -> bool {
        self.limits.iter().any(|limit| !limit.passes)
    }

    /// Whether the rule takes part in a decision and takes nothing.
    pub(super) fn only_looks(&self) -> bool {
        self.meters.own_cost == Some(0)
    }

    pub(super) fn charge(&mut self, lease_id: Option<LeaseId>, now: Micros) {
        for limit in &mut self.limits {
            limit.meter.take(&mut limit.counter, self.cost, lease_id, now);
            limit.changed = true;
        }
    }

    /// Denies the check: only logs that count denials change, and a block can start.
    pub(super) fn deny(&mut self, denied_by_limit: bool, now: Micros) {
        let waits = self.limits.iter().any(|limit| matches!(limit.wait, Wait::Ms(_)));
        self.block_starts = self.meters.block.is_some() && self.blocked_ms == 0 && waits;
        if !denied_by_limit {
            return;
        }
        for limit in self.limits.iter_mut().filter(|limit| limit.meter.counts_denied()) {
            limit.meter.log_denied(&mut limit.counter, self.cost, now);
            limit.wait = limit.held.wait(limit.meter, &mut limit.counter, self.needed, now);
            limit.changed = true;
        }
    }

    /// Charges the spacings, whose distance begins with a reservation, and takes leases. All other limits are charged by its
    /// commit.
    pub(super) fn reserve(&mut self, lease_id: Option<LeaseId>, now: Micros) {
        for limit in self.limits.iter_mut().filter(|limit| !limit.holds_units()) {
            limit.meter.take(&mut limit.counter, self.cost, lease_id, now);
            limit.changed = true;
        }
    }

    /// Lets the limits count as exhausted for this time.
    pub(super) fn exhaust(&mut self, for_ms: u64) {
        for limit in self.limits.iter_mut().filter(|limit| limit.holds_units()) {
            limit.passes = false;
            limit.wait = match limit.wait {
                Wait::None => Wait::Ms(for_ms),
                Wait::Ms(ms) => Wait::Ms(ms.max(for_ms)),
                Wait::Forever => Wait::Forever,
            };
            limit.held.units = EXHAUSTED_UNITS;
        }
    }

    /// The counters at which a reservation holds units.
    pub(super) fn held_at(&self) -> impl Iterator<Item = CounterName> {
        self.limits.iter().filter(|limit| limit.holds_units()).map(|limit| limit.name)
    }

    /// Returns units; those of a charge only to the windows, buckets and entries that were charged.
    pub(super) fn refund(&mut self, check: &Check, now: Micros) {
        let cost = self.cost;
        let charged = check.charged.as_ref();
        let refund = |limit: &mut JudgedLimit<'_>| {
            let slot = match limit.name.part {
                CounterPart::Slot(slot) => slot,
                CounterPart::Block => 0,
            };
            let charge = charged.map(|charged| charged.of(limit.name.rule, slot, limit.meter));
            limit.returned = limit.meter.refund(&mut limit.counter, cost, charge, now);
        };
        self.change(true, refund, now);
    }

    /// Charges all limits, even if that is more than is left.
    pub(super) fn record(&mut self, with_spacings: bool, now: Micros) {
        let cost = self.cost;
        let charge = |limit: &mut JudgedLimit<'_>| {
            limit.meter.charge(&mut limit.counter, cost, now);
        };
        self.change(with_spacings, charge, now);
    }

    /// Changes all counters and judges them anew.
    fn change(&mut self, with_spacings: bool, change: impl Fn(&mut JudgedLimit<'_>), now: Micros) {
        let changes = |limit: &&mut JudgedLimit<'_>| {
            limit.holds_units() || (with_spacings && limit.is_spacing())
        };
        for limit in self.limits.iter_mut().filter(changes) {
            change(limit);
            limit.wait = limit.held.wait(limit.meter, &mut limit.counter, self.needed, now);
            limit.passes = limit.wait == Wait::None;
            limit.changed = true;
            limit.delay_ms = limit.meter.delay_ms(&mut limit.counter, now);
        }
    }

    /// The decisions, after this many units were reserved at each limit.
    pub(super) fn report(&mut self, outcome: Outcome, reserved: u64, now: Micros) -> Vec<Decision> {
        let block = self.meters.block.as_ref();
        let block_ms = block.map_or(0, |block| block.length_ms(self.block_number));
        let blocked_ms = self.blocked_ms.max(self.full_ms);
        let block_starts = self.block_starts;
        let is_refund = self.is_refund;
        let report = |limit: &mut JudgedLimit<'_>| {
            let level = limit.meter.level(&mut limit.counter, now);
            let allowed = limit.passes && blocked_ms == 0;
            let retry_after_ms = match limit.wait {
                Wait::None => Some(blocked_ms),
                Wait::Ms(ms) if block_starts => Some(ms.max(block_ms)),
                Wait::Ms(ms) => Some(ms.max(blocked_ms)),
                Wait::Forever => None,
            };
            let acts = outcome != Outcome::Denied && allowed && !is_refund;
            let reserved = if limit.holds_units() { reserved } else { 0 };
            Decision {
                allowed,
                remaining: level.remaining.saturating_sub(limit.held.units + reserved),
                reset_after_ms: level.reset_after_ms,
                retry_after_ms,
                delay_ms: if acts { limit.delay_ms } else { 0 },
                returned: limit.returned,
            }
        };
        self.limits.iter_mut().map(report).collect()
    }

    pub(super) fn store(&mut self, counters: &mut Counters, now: Micros) {
        for limit in self.limits.iter_mut().filter(|limit| limit.changed) {
            counters.0.insert(limit.name, std::mem::take(&mut limit.counter));
        }
        let begins = self.block_starts || self.block_restarts;
        if let (true, Some(block)) = (begins, &self.meters.block) {
            let number = self.block_number;
            let until_us = now.0 + block.length_ms(number) * 1000;
            counters.0.insert(block.name, Counter::BlockedUntil { until_us, number });
        }
    }
}

impl JudgedLimit<'_> {
    fn is_spacing(&self) -> bool {
        matches!(self.meter, Meter::Spacing(_))
    }

    /// Whether a reservation holds units at it. A spacing begins with the reservation, and a concurrency limit gives a lease.
    pub(super) fn holds_units(&self) -> bool {
        !self.is_spacing() && !matches!(self.meter, Meter::Concurrency(_))
    }
}
