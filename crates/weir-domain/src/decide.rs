//! Decides a whole check: all limits of all rules are judged first, then all are charged or none.
//!
//! The twin of the Redis script. Gates use it for rules that decide locally while Redis is away, the dashboard draws
//! pictures of rules with it, and the tests compare the script with it.

use std::collections::HashMap;
use std::time::Duration;

use crate::algorithm::LeaseId;
use crate::algorithm::{Counter, Meter, SLACK_US, Wait};
use crate::charge::{Check, Group, RuleMeters};
use crate::counter::CounterName;
use crate::draft::Over;
use crate::request::Operation;
use crate::reservation::{EXHAUSTED_UNITS, Exhaust, Held, Reservations, Settlement};
use crate::time::Micros;

/// The decision of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether this limit lets the check pass.
    pub allowed: bool,
    /// Whole units left afterwards.
    pub remaining: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
    /// Milliseconds after which this limit would let the same check pass. `None` means never.
    pub retry_after_ms: Option<u64>,
    /// Milliseconds the caller must wait before acting.
    pub delay_ms: u64,
}

impl Decision {
    /// The decision as it is after this time without other checks.
    #[must_use]
    pub fn later(self, passed: Duration) -> Self {
        let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        Self {
            reset_after_ms: self.reset_after_ms.saturating_sub(passed_ms),
            retry_after_ms: self.retry_after_ms.map(|ms| ms.saturating_sub(passed_ms)),
            ..self
        }
    }
}

/// Counters in memory, and the units that are reserved at them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(pub HashMap<CounterName, Counter>, pub Reservations);

/// One rule while it is judged.
#[derive(Debug)]
struct Judged<'a> {
    meters: &'a RuleMeters,
    /// The units to take.
    cost: u64,
    /// The units that must be left.
    needed: u64,
    /// Milliseconds for which the subject is still blocked.
    blocked_ms: u64,
    /// Milliseconds until the subject can have another reservation.
    full_ms: u64,
    block_starts: bool,
    /// Whether the block was longer than the rule says, so that it restarts.
    block_restarts: bool,
    limits: Vec<JudgedLimit<'a>>,
}

#[derive(Debug)]
struct JudgedLimit<'a> {
    name: CounterName,
    meter: &'a Meter,
    counter: Counter,
    /// The units that reservations hold.
    held: Held,
    /// Whether the limit passed the check when it was judged.
    passes: bool,
    /// The wait by the counter as it is now.
    wait: Wait,
    delay_ms: u64,
    changed: bool,
}

/// Decides `check` at `now`: one decision for each limit, in order. None for a commit of a reservation that is not open.
pub fn decide(counters: &mut Counters, check: &Check, now: Micros) -> Vec<Decision> {
    decide_and_settle(counters, check, now).map_or_else(Vec::new, |(decisions, _)| decisions)
}

