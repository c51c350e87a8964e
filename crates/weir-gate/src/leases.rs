//! Leases: units of `consistency: leased` rules, taken from Redis in advance and given out here.
//!
//! What is leased counts as taken in Redis from the beginning, so a limit is never exceeded, however
//! many gates there are and whatever becomes of them; units that lie here unused can only make it too
//! strict. They are of the window in which they were taken and end with it. Only `fixed_window` and
//! `quota` allow that: elsewhere a unit that is used later than it was taken would count in two windows,
//! so leased rules with other algorithms are decided one by one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_domain::algorithm::Algorithm;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::Consistency;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;

use crate::by_subject::BySubject;

/// The leases of one gate.
#[derive(Debug)]
pub(crate) struct Leases {
    hears: AtomicBool,
    turns: AtomicU64,
    shards: BySubject<Shard>,
}

/// What to do about a check of a leased rule.
#[derive(Debug)]
pub(crate) enum Spent<'a> {
    /// Its units were here.
    Here(Vec<Decision>),
    /// Take more than its cost, and tell what came of it.
    Take(Taking<'a>),
    /// Decide it by Redis alone.
    Ask,
}

/// Units on their way from Redis; nobody else takes any for the same counter meanwhile.
#[derive(Debug)]
pub(crate) struct Taking<'a> {
    leases: &'a Leases,
    key: Key,
    /// How many to take.
    pub(crate) units: u64,
    cost: u64,
    asked_at: Instant,
    turn: u64,
}

/// Units to give back to Redis.
#[derive(Debug)]
pub(crate) struct Unused {
    pub(crate) tenant: TenantId,
    pub(crate) charge: RuleCharge,
    pub(crate) units: u64,
    /// The end of the window they are of, by Redis.
    pub(crate) ends: Micros,
}

type Key = (SubjectKey, RuleId);

#[derive(Debug, Default)]
struct Shard {
    leases: HashMap<Key, Lease>,
    /// Of rules that were edited: to be given back.
    left_over: Vec<Unused>,
}

#[derive(Debug)]
struct Lease {
    tenant: TenantId,
    charge: RuleCharge,
    units: u64,
    /// What Redis said when it gave them.
    decisions: Vec<Decision>,
    heard_at: Instant,
    until: Instant,
    ends: Micros,
    /// How many to take at once.
    size: u64,
    /// Who is taking units for it, if anybody is.
    taking: Option<u64>,
    used_at: Instant,
}

/// Counters of one shard; others are decided by Redis alone.
const COUNTERS_MAX: usize = 4096;
/// A lease is made to last so long.
const LASTS: Duration = Duration::from_secs(1);
/// Units that nobody asked for during so long are given back.
const IDLE: Duration = Duration::from_secs(1);
const SIZE_MAX: u64 = 10_000;
/// A lease is at most this part of what is left, so that the last units go round.
const SHARE: u64 = 8;
/// Times are told in whole milliseconds, rounded up; clocks do not run alike to the last microsecond.
const SPARE: Duration = Duration::from_millis(2);

impl Leases {
    /// None yet; there are none before resets are heard of.
    pub(crate) fn new() -> Self {
        let (hears, turns) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { hears, turns, shards: BySubject::default() }
    }

    /// Says whether resets are heard of from now on.
    pub(crate) fn hears(&self, hears: bool) {
        self.hears.store(hears, Ordering::SeqCst);
        self.shards.each().for_each(|mut shard| *shard = Shard::default());
    }

    /// Gives units to a check that consumes `cost`, if it meets one leased rule and they are here.
    pub(crate) fn spend(
        &self,
        tenant: TenantId,
        rules: &[RuleCharge],
        cost: u64,
        now: Instant,
    ) -> Spent<'_> {
        let [charge] = rules else { return Spent::Ask };
        if !leased(charge) || !self.hears.load(Ordering::SeqCst) {
            return Spent::Ask;
        }
        let key = (charge.subject, charge.active.id);
        let mut shard = self.shards.of(charge.subject);
        let Shard { leases, left_over } = &mut *shard;
        let full = leases.len() >= COUNTERS_MAX || left_over.len() >= COUNTERS_MAX;
        let lease = match leases.entry(key) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(_) if full => return Spent::Ask,
            Entry::Vacant(free) => free.insert(Lease::empty(tenant, charge.clone(), now)),
        };
        if !lease.is_of(charge) {
            // The rule was edited, or another override holds.
            left_over.extend(lease.take_unused(now));
            *lease = Lease::empty(tenant, charge.clone(), now);
        }
        if now < lease.until && cost <= lease.units {
            lease.units -= cost;
            lease.used_at = now;
            return Spent::Here(lease.decisions_at(now));
        }
        if lease.taking.is_some() {
            return Spent::Ask;
        }
        let units = lease.next_size(cost, now);
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        lease.taking = Some(turn);
        Spent::Take(Taking { leases: self, key, units, cost, asked_at: now, turn })
    }

    /// Drops what is here of a subject whose counters were reset.
    pub(crate) fn forget(&self, subject: SubjectKey) {
        let mut shard = self.shards.of(subject);
        shard.leases.retain(|key, _| key.0 != subject);
        shard.left_over.retain(|it| it.charge.subject != subject);
    }

    /// Takes out what is to be given back: what lies idle, or everything; and forgets counters long out of use.
    pub(crate) fn take_unused(&self, everything: bool, now: Instant) -> Vec<Unused> {
        let mut unused = Vec::new();
        for mut shard in self.shards.each() {
            unused.append(&mut shard.left_over);
            let idle = |it: &&mut Lease| everything || it.used_at + IDLE <= now;
            unused.extend(
                shard.leases.values_mut().filter(idle).filter_map(|it| it.take_unused(now)),
            );
            shard.leases.retain(|_, it| {
                it.taking.is_some() || it.units > 0 && now < it.until || now < it.used_at + 4 * IDLE
            });
        }
        unused
    }
}

