//! A cache of the bounds of quota periods, so that calendars are not computed for each check.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::time::Instant;
use weir_domain::algorithm::{Calendar, PeriodBounds, Quota};
use weir_domain::calendar;
use weir_domain::time::Micros;

/// The bounds of each calendar in use, around an estimate of Redis' time: the script refuses periods that do not hold,
/// and replies with its time.
#[derive(Debug, Default)]
pub(super) struct Periods(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    redis_time: Option<(Micros, Instant)>,
    bounds: HashMap<Calendar, [u64; 4]>,
}

/// The most cached calendars. The cache is cleared when there are more.
const CALENDARS_MAX: usize = 10_000;

impl Periods {
    /// Notes Redis' present time.
    pub(super) fn redis_time(&self, now: Micros) {
        self.lock().redis_time = Some((now, Instant::now()));
    }

    /// The bounds of a quota's periods, with the present in the middle one.
    pub(super) fn around(&self, quota: &Quota) -> PeriodBounds {
        let mut known = self.lock();
        let (limit, now) = (quota.limit(), known.now());
        if let Some(unrenewed) = quota.unrenewed(now) {
            return unrenewed;
        }
        if let Some(&bounds_us) = known.bounds.get(quota.calendar())
            && bounds_us[1] <= now.0
            && now.0 < bounds_us[2]
        {
            return PeriodBounds { limit, bounds_us };
        }
        if known.bounds.len() >= CALENDARS_MAX {
            known.bounds.clear();
        }
        let bounds = calendar::bounds(quota, now);
        known.bounds.insert(quota.calendar().clone(), bounds.bounds_us);
        bounds
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // After a panic the cache is still a set of bounds.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Known {
    fn now(&self) -> Micros {
        let now = self.redis_time.map(|(now, at)| {
            Micros(now.0 + u64::try_from(at.elapsed().as_micros()).unwrap_or(u64::MAX / 2))
        });
        now.unwrap_or_default()
    }
}