/// The same, with the effect of a reserve or commit. `None` for a commit of a reservation that is not open.
pub fn decide_and_settle(
    counters: &mut Counters,
    check: &Check,
    now: Micros,
) -> Option<(Vec<Decision>, Option<Settlement>)> {
    let (operation, cost) = (check.operation, check.cost);
    let writes = !matches!(operation, Operation::Peek | Operation::Inspect);
    let names = if counters.1.is_empty() { Vec::new() } else { check.names() };
    let mut settlement = match operation {
        Operation::Commit(commit) => {
            let units = counters.1.remove(commit, &names, now)?;
            Some(Settlement::Released { units, charged: cost })
        }
        _ => None,
    };
    if writes {
        counters.1.remove_ended(&names, now);
    }
    let mut judged: Vec<_> =
        check.rules.iter().map(|rule| judge(counters, rule, check, now)).collect();
    let enforced_pass = judged.iter().filter(|rule| rule.enforced()).all(Judged::passes);
    let enforced_denied_by_limit =
        judged.iter().filter(|rule| rule.enforced()).any(Judged::denied_by_limit);
    let mut reserved = 0;
    if let Operation::Reserve(reserve) = operation {
        if enforced_pass {
            reserved = if reserve.at_most { left(&mut judged, cost, now) } else { cost };
        }
        let ends = Micros(now.0 + reserve.ttl_ms * 1000);
        settlement = Some(Settlement::Held { units: reserved, ends });
    }
    if let Operation::Exhaust(terms) = operation {
        settlement = Some(exhaust(&mut judged, counters, terms, now));
    }
    let lease_id = match operation {
        Operation::Reserve(reserve) => Some(LeaseId(reserve.id.0)),
        _ => check.lease_id,
    };
    if operation == Operation::Consume && lease_id.is_some() && check.has_concurrency() {
        settlement = Some(Settlement::Leased { at: now });
    }
    let mut decisions = Vec::with_capacity(check.limit_count());
    for rule in &mut judged {
        let (passes, denied_by_limit) = if rule.enforced() {
            (enforced_pass, enforced_denied_by_limit)
        } else {
            (rule.passes(), rule.denied_by_limit())
        };
        // Where the enforced rules deny, nothing is reserved at a rule alone either.
        let reserves = matches!(operation, Operation::Reserve(_));
        let admitted = passes && (!reserves || enforced_pass);
        let outcome = outcome(operation, rule.only_looks(), admitted);
        match (outcome, operation) {
            (Outcome::Passed, Operation::Reserve(_)) => rule.reserve(lease_id, now),
            (Outcome::Passed, _) => rule.charge(lease_id, now),
            (Outcome::Denied, _) => rule.deny(denied_by_limit, now),
            (_, Operation::Refund) if rule.enforced() => rule.refund(now),
            (_, Operation::Record | Operation::Commit(_)) if rule.cost > 0 => {
                rule.record(operation == Operation::Record, now);
            }
            (Outcome::Inspected, _) => {}
        }
        let holds = reserves && outcome == Outcome::Passed;
        decisions.extend(rule.report(outcome, if holds { reserved } else { 0 }, now));
        if writes {
            rule.store(counters, now);
        }
        if let (true, Operation::Reserve(reserve), Some(Settlement::Held { units, ends })) =
            (holds, operation, settlement)
        {
            let names: Vec<_> = rule.held_at().collect();
            counters.1.add(reserve.id, units, ends, &names);
        }
    }
    Some((decisions, settlement))
}

