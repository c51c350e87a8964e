//! The steps of a query: aligned, bounded, and no finer than the stored statistics.

use weir_domain::algorithm::{Calendar, Period, Quota};
use weir_domain::calendar;
use weir_domain::time::{Micros, Timestamp};
use weir_http::problem::Problem;
use weir_store::{Resolution, Retention, STEP_MS, STEPS_RETAINED_MS, TallyRange};
use weir_wire::stats::POINTS_MAX;

use crate::stats::TimeQuery;

/// The steps of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps {
    /// The start of each step, and the end of the last.
    pub(crate) bounds: Vec<Timestamp>,
    /// The length of a step in seconds, or the usual length.
    pub(crate) step_s: u32,
    /// Whether the steps are days of a time zone, whose lengths differ.
    pub(crate) local: bool,
    /// The resolution of the table to read.
    pub(crate) resolution: Resolution,
}

/// The requested time, not yet aligned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedRange {
    from_ms: i64,
    to_ms: i64,
    now_ms: i64,
    retention: Retention,
}

pub(crate) const MINUTE_S: u32 = 60;
const HOUR_S: u32 = 3_600;
const DAY_S: u32 = 86_400;
const DAY_MS: i64 = 86_400_000;
/// The approximate number of points of a series without a requested step.
const POINTS_CHOSEN: i64 = 250;

impl RequestedRange {
    pub(crate) fn new(
        query: TimeQuery,
        now: Timestamp,
        retention: Retention,
    ) -> Result<Self, Problem> {
        let now_ms = now.as_millis();
        let to_ms = query.to.map_or(now_ms, |to| to.0.as_millis()).min(now_ms);
        let from_ms = query.from.map_or(to_ms - 3_600_000, |from| from.0.as_millis());
        if from_ms >= to_ms {
            let reason = "must be before `to`, and before now";
            return Err(Problem::invalid_field("from", reason));
        }
        if now_ms - from_ms > i64::from(retention.days_days) * DAY_MS + DAY_MS {
            let reason = format!("statistics are retained for {} days", retention.days_days);
            return Err(Problem::invalid_field("from", reason));
        }
        Ok(Self { from_ms, to_ms, now_ms, retention })
    }

    /// The steps of this length, or of a suitable one.
    pub(crate) fn steps(
        &self,
        step_s: Option<u32>,
        time_zone: Option<&str>,
    ) -> Result<Steps, Problem> {
        let step_s = match step_s {
            None => self.suitable_step(),
            Some(step_s) => checked_step(step_s)?,
        };
        // The time zone is validated even if it has no effect.
        time_zone.map(zone_quota).transpose()?;
        let zone = time_zone.filter(|zone| *zone != "UTC" && step_s % DAY_S == 0);
        let bounds = match zone {
            Some(zone) => self.local_days(step_s / DAY_S, zone)?,
            None => self.even(step_s)?,
        };
        let whole = |length_s: u32| {
            bounds.iter().all(|at| at.as_millis() % (i64::from(length_s) * 1000) == 0)
        };
        let resolution = if zone.is_none() && step_s.is_multiple_of(DAY_S) {
            Resolution::Day
        } else if whole(HOUR_S) || (zone.is_some() && !self.retains(Resolution::Minute)) {
            Resolution::Hour
        } else {
            Resolution::Minute
        };
        if !self.retains(resolution) {
            let reason = match resolution {
                Resolution::Minute => format!(
                    "minutes are retained for {} days: ask for steps of 3600 or more",
                    self.retention.minutes_days
                ),
                _ => format!(
                    "hours are retained for {} days: ask for steps of 86400 or more, in UTC",
                    self.retention.hours_days
                ),
            };
            return Err(Problem::invalid_field("step_s", reason));
        }
        Ok(Steps { bounds, step_s, local: zone.is_some(), resolution })
    }

