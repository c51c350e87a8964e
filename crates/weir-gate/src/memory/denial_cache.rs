//! Denials that cannot change for a known time, answered without Redis: a flood of denied checks costs Redis one check
//! in five seconds for each subject.
//!
//! A denial is cached only if every rule of the check counts the same subject and has a limit with nothing left. No check
//! that matches such a rule can then be admitted, so the counters stand still until that limit has a unit again, and that
//! time is known. Three events can end a denial earlier: a change of the tenant's rules, whose generation differs; units that
//! this gate leased; and a refund or a reset, which are announced to every gate. A gate that does not receive announcements
//! about a bucket caches nothing of it. Denials by counters of another region, whose refunds are not announced here, are cached
//! for at most a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_domain::algorithm::Algorithm;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::Limit;
use weir_domain::subject::SubjectKey;
use weir_redis::placement::{Bucket, Buckets};

use crate::memory::sharded::Sharded;
use crate::memory::tenant_map::TenantMap;

/// The cached denials of one gate.
#[derive(Debug)]
pub(crate) struct DenialCache {
    /// The buckets about which announcements are received.
    connected: AtomicU64,
    shards: Sharded<Shard>,
}

/// The rules that a check is charged to, and its cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChargedRules<'a> {
    pub(crate) tenant: TenantId,
    /// The generation of the tenant's rules.
    pub(crate) version: u64,
    pub(crate) cost: u64,
    pub(crate) rules: &'a [RuleCharge],
    /// Whether counters are in another region. Its refunds are not announced here.
    pub(crate) is_far: bool,
}

/// The state of the cache before a check is sent to Redis. A denial is not inserted if its shard was invalidated since.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Generation {
    asked_at: Instant,
    invalidations: u64,
}

#[derive(Debug)]
struct Shard {
    /// The number of invalidations so far.
    invalidations: u64,
    denials: TenantMap<SubjectKey, Denial>,
}

#[derive(Debug)]
struct Denial {
    version: u64,
    cost: u64,
    rules: Vec<(RuleId, Option<Arc<[Limit]>>)>,
    decisions: Vec<Decision>,
    decided_at: Instant,
    until: Instant,
}

/// Subjects of one shard. A tenant has at most a quarter of them; Redis decides the checks of further subjects.
const SUBJECTS_MAX: usize = 4096;
/// The longest time for which a denial is cached. Bounds the effect of a lost announcement and of a step of Redis' clock.
const TTL_MAX: Duration = Duration::from_secs(5);
/// The same for counters in another region.
const FAR_TTL_MAX: Duration = Duration::from_secs(1);
/// Redis' times are whole milliseconds, rounded up, and two clocks differ slightly in speed.
const CLOCK_MARGIN_MS: u64 = 5;

impl DenialCache {
    /// An empty cache, which stays empty until [`DenialCache::set_connected`].
    pub(crate) fn new() -> Self {
        Self { connected: AtomicU64::new(Buckets::NONE.bits()), shards: Sharded::default() }
    }

    /// Sets the buckets about which announcements are received, and empties the cache.
    pub(crate) fn set_connected(&self, buckets: Buckets) {
        self.connected.store(buckets.bits(), Ordering::SeqCst);
        self.clear();
    }

    /// Empties the cache.
    pub(crate) fn clear(&self) {
        self.shards.each().for_each(|mut shard| shard.clear());
    }

    /// Whether announcements about the counters of a check are received.
    fn is_connected(&self, check: ChargedRules<'_>) -> bool {
        let connected = Buckets::from_bits(self.connected.load(Ordering::SeqCst));
        connected == Buckets::ALL
            || check.rules.first().is_some_and(|charge| {
                let namespace = charge.active.rule.namespace();
                connected.contains(Bucket::of(check.tenant, namespace, charge.spread))
            })
    }

    /// The decisions about a check with a cached denial that is still valid. Otherwise the generation to pass to
    /// [`DenialCache::insert`] with the decisions of Redis.
    pub(crate) fn get(
        &self,
        check: ChargedRules<'_>,
        now: Instant,
    ) -> Result<Vec<Decision>, Generation> {
        let Some(charge) = check.rules.first() else {
            return Err(Generation { asked_at: now, invalidations: 0 });
        };
        let shard = self.shards.of(charge.subject);
        let denial = shard.denials.get(check.tenant, &charge.subject);
        match denial.filter(|denial| denial.is_about(check) && now < denial.until) {
            Some(denial) => Ok(denial.at(now)),
            None => Err(Generation { asked_at: now, invalidations: shard.invalidations }),
        }
    }

