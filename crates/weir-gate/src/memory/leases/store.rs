//! The leases of one gate, in shards by subject.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use weir_domain::charge::RuleCharge;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::subject::SubjectKey;
use weir_redis::placement::{Bucket, Buckets};

use super::call_ids::CallIds;
use super::lease::Lease;
use super::unsettled::Unsettled;
use crate::memory::sharded::Sharded;
use crate::memory::tenant_map::TenantMap;

/// The state that requests for units share with the leases.
#[derive(Debug)]
pub(super) struct LeaseStore {
    /// The buckets about which announcements of resets are received.
    connected: AtomicU64,
    /// The number of units that this gate can neither use nor return.
    lost: AtomicU64,
    pub(super) ids: CallIds,
    pub(super) shards: Sharded<Shard>,
}

/// A lease belongs to a subject under a rule.
pub(super) type Key = (SubjectKey, RuleId);

/// The leases of some subjects.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) leases: TenantMap<Key, Lease>,
    pub(super) unsettled: Vec<Unsettled>,
    /// The numbers of resets, by [`reset_group`].
    resets: [u64; RESET_GROUPS],
    /// By counter, the holders of units of leases that have ended.
    holders: HashMap<(TenantId, Key), Weak<()>>,
}

const RESET_GROUPS: usize = 64;

/// The most leases, and the most unsettled entries, of one shard. Redis alone decides for further counters.
pub(super) const LEASES_MAX: usize = 4096;

impl LeaseStore {
    pub(super) fn new() -> Self {
        Self {
            connected: AtomicU64::new(Buckets::NONE.bits()),
            lost: AtomicU64::new(0),
            ids: CallIds::new(),
            shards: Sharded::default(),
        }
    }

    pub(super) fn set_connected(&self, buckets: Buckets) {
        self.connected.store(buckets.bits(), Ordering::SeqCst);
    }

    /// Whether announcements about the counters of this tenant and rule are received.
    pub(super) fn is_connected(&self, tenant: TenantId, charge: &RuleCharge) -> bool {
        let connected = Buckets::from_bits(self.connected.load(Ordering::SeqCst));
        let namespace = charge.active.rule.namespace();
        connected == Buckets::ALL
            || connected.contains(Bucket::of(tenant, namespace, charge.spread))
    }

    pub(super) fn lose(&self, units: u64) {
        self.lost.fetch_add(units, Ordering::Relaxed);
    }

    pub(super) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            leases: TenantMap::new(LEASES_MAX),
            unsettled: Vec::new(),
            resets: [0; RESET_GROUPS],
            holders: HashMap::new(),
        }
    }
}

impl Shard {
    /// Opens a lease without units, if this tenant can have one more.
    pub(super) fn open(
        &mut self,
        tenant: TenantId,
        key: Key,
        charge: &RuleCharge,
        now: Instant,
    ) -> bool {
        if self.unsettled.len() >= LEASES_MAX || self.holders.len() >= LEASES_MAX {
            return false;
        }
        let unused = |lease: &Lease| !lease.is_taking() && lease.units() == 0;
        match self.leases.reserve(tenant, unused, |lease| !lease.is_taking()) {
            Err(_) => return false,
            Ok(Some(evicted)) => self.retire(evicted.value, None, now),
            Ok(None) => {}
        }
        let holder = self.holders.remove(&(tenant, key)).and_then(|holder| holder.upgrade());
        let lease = Lease::empty(tenant, charge.clone(), holder.unwrap_or_default(), now);
        self.leases.insert(tenant, key, lease);
        true
    }

    /// Ends a lease that was removed. Its units become unsettled. `edited` is the present rule, if the rule was edited.
    pub(super) fn retire(&mut self, lease: Lease, edited: Option<&RuleCharge>, now: Instant) {
        note_holder(&mut self.holders, &lease);
        self.unsettled.extend(lease.into_returned(edited, now));
    }

    /// The number of resets that possibly concerned the counters of this subject.
    pub(super) fn resets(&self, tenant: TenantId, subject: SubjectKey) -> u64 {
        self.resets[reset_group(tenant, subject)]
    }

    /// Drops the leases and the unsettled entries of a subject, without a return.
    pub(super) fn reset(&mut self, tenant: TenantId, subject: SubjectKey) {
        self.resets[reset_group(tenant, subject)] += 1;
        self.drop_all_of(|owner, other| owner == tenant && other == subject);
    }

    /// Drops all leases and unsettled entries, without a return.
    pub(super) fn reset_all(&mut self) {
        self.resets.iter_mut().for_each(|resets| *resets += 1);
        self.drop_all_of(|_, _| true);
    }

    fn drop_all_of(&mut self, is_reset: impl Fn(TenantId, SubjectKey) -> bool) {
        let Self { leases, holders, unsettled, .. } = self;
        leases.retain(|tenant, key, lease| {
            let drops = is_reset(tenant, key.0);
            if drops {
                note_holder(holders, lease);
            }
            !drops
        });
        unsettled.retain(|entry| !is_reset(entry.tenant, entry.charge.subject));
    }

    /// Takes out all unsettled entries, and the units of approximate rules that are not used any more.
    pub(super) fn take_unsettled(&mut self, now: Instant) -> Vec<Unsettled> {
        let Self { leases, unsettled, holders, .. } = self;
        leases.retain(|_, _, lease| {
            if lease.is_over(now) {
                unsettled.extend(lease.take_returned(now));
            }
            true
        });
        holders.retain(|_, holder| holder.strong_count() > 0);
        std::mem::take(unsettled)
    }

    /// Ends the leases for which `ends` holds. Their units become unsettled.
    pub(super) fn end(&mut self, now: Instant, ends: impl Fn(&Key, &Lease) -> bool) {
        let Self { leases, unsettled, holders, .. } = self;
        leases.retain(|_, key, lease| {
            if !ends(key, lease) {
                return true;
            }
            note_holder(holders, lease);
            // A request in flight will find no lease, and returns its units.
            unsettled.extend(lease.take_returned(now));
            false
        });
    }
}

/// Units in flight are lost if a counter of their group is reset meanwhile: few others than those of the counter itself.
fn reset_group(tenant: TenantId, subject: SubjectKey) -> usize {
    let group = (tenant.to_u128() ^ subject.0) % RESET_GROUPS as u128;
    usize::try_from(group).expect("few groups")
}

/// Notes the holder of the units of an approximate lease that ends: the next lease of the counter shares it.
fn note_holder(holders: &mut HashMap<(TenantId, Key), Weak<()>>, lease: &Lease) {
    if lease.is_approximate() && (lease.units() > 0 || lease.has_other_holders()) {
        let charge = lease.charge();
        let key = (lease.tenant(), (charge.subject, charge.active.id));
        holders.insert(key, Arc::downgrade(lease.holder()));
    }
}