    /// The steps of 10, 20 or 30 seconds, of at most an hour within the last two.
    pub(crate) fn fine_steps(&self, step_s: u32) -> Result<Steps, Problem> {
        let step_ms = i64::from(step_s) * 1000;
        let known =
            step_s > 0 && step_ms % STEP_MS == 0 && step_s < MINUTE_S && 60_000 % step_ms == 0;
        let reason = if !known {
            "must be 10, 20, 30, or at least 60"
        } else if self.to_ms - self.from_ms > 3_600_000 {
            "must be at least 60 for more than an hour"
        } else if !self.has_fine_steps() {
            "must be at least 60 for times more than two hours ago"
        } else {
            let bounds = self.even(step_s)?;
            return Ok(Steps { bounds, step_s, local: false, resolution: Resolution::Minute });
        };
        Err(Problem::invalid_field("step_s", reason))
    }

    /// Whether steps of ten seconds are retained of the whole time.
    pub(crate) fn has_fine_steps(&self) -> bool {
        // An hour that ended an hour ago is requested a moment later.
        self.now_ms - self.from_ms <= STEPS_RETAINED_MS + 60_000
    }

    /// The whole time, widened to the resolution that suits its length: minutes for up to `minutes_h` hours, hours for up to
    /// `hours_h` hours, and days beyond that, or where finer ones are not retained.
    pub(crate) fn whole(&self, minutes_h: i64, hours_h: i64) -> TallyRange {
        self.whole_after(0, minutes_h, hours_h)
    }

    /// The same with a resolution that is also retained of the time of the same length before it.
    pub(crate) fn whole_and_before(&self, minutes_h: i64, hours_h: i64) -> TallyRange {
        self.whole_after(1, minutes_h, hours_h)
    }

    /// The same for a reader of as many periods of this length before it.
    fn whole_after(&self, periods: i64, minutes_h: i64, hours_h: i64) -> TallyRange {
        let hours = (self.to_ms - self.from_ms) / 3_600_000;
        let wanted = if hours < minutes_h {
            [Resolution::Minute, Resolution::Hour, Resolution::Day].as_slice()
        } else if hours <= hours_h {
            [Resolution::Hour, Resolution::Day].as_slice()
        } else {
            [Resolution::Day].as_slice()
        };
        let range = |resolution: &Resolution| {
            let step_ms = match resolution {
                Resolution::Minute => 60_000,
                Resolution::Hour => 3_600_000,
                Resolution::Day => DAY_MS,
            };
            let (from, to) = self.widened(step_ms);
            TallyRange { from, to, resolution: *resolution }
        };
        let retained = |found: &TallyRange| {
            let from_ms = found.from.as_millis();
            let to_ms = found.to.as_millis();
            self.retains_since(found.resolution, from_ms - periods * (to_ms - from_ms))
        };
        wanted.iter().map(range).find(retained).unwrap_or_else(|| range(&Resolution::Day))
    }