    /// Caches the decisions of Redis, if they are a denial that cannot change for some time.
    pub(crate) fn insert(
        &self,
        generation: Generation,
        check: ChargedRules<'_>,
        decisions: &[Decision],
        now: Instant,
    ) {
        let Some(ms) = valid_for_ms(check, decisions) else { return };
        if ms <= CLOCK_MARGIN_MS || !self.is_connected(check) {
            return;
        }
        let longest = if check.is_far { FAR_TTL_MAX } else { TTL_MAX };
        let until = generation.asked_at + Duration::from_millis(ms - CLOCK_MARGIN_MS).min(longest);
        let rule = |charge: &RuleCharge| (charge.active.id, charge.override_limits.clone());
        let denial = Denial {
            version: check.version,
            cost: check.cost,
            rules: check.rules.iter().map(rule).collect(),
            decisions: decisions.to_vec(),
            decided_at: now,
            until,
        };
        let subject = check.rules[0].subject;
        let mut shard = self.shards.of(subject);
        if shard.invalidations == generation.invalidations
            && shard.has_room(check.tenant, subject, now)
        {
            shard.denials.insert(check.tenant, subject, denial);
        }
    }

    /// Removes the denials of a subject that has units again or whose counters were reset.
    pub(crate) fn invalidate(&self, subject: SubjectKey) {
        let mut shard = self.shards.of(subject);
        shard.invalidations += 1;
        shard.denials.remove_for_all(&subject);
    }

    /// Removes the denials of the subjects of these charges.
    pub(crate) fn invalidate_all(&self, charges: &[RuleCharge]) {
        for charge in charges {
            self.invalidate(charge.subject);
        }
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self { invalidations: 0, denials: TenantMap::new(SUBJECTS_MAX) }
    }
}

impl Shard {
    fn has_room(&mut self, tenant: TenantId, subject: SubjectKey, now: Instant) -> bool {
        let is_over = |denial: &Denial| denial.until <= now;
        self.denials.get(tenant, &subject).is_some()
            || self.denials.reserve(tenant, is_over, |_| true).is_ok()
    }

    fn clear(&mut self) {
        self.invalidations += 1;
        self.denials.clear();
    }
}

impl Denial {
    fn is_about(&self, check: ChargedRules<'_>) -> bool {
        let charges = check.rules;
        let same = |(rule, limits): &(RuleId, Option<Arc<[Limit]>>), charge: &RuleCharge| {
            *rule == charge.active.id
                && charge.uses_override(limits.as_ref())
                && charge.keep_share == 0
        };
        self.version == check.version
            && self.cost == check.cost
            && self.rules.len() == charges.len()
            && self.rules.iter().zip(charges).all(|(then, now)| same(then, now))
            && charges.iter().all(|charge| charge.subject == charges[0].subject)
    }

    /// The decisions as they are now: only the remaining times have changed.
    fn at(&self, now: Instant) -> Vec<Decision> {
        let passed = now.saturating_duration_since(self.decided_at);
        self.decisions.iter().map(|decision| decision.later(passed)).collect()
    }
}

/// The time for which only the remaining times of these decisions can change. `None` if the counters can change at once.
fn valid_for_ms(check: ChargedRules<'_>, decisions: &[Decision]) -> Option<u64> {
    let charges = check.rules;
    let mut decisions = decisions.iter();
    let mut valid_ms = u64::MAX;
    for charge in charges {
        let can_change = charge.is_alone()
            || charge.keep_share > 0
            || charge.active.rule.block_ms().is_some()
            || charge.subject != charges[0].subject;
        if can_change {
            return None;
        }
        let mut exhausted = false;
        for limit in charge.limits() {
            let decision = decisions.next()?;
            exhausted |= !decision.allowed;
            valid_ms = valid_ms.min(limit_valid_ms(&limit.algorithm, check.cost, decision)?);
        }
        if !exhausted {
            return None;
        }
    }
    (valid_ms < u64::MAX).then_some(valid_ms)
}

fn limit_valid_ms(algorithm: &Algorithm, cost: u64, decision: &Decision) -> Option<u64> {
    // Windows and quotas regain all units at their end, other algorithms one after another.
    let at_once = algorithm.windows().is_some();
    if algorithm.counts_denied() {
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