impl Taking<'_> {
    /// Redis gave the units: the check has its own, the others stay here. What the check is told.
    pub(crate) fn given(self, at: Micros, decisions: Vec<Decision>) -> Vec<Decision> {
        let reset_ms = decisions.iter().map(|it| it.reset_after_ms).min().unwrap_or(0);
        let until = self.asked_at + Duration::from_millis(reset_ms).saturating_sub(SPARE);
        let now = Instant::now();
        let mut shard = self.leases.shards.of(self.key.0);
        // Forgotten meanwhile: the others are lost.
        let Some(lease) = shard.leases.get_mut(&self.key).filter(|it| it.taking == Some(self.turn))
        else {
            return decisions;
        };
        let same_window = now < lease.until;
        lease.units = if same_window { lease.units } else { 0 } + (self.units - self.cost);
        lease.until = if same_window { lease.until.min(until) } else { until };
        lease.ends = Micros(at.0 + reset_ms * 1000);
        (lease.decisions, lease.heard_at, lease.used_at) = (decisions, now, now);
        lease.decisions_at(now)
    }

    /// Whether more was asked for than the check needs.
    pub(crate) fn is_more_than_needed(&self) -> bool {
        self.units > self.cost
    }

    /// What the check itself needs.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }
}

impl Drop for Taking<'_> {
    /// Also where nobody waits for the answer any more: then its units are lost.
    fn drop(&mut self) {
        let mut shard = self.leases.shards.of(self.key.0);
        if let Some(lease) =
            shard.leases.get_mut(&self.key).filter(|it| it.taking == Some(self.turn))
        {
            lease.taking = None;
        }
    }
}

impl Lease {
    fn empty(tenant: TenantId, charge: RuleCharge, now: Instant) -> Self {
        let (decisions, ends) = (Vec::new(), Micros(0));
        let (heard_at, until, used_at) = (now, now, now);
        let (units, size, taking) = (0, 1, None);
        Self { tenant, charge, units, decisions, heard_at, until, ends, size, taking, used_at }
    }

    /// What is here of a window that goes on.
    fn take_unused(&mut self, now: Instant) -> Option<Unused> {
        let units = std::mem::take(&mut self.units);
        let (tenant, charge, ends) = (self.tenant, self.charge.clone(), self.ends);
        (units > 0 && now < self.until).then_some(Unused { tenant, charge, units, ends })
    }

    fn is_of(&self, charge: &RuleCharge) -> bool {
        Arc::ptr_eq(&self.charge.active, &charge.active)
            && charge.has_instead(self.charge.instead.as_ref())
    }

    /// Twice as many as the last time while they are used up in time, else half as many.
    fn next_size(&mut self, cost: u64, now: Instant) -> u64 {
        let used_up = now < self.heard_at + LASTS;
        self.size = if used_up { (self.size * 2).min(SIZE_MAX) } else { (self.size / 2).max(1) };
        let left = self.decisions.iter().map(|it| it.remaining).min().unwrap_or(0);
        cost.max(self.size.min(left / SHARE))
    }

    /// What the limits say now: all that passes is time, and what is here is left too.
    fn decisions_at(&self, now: Instant) -> Vec<Decision> {
        let passed = now.saturating_duration_since(self.heard_at);
        let later =
            |it: &Decision| Decision { remaining: it.remaining + self.units, ..it.later(passed) };
        self.decisions.iter().map(later).collect()
    }
}

/// Whether the rule's units may be given out here.
fn leased(charge: &RuleCharge) -> bool {
    let rule = &charge.active.rule;
    let of_a_window =
        |it: &Algorithm| matches!(it, Algorithm::FixedWindow(_) | Algorithm::Quota(_));
    rule.consistency() == Consistency::Leased
        && !charge.shadow()
        && rule.block_ms().is_none()
        && charge.limits().iter().all(|it| of_a_window(&it.algorithm))
}

#[cfg(test)]
mod tests;