/// Lets the enforced limits count as exhausted. A subject without room for another reservation stays as it is.
fn exhaust(
    judged: &mut [Judged<'_>],
    counters: &mut Counters,
    terms: Exhaust,
    now: Micros,
) -> Settlement {
    let ends = Micros(now.0 + terms.for_ms * 1000);
    for rule in judged.iter_mut().filter(|rule| rule.enforced() && rule.full_ms == 0) {
        let names: Vec<_> = rule.held_at().collect();
        rule.exhaust(terms.for_ms);
        counters.1.add(terms.id, EXHAUSTED_UNITS, ends, &names);
    }
    Settlement::Held { units: EXHAUSTED_UNITS, ends }
}

/// The most units that can be reserved at all enforced limits, at most `cost`.
fn left(judged: &mut [Judged<'_>], cost: u64, now: Micros) -> u64 {
    let bounding =
        judged.iter_mut().filter(|rule| rule.enforced() && rule.meters.over == Over::Deny);
    let limits = bounding.flat_map(|rule| &mut rule.limits).filter(|limit| limit.holds_units());
    limits.fold(cost, |units, limit| {
        let level = limit.meter.level(&mut limit.counter, now);
        units.min(level.remaining.saturating_sub(limit.held.units))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Denied,
    Inspected,
}

fn outcome(operation: Operation, only_looks: bool, admitted: bool) -> Outcome {
    match operation {
        Operation::Refund
        | Operation::Inspect
        | Operation::Record
        | Operation::Commit(_)
        | Operation::Exhaust(_)
        | Operation::Renew(_)
        | Operation::Release(_) => Outcome::Inspected,
        _ if only_looks => Outcome::Inspected,
        _ if admitted => Outcome::Passed,
        Operation::Consume | Operation::Peek | Operation::Reserve(_) => Outcome::Denied,
    }
}

fn judge<'a>(counters: &Counters, rule: &'a RuleMeters, check: &Check, now: Micros) -> Judged<'a> {
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
        JudgedLimit { name: *name, meter, counter, held, passes, wait, delay_ms, changed }
    });
    let (blocked_ms, block_restarts) =
        match rule.block.map(|(name, ms)| (counters.0.get(&name), ms)) {
            Some((Some(Counter::BlockedUntil(until_us)), block_ms)) => {
                block_left(*until_us, block_ms, now)
            }
            _ => (0, false),
        };
    let limits = limits.collect();
    Judged {
        meters: rule,
        cost,
        needed,
        blocked_ms,
        full_ms,
        block_restarts,
        block_starts: false,
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

impl Judged<'_> {
    fn enforced(&self) -> bool {
        self.meters.group == Group::Enforced
    }

    fn passes(&self) -> bool {
        self.blocked_ms == 0 && self.full_ms == 0 && !self.denied_by_limit()
    }

    fn denied_by_limit(&self) -> bool {
        self.limits.iter().any(|limit| !limit.passes)
    }

    /// Whether the rule takes part in a decision and takes nothing.
    fn only_looks(&self) -> bool {
        self.meters.own_cost == Some(0)
    }

    fn charge(&mut self, lease_id: Option<LeaseId>, now: Micros) {
        for limit in &mut self.limits {
            limit.meter.take(&mut limit.counter, self.cost, lease_id, now);
            limit.changed = true;
        }
    }

    /// Denies the check: only logs that count denials change, and a block can start.
    fn deny(&mut self, denied_by_limit: bool, now: Micros) {
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
    fn reserve(&mut self, lease_id: Option<LeaseId>, now: Micros) {
        for limit in self.limits.iter_mut().filter(|limit| !limit.holds_units()) {
            limit.meter.take(&mut limit.counter, self.cost, lease_id, now);
            limit.changed = true;
        }
    }

    /// Lets the limits count as exhausted for this time.
    fn exhaust(&mut self, for_ms: u64) {
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
    fn held_at(&self) -> impl Iterator<Item = CounterName> {
        self.limits.iter().filter(|limit| limit.holds_units()).map(|limit| limit.name)
    }

    fn refund(&mut self, now: Micros) {
        let cost = self.cost;
        self.change(true, |limit| limit.meter.refund(&mut limit.counter, cost, now), now);
    }

    /// Charges all limits, even if that is more than is left.
    fn record(&mut self, with_spacings: bool, now: Micros) {
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
    fn report(&mut self, outcome: Outcome, reserved: u64, now: Micros) -> Vec<Decision> {
        let block_ms = self.meters.block.map_or(0, |(_, block_ms)| block_ms);
        let (blocked_ms, block_starts) = (self.blocked_ms.max(self.full_ms), self.block_starts);
        let report = |limit: &mut JudgedLimit<'_>| {
            let level = limit.meter.level(&mut limit.counter, now);
            let allowed = limit.passes && blocked_ms == 0;
            let retry_after_ms = match limit.wait {
                Wait::None => Some(blocked_ms),
                Wait::Ms(ms) if block_starts => Some(ms.max(block_ms)),
                Wait::Ms(ms) => Some(ms.max(blocked_ms)),
                Wait::Forever => None,
            };
            let acts = outcome != Outcome::Denied && allowed;
            let reserved = if limit.holds_units() { reserved } else { 0 };
            Decision {
                allowed,
                remaining: level.remaining.saturating_sub(limit.held.units + reserved),
                reset_after_ms: level.reset_after_ms,
                retry_after_ms,
                delay_ms: if acts { limit.delay_ms } else { 0 },
            }
        };
        self.limits.iter_mut().map(report).collect()
    }

    fn store(&mut self, counters: &mut Counters, now: Micros) {
        for limit in self.limits.iter_mut().filter(|limit| limit.changed) {
            counters.0.insert(limit.name, std::mem::take(&mut limit.counter));
        }
        let begins = self.block_starts || self.block_restarts;
        if let (true, Some((name, block_ms))) = (begins, self.meters.block) {
            counters.0.insert(name, Counter::BlockedUntil(now.0 + block_ms * 1000));
        }
    }
}

impl JudgedLimit<'_> {
    fn is_spacing(&self) -> bool {
        matches!(self.meter, Meter::Spacing(_))
    }

    /// Whether a reservation holds units at it. A spacing begins with the reservation, and a concurrency limit gives a lease.
    fn holds_units(&self) -> bool {
        !self.is_spacing() && !matches!(self.meter, Meter::Concurrency(_))
    }
}

#[cfg(test)]
mod tests;
