//! Denials that stay true for a known time are given again without asking Redis: a flood of refused
//! checks costs Redis one check in five seconds for each subject.
//!
//! Exact, because only what cannot change is remembered: every rule of the check counts the same
//! subject and has a limit with nothing left, so no check whatever that meets it can be admitted, and
//! its counters stand still, until that limit has a unit again. That time is known. What else could end
//! it is heard of: a change of the rulebook has another version; a refund or a reset is announced to
//! every gate, and while announcements cannot be heard nothing is remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_domain::algorithm::Algorithm;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::Limit;
use weir_domain::subject::SubjectKey;

use crate::sharded::Sharded;
use crate::tenant_map::TenantMap;

/// The remembered denials of one gate.
#[derive(Debug)]
pub(crate) struct Remembered {
    hears: AtomicBool,
    shards: Sharded<Shard>,
}

/// What a check met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChargedRules<'a> {
    pub(crate) tenant: TenantId,
    /// The rulebook's version.
    pub(crate) version: u64,
    pub(crate) cost: u64,
    pub(crate) rules: &'a [RuleCharge],
}

/// Whether a denial may still be remembered when its answer comes: something may have been forgotten in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    asked_at: Instant,
    forgotten: u64,
}

#[derive(Debug)]
struct Shard {
    /// How often something was forgotten here.
    forgotten: u64,
    denials: TenantMap<SubjectKey, Denial>,
}

#[derive(Debug)]
struct Denial {
    version: u64,
    cost: u64,
    rules: Vec<(RuleId, Option<Arc<[Limit]>>)>,
    decisions: Vec<Decision>,
    heard_at: Instant,
    until: Instant,
}

/// Subjects of one shard. A tenant has at most a quarter of them; while so many denials hold, Redis is asked about further ones.
const SUBJECTS_MAX: usize = 4096;
/// Redis is asked again after so long at the latest, which bounds what a lost announcement or a step of Redis' clock
/// can do.
const LONGEST: Duration = Duration::from_secs(5);
/// Times are told in whole milliseconds, rounded up; clocks do not run alike to the last microsecond.
const SPARE_MS: u64 = 5;

impl Remembered {
    /// Nothing yet; nothing will be before announcements are heard.
    pub(crate) fn new() -> Self {
        Self { hears: AtomicBool::new(false), shards: Sharded::default() }
    }

    /// Says whether announcements are heard from now on.
    pub(crate) fn hears(&self, hears: bool) {
        self.hears.store(hears, Ordering::SeqCst);
        self.shards.each().for_each(|mut shard| shard.forget_all());
    }

    /// The decisions about a check, if it is known to be denied.
    pub(crate) fn recall(&self, met: ChargedRules<'_>, now: Instant) -> Option<Vec<Decision>> {
        let subject = met.rules.first()?.subject;
        let shard = self.shards.of(subject);
        let denial = shard.denials.get(met.tenant, &subject)?;
        let same = denial.is_about(met);
        (same && now < denial.until).then(|| denial.at(now))
    }

    /// To be taken before Redis is asked about a check.
    pub(crate) fn ticket(&self, charges: &[RuleCharge], now: Instant) -> Option<Ticket> {
        let subject = charges.first()?.subject;
        Some(Ticket { asked_at: now, forgotten: self.shards.of(subject).forgotten })
    }

    /// Remembers what Redis decided, if it is a denial that will stay one.
    pub(crate) fn remember(
        &self,
        ticket: Ticket,
        met: ChargedRules<'_>,
        decisions: &[Decision],
        now: Instant,
    ) {
        let Some(ms) = stands_for_ms(met, decisions) else { return };
        if ms <= SPARE_MS || !self.hears.load(Ordering::SeqCst) {
            return;
        }
        let until = ticket.asked_at + Duration::from_millis(ms - SPARE_MS).min(LONGEST);
        let rule = |it: &RuleCharge| (it.active.id, it.override_limits.clone());
        let denial = Denial {
            version: met.version,
            cost: met.cost,
            rules: met.rules.iter().map(rule).collect(),
            decisions: decisions.to_vec(),
            heard_at: now,
            until,
        };
        let subject = met.rules[0].subject;
        let mut shard = self.shards.of(subject);
        if shard.forgotten == ticket.forgotten && shard.has_room(met.tenant, subject, now) {
            shard.denials.insert(met.tenant, subject, denial);
        }
    }

