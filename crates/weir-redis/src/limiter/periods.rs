//! Bounds of quota periods, kept while they hold: calendars are asked seldom, not for each check.

use std::collections::HashMap;

use weir_domain::algorithm::{Calendar, PeriodBounds, Quota};
use weir_domain::calendar;
use weir_domain::time::Micros;

/// The bounds of each calendar in use.
#[derive(Debug, Default)]
pub(super) struct Periods(HashMap<Calendar, [u64; 4]>);

/// Calendars kept at once; all are forgotten when there are more.
const CALENDARS_MAX: usize = 10_000;

impl Periods {
    /// The bounds of a quota's periods, with `now` in the middle one.
    pub(super) fn around(&mut self, quota: &Quota, now: Micros) -> PeriodBounds {
        let limit = quota.limit();
        if let Some(&bounds_us) = self.0.get(quota.calendar())
            && bounds_us[1] <= now.0
            && now.0 < bounds_us[2]
        {
            return PeriodBounds { limit, bounds_us };
        }
        if self.0.len() >= CALENDARS_MAX {
            self.0.clear();
        }
        let bounds = calendar::bounds(quota, now);
        self.0.insert(quota.calendar().clone(), bounds.bounds_us);
        bounds
    }
}
