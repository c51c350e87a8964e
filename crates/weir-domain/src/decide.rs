//! Decides a whole check: all limits of all rules are judged first, then all are charged or none.
//!
//! The twin of the Redis script. Gates use it for rules that decide locally while Redis is away, the dashboard draws
//! pictures of rules with it, and the tests compare the script with it.

use std::collections::HashMap;
use std::time::Duration;

use crate::algorithm::{Counter, Meter, SLACK_US, Wait};
use crate::charge::{Check, Group, RuleMeters};
use crate::counter::CounterName;
use crate::request::Operation;
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

/// Counters in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(pub HashMap<CounterName, Counter>);

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
    /// Whether the limit passed the check when it was judged.
    passes: bool,
    /// The wait by the counter as it is now.
    wait: Wait,
    delay_ms: u64,
    changed: bool,
}

/// Decides `check` at `now`: one decision for each limit, in order.
pub fn decide(counters: &mut Counters, check: &Check, now: Micros) -> Vec<Decision> {
    let mut judged: Vec<_> =
        check.rules.iter().map(|rule| judge(counters, rule, check.cost, now)).collect();
    let enforced_pass = judged.iter().filter(|rule| rule.enforced()).all(Judged::passes);
    let enforced_denied_by_limit =
        judged.iter().filter(|rule| rule.enforced()).any(Judged::denied_by_limit);
    let mut decisions = Vec::with_capacity(check.limit_count());
    for rule in &mut judged {
        let (passes, denied_by_limit) = if rule.enforced() {
            (enforced_pass, enforced_denied_by_limit)
        } else {
            (rule.passes(), rule.denied_by_limit())
        };
        let outcome = match check.operation {
            Operation::Refund | Operation::Inspect | Operation::Record => Outcome::Inspected,
            Operation::Consume | Operation::Peek if rule.only_looks() => Outcome::Inspected,
            Operation::Consume | Operation::Peek if passes => Outcome::Passed,
            Operation::Consume | Operation::Peek => Outcome::Denied,
        };
        match (outcome, check.operation) {
            (Outcome::Passed, _) => rule.charge(now),
            (Outcome::Denied, _) => rule.deny(denied_by_limit, now),
            (_, Operation::Refund) if rule.enforced() => rule.refund(now),
            (_, Operation::Record) if rule.cost > 0 => rule.record(now),
            (Outcome::Inspected, _) => {}
        }
        decisions.extend(rule.report(outcome, now));
        if !matches!(check.operation, Operation::Peek | Operation::Inspect) {
            rule.store(counters, now);
        }
    }
    decisions
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Denied,
    Inspected,
}

fn judge<'a>(counters: &Counters, rule: &'a RuleMeters, cost: u64, now: Micros) -> Judged<'a> {
    let (cost, needed) = (rule.taken(cost), rule.needed(cost));
    let limits = rule.limits.iter().map(|(name, meter)| {
        let mut counter = counters.0.get(name).cloned().unwrap_or_default();
        let changed = meter.follow_clock(&mut counter, now);
        let wait = meter.wait(&mut counter, needed, now);
        let delay_ms = meter.delay_ms(&mut counter, now);
        let passes = wait == Wait::None;
        JudgedLimit { name: *name, meter, counter, passes, wait, delay_ms, changed }
    });
    let (blocked_ms, block_restarts) =
        match rule.block.map(|(name, ms)| (counters.0.get(&name), ms)) {
            Some((Some(Counter::BlockedUntil(until_us)), block_ms)) => {
                block_left(*until_us, block_ms, now)
            }
            _ => (0, false),
        };
    let limits = limits.collect();
    Judged { meters: rule, cost, needed, blocked_ms, block_restarts, block_starts: false, limits }
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
        self.blocked_ms == 0 && !self.denied_by_limit()
    }

    fn denied_by_limit(&self) -> bool {
        self.limits.iter().any(|limit| !limit.passes)
    }

    /// Whether the rule takes part in a decision and takes nothing.
    fn only_looks(&self) -> bool {
        self.meters.own_cost == Some(0)
    }

    fn charge(&mut self, now: Micros) {
        for limit in &mut self.limits {
            limit.meter.charge(&mut limit.counter, self.cost, now);
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
            limit.wait = limit.meter.wait(&mut limit.counter, self.needed, now);
            limit.changed = true;
        }
    }

    fn refund(&mut self, now: Micros) {
        let cost = self.cost;
        self.change(|limit| limit.meter.refund(&mut limit.counter, cost, now), now);
    }

    /// Charges all limits, even if that is more than is left.
    fn record(&mut self, now: Micros) {
        let cost = self.cost;
        self.change(|limit| limit.meter.charge(&mut limit.counter, cost, now), now);
    }

    /// Changes all counters and judges them anew.
    fn change(&mut self, change: impl Fn(&mut JudgedLimit<'_>), now: Micros) {
        for limit in &mut self.limits {
            change(limit);
            limit.wait = limit.meter.wait(&mut limit.counter, self.needed, now);
            limit.passes = limit.wait == Wait::None;
            limit.changed = true;
            limit.delay_ms = limit.meter.delay_ms(&mut limit.counter, now);
        }
    }

    fn report(&mut self, outcome: Outcome, now: Micros) -> Vec<Decision> {
        let block_ms = self.meters.block.map_or(0, |(_, block_ms)| block_ms);
        let (blocked_ms, block_starts) = (self.blocked_ms, self.block_starts);
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
            Decision {
                allowed,
                remaining: level.remaining,
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

#[cfg(test)]
mod tests;