    /// Forgets a subject: units were given back to it, or its counters were reset.
    pub(crate) fn forget(&self, subject: SubjectKey) {
        let mut shard = self.shards.of(subject);
        shard.forgotten += 1;
        shard.denials.remove_for_all(&subject);
    }

    /// Forgets the subjects of all these.
    pub(crate) fn forget_all(&self, charges: &[RuleCharge]) {
        for charge in charges {
            self.forget(charge.subject);
        }
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self { forgotten: 0, denials: TenantMap::new(SUBJECTS_MAX) }
    }
}

impl Shard {
    fn has_room(&mut self, tenant: TenantId, subject: SubjectKey, now: Instant) -> bool {
        let is_over = |denial: &Denial| denial.until <= now;
        self.denials.get(tenant, &subject).is_some()
            || self.denials.reserve(tenant, is_over, |_| true).is_ok()
    }

    fn forget_all(&mut self) {
        self.forgotten += 1;
        self.denials.clear();
    }
}

impl Denial {
    fn is_about(&self, met: ChargedRules<'_>) -> bool {
        let charges = met.rules;
        let same = |(rule, limits): &(RuleId, Option<Arc<[Limit]>>), charge: &RuleCharge| {
            *rule == charge.active.id && charge.uses_override(limits.as_ref())
        };
        self.version == met.version
            && self.cost == met.cost
            && self.rules.len() == charges.len()
            && self.rules.iter().zip(charges).all(|(then, now)| same(then, now))
            && charges.iter().all(|it| it.subject == charges[0].subject)
    }

    /// What the limits say now: all that passes is time.
    fn at(&self, now: Instant) -> Vec<Decision> {
        let passed = now.saturating_duration_since(self.heard_at);
        self.decisions.iter().map(|it| it.later(passed)).collect()
    }
}

/// For how long nothing about these decisions can change but the time that is left.
fn stands_for_ms(met: ChargedRules<'_>, decisions: &[Decision]) -> Option<u64> {
    let charges = met.rules;
    let mut decisions = decisions.iter();
    let mut stands_ms = u64::MAX;
    for charge in charges {
        let may_change = charge.shadow()
            || charge.active.rule.block_ms().is_some()
            || charge.subject != charges[0].subject;
        if may_change {
            return None;
        }
        let mut exhausted = false;
        for limit in charge.limits() {
            let decision = decisions.next()?;
            exhausted |= !decision.allowed;
            stands_ms = stands_ms.min(limit_stands_ms(&limit.algorithm, met.cost, decision)?);
        }
        if !exhausted {
            return None;
        }
    }
    (stands_ms < u64::MAX).then_some(stands_ms)
}

fn limit_stands_ms(algorithm: &Algorithm, cost: u64, decision: &Decision) -> Option<u64> {
    // Whole units come back at once, at the end of the window; elsewhere one after another.
    let at_once = matches!(algorithm, Algorithm::FixedWindow(_) | Algorithm::Quota(_));
    if matches!(algorithm, Algorithm::SlidingWindowLog(it) if it.counts_denied()) {
        return None;
    }
    let untouched = decision.remaining == algorithm.limit() && decision.reset_after_ms == 0;
    match (decision.allowed, decision.remaining) {
        (true, _) if untouched => Some(u64::MAX),
        (true, _) if at_once => Some(decision.reset_after_ms),
        (false, 0) if at_once || cost == 1 => decision.retry_after_ms,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
