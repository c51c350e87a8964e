//! The answers to customers who read their usage, repeated for a second.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use weir_domain::id::TenantId;
use weir_domain::subject::SubjectKey;
use weir_wire::customers::CustomerLimits;

/// The time for which an answer is repeated.
const CACHED_FOR: Duration = Duration::from_secs(1);
/// The most answers that are held to be repeated.
const CACHED_MAX: usize = 10_000;

/// The answers of the last second.
#[derive(Debug, Default)]
pub(crate) struct UsageCache(Mutex<FxHashMap<CachedKey, (Instant, Arc<CustomerLimits>)>>);

/// The customer, and the part of the tenant in the rulebook by which the answer was made.
pub(crate) type CachedKey = (TenantId, SubjectKey, u64);

impl UsageCache {
    pub(crate) fn get(&self, key: CachedKey, now: Instant) -> Option<Arc<CustomerLimits>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, answer) = cached.get(&key)?;
        (now.saturating_duration_since(*at) < CACHED_FOR).then(|| Arc::clone(answer))
    }

    pub(crate) fn put(&self, key: CachedKey, now: Instant, answer: &Arc<CustomerLimits>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= CACHED_MAX {
            cached.retain(|_, (at, _)| now.saturating_duration_since(*at) < CACHED_FOR);
        }
        if cached.len() < CACHED_MAX {
            cached.insert(key, (now, Arc::clone(answer)));
        }
    }
}