    /// The start and the end.
    pub(crate) fn bounds(&self) -> (Timestamp, Timestamp) {
        (Timestamp::from_millis(self.from_ms), Timestamp::from_millis(self.to_ms))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms)
    }

    /// The time since when minutes are retained.
    pub(crate) fn minutes_since(&self) -> Timestamp {
        let today_ms = self.now_ms.div_euclid(DAY_MS) * DAY_MS;
        Timestamp::from_millis(today_ms - i64::from(self.retention.minutes_days) * DAY_MS)
    }

    /// The start and the end, moved outwards to multiples of a step.
    pub(crate) fn widened(&self, step_ms: i64) -> (Timestamp, Timestamp) {
        let from = self.from_ms.div_euclid(step_ms) * step_ms;
        let to = (self.to_ms + step_ms - 1).div_euclid(step_ms) * step_ms;
        (Timestamp::from_millis(from), Timestamp::from_millis(to))
    }

    fn suitable_step(&self) -> u32 {
        const LADDER_S: [u32; 8] = [60, 300, 900, 1_800, 3_600, 10_800, 21_600, DAY_S];
        let enough =
            |step: &u32| (self.to_ms - self.from_ms) / (i64::from(*step) * 1000) <= POINTS_CHOSEN;
        let retained = |step: &u32| match *step {
            DAY_S => true,
            HOUR_S.. => self.retains(Resolution::Hour),
            _ => self.retains(Resolution::Minute),
        };
        LADDER_S.into_iter().find(|step| enough(step) && retained(step)).unwrap_or(DAY_S)
    }

    /// Whether statistics from the start on are stored at this resolution.
    fn retains(&self, resolution: Resolution) -> bool {
        self.retains_since(resolution, self.from_ms)
    }

    fn retains_since(&self, resolution: Resolution, from_ms: i64) -> bool {
        let days = match resolution {
            Resolution::Minute => self.retention.minutes_days,
            Resolution::Hour => self.retention.hours_days,
            Resolution::Day => self.retention.days_days,
        };
        let today_ms = self.now_ms.div_euclid(DAY_MS) * DAY_MS;
        from_ms >= today_ms - i64::from(days) * DAY_MS || resolution == Resolution::Day
    }

    fn even(&self, step_s: u32) -> Result<Vec<Timestamp>, Problem> {
        let step_ms = i64::from(step_s) * 1000;
        // Steps of several days begin with the first requested day, not before it.
        let grid_ms = step_ms.min(DAY_MS);
        let start = self.from_ms.div_euclid(grid_ms) * grid_ms;
        let points = (self.to_ms - start + step_ms - 1) / step_ms;
        if points > i64::try_from(POINTS_MAX).unwrap_or(i64::MAX) {
            return Err(too_many(points));
        }
        Ok((0..=points).map(|at| Timestamp::from_millis(start + at * step_ms)).collect())
    }

    /// The midnights of a time zone at intervals of `days` days.
    fn local_days(&self, days: u32, time_zone: &str) -> Result<Vec<Timestamp>, Problem> {
        let quota = zone_quota(time_zone)?;
        let around = |ms: i64| {
            let ms = u64::try_from(ms).unwrap_or(0);
            let bounds = calendar::bounds(&quota, Micros::from_ms(ms)).bounds_us;
            let ms = |us: u64| i64::try_from(us / 1000).unwrap_or(i64::MAX);
            (ms(bounds[1]), ms(bounds[2]))
        };
        let points = (self.to_ms - self.from_ms) / (DAY_MS * i64::from(days));
        if points >= i64::try_from(POINTS_MAX).unwrap_or(i64::MAX) {
            return Err(too_many(points + 1));
        }
        let mut bounds = vec![around(self.from_ms).0];
        let mut last = bounds[0];
        while last < self.to_ms {
            for _ in 0..days {
                last = around(last).1;
            }
            bounds.push(last);
        }
        Ok(bounds.into_iter().map(Timestamp::from_millis).collect())
    }
}

fn checked_step(step_s: u32) -> Result<u32, Problem> {
    let unit = if step_s <= HOUR_S {
        MINUTE_S
    } else if step_s <= DAY_S {
        HOUR_S
    } else {
        DAY_S
    };
    if step_s == 0 || !step_s.is_multiple_of(unit) || step_s > 366 * DAY_S {
        let reason = "must be whole minutes up to an hour, whole hours up to a day, or whole days up to 366 (31622400)";
        return Err(Problem::invalid_field("step_s", reason));
    }
    Ok(step_s)
}

/// A quota of one day in a time zone, whose periods are the days of the zone.
fn zone_quota(time_zone: &str) -> Result<Quota, Problem> {
    let calendar = Calendar {
        period: Period::Day,
        time_zone: time_zone.to_owned(),
        anchor_day: 1,
        ends_at: None,
    };
    Quota::of_calendar(1, calendar)
        .map_err(|wrong| Problem::invalid_field("time_zone", wrong.reason))
}

fn too_many(points: i64) -> Problem {
    let reason = format!("would give {points} points, and at most {POINTS_MAX} are answered");
    Problem::invalid_field("step_s", reason)
}

#[cfg(test)]
mod tests;
