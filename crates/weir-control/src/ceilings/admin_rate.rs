//! The ceiling of requests to the admin API, for each tenant in this process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_domain::ceilings::Ceiling;
use weir_domain::id::TenantId;
use weir_domain::rate::RateBucket;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{Store, StoreError};

use super::refusals::too_often;

/// The longest time until a changed ceiling applies.
const CEILING_AGE_MAX_MS: i64 = 5_000;
/// The most buckets in memory. At this number, idle ones are removed before another is added.
const TENANTS_MAX: usize = 10_000;

/// One bucket for each tenant with recent requests.
#[derive(Debug, Default)]
pub(crate) struct AdminRates(Mutex<HashMap<TenantId, Rate>>);

#[derive(Debug, Clone, Copy)]
struct Rate {
    bucket: RateBucket,
    per_second: u64,
    read_at: Timestamp,
}

impl AdminRates {
    /// Admits a request of this tenant or refuses it. While the database is unavailable, the last known ceiling applies.
    pub(crate) async fn admit(
        &self,
        store: &Store,
        tenant: TenantId,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let known = self.lock().get(&tenant).copied();
        let current = known.filter(|rate| now < rate.read_at.plus_ms(CEILING_AGE_MAX_MS));
        let per_second = match (current, known) {
            (Some(rate), _) => rate.per_second,
            (None, known) => match ceiling(store, tenant).await {
                Ok(value) => value,
                Err(error) => {
                    tracing::debug!(%error, "could not read a ceiling");
                    let default = Ceiling::AdminRequestsPerSecond.default_value();
                    known.map_or(default, |rate| rate.per_second)
                }
            },
        };
        let now_ns = now.as_millis_u64().saturating_mul(1_000_000);
        let mut rates = self.lock();
        if rates.len() >= TENANTS_MAX && !rates.contains_key(&tenant) {
            rates.retain(|_, rate| !rate.bucket.is_full(now_ns));
        }
        let fresh = Rate { bucket: RateBucket::default(), per_second, read_at: now };
        let rate = rates.entry(tenant).or_insert(fresh);
        if current.is_none() {
            (rate.per_second, rate.read_at) = (per_second, now);
        }
        let taken = rate.bucket.take(now_ns, per_second, 1);
        if taken.units == 1 {
            return Ok(());
        }
        let retry_after_s = u32::try_from(taken.retry_after_ms.div_ceil(1000)).unwrap_or(1);
        Err(too_often(Ceiling::AdminRequestsPerSecond, per_second, retry_after_s))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, Rate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ceiling(store: &Store, tenant: TenantId) -> Result<u64, StoreError> {
    Ok(store.ceilings_of(tenant).await?.get(Ceiling::AdminRequestsPerSecond))
}
