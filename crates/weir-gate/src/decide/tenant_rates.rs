//! The ceiling of checks a second. Each gate enforces its share of a tenant's ceiling in memory.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashMap;
use weir_domain::ceilings::CHECKS_PER_SECOND_MAX;
use weir_domain::id::TenantId;
use weir_domain::rate::{RateBucket, Taken};

/// A bucket for each recently active tenant that has a ceiling.
#[derive(Debug)]
pub(crate) struct TenantRates {
    shards: Box<[Mutex<FxHashMap<TenantId, RateBucket>>]>,
    began: Instant,
}

const SHARDS: u128 = 16;
/// The number of buckets of a shard from which full ones are removed before another is added.
const BUCKETS_MAX: usize = 1_024;

impl TenantRates {
    pub(crate) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, began: Instant::now() }
    }

    /// Takes up to `wanted` checks of a tenant. `per_second` is this gate's share of the ceiling.
    pub(crate) fn take(
        &self,
        tenant: TenantId,
        per_second: u64,
        wanted: u64,
        now: Instant,
    ) -> Taken {
        if per_second >= CHECKS_PER_SECOND_MAX {
            return Taken { units: wanted, retry_after_ms: 0 };
        }
        let now_ns = now.saturating_duration_since(self.began).as_nanos();
        let now_ns = u64::try_from(now_ns).unwrap_or(u64::MAX / 2);
        let id = tenant.to_u128();
        let shard = usize::try_from((id ^ (id >> 64)) % SHARDS).unwrap_or(0);
        let mut buckets = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(&tenant) {
            buckets.retain(|_, bucket| !bucket.is_full(now_ns));
        }
        buckets.entry(tenant).or_default().take(now_ns, per_second, wanted)
    }
}

/// One gate's share of a ceiling: at least 1.
pub(crate) fn share(ceiling: u64, live_gates: u64) -> u64 {
    if ceiling >= CHECKS_PER_SECOND_MAX { ceiling } else { (ceiling / live_gates.max(1)).max(1) }
}
