//! Calendar periods of a time zone: where the periods around an instant begin.
//!
//! Days begin at local midnight, or at the first instant of the day where daylight saving skips
//! midnight. Behind the feature `calendar`, since it carries the time zone database.

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::algorithm::{Algorithm, Calendar, Period, PeriodBounds, Quota, time_zone};
use crate::time::Micros;

/// The bounds of the periods around `now`.
pub fn bounds(quota: &Quota, now: Micros) -> PeriodBounds {
    if let Some(unrenewed) = quota.unrenewed(now) {
        return unrenewed;
    }
    let calendar = quota.calendar();
    // Zones were checked when the rule was parsed. A zone that a newer rulebook has and this
    // binary lacks is counted in UTC, so that the limit still counts.
    let zone = time_zone(&calendar.time_zone).unwrap_or(TimeZone::UTC);
    let micros = i64::try_from(now.0).unwrap_or(i64::MAX);
    let instant = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
    let today = zone.to_datetime(instant).date();
    let present = start_on_or_before(calendar, today);
    let previous = start_on_or_before(calendar, day_before(present));
    let next = start_after(calendar, present);
    let end = start_after(calendar, next);
    let starts = [previous, present, next, end];
    PeriodBounds { limit: quota.limit(), bounds_us: starts.map(|date| midnight_us(&zone, date)) }
}

/// The day in the quota's time zone that contains this time, in days since 1970-01-01.
pub fn local_day(quota: &Quota, at: Micros) -> i32 {
    let zone = time_zone(&quota.calendar().time_zone).unwrap_or(TimeZone::UTC);
    let micros = i64::try_from(at.0).unwrap_or(i64::MAX);
    let instant = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
    let epoch = date(1970, 1, 1);
    let hours = zone.to_datetime(instant).date().duration_since(epoch).as_hours();
    i32::try_from(hours.div_euclid(24)).unwrap_or(i32::MAX)
}

/// The `window_ms` of answers: the window, the interval, the time to refill or drain, or the length of the quota's period
/// around `now`; 0 if it never renews.
pub fn window_ms(algorithm: &Algorithm, now: Micros) -> u64 {
    match algorithm {
        Algorithm::Quota(quota) => bounds(quota, now).length_ms(now),
        other => other.window_ms().expect("only a quota's window varies"),
    }
}

/// The time at which the window that holds `at` began, in microseconds; of windows aligned to the epoch or to a calendar.
pub fn window_start_us(algorithm: &Algorithm, at: Micros) -> u64 {
    match algorithm {
        Algorithm::Quota(quota) if quota.calendar().period == Period::None => 0,
        Algorithm::Quota(quota) => bounds(quota, at).bounds_us[1],
        other => at.0 - at.0 % (other.window_ms().unwrap_or(1) * 1000),
    }
}

/// The last start of a period that is not after `date`.
fn start_on_or_before(calendar: &Calendar, date: Date) -> Date {
    let this = start_near(calendar, date);
    if this <= date { this } else { start_near(calendar, one_period(calendar, date, -1)) }
}

/// The start of the period after the one that starts on `start`.
fn start_after(calendar: &Calendar, start: Date) -> Date {
    start_near(calendar, one_period(calendar, start, 1))
}

/// The start that falls into the same day, week, month or year as `date`.
fn start_near(calendar: &Calendar, date: Date) -> Date {
    let anchor = i64::from(calendar.anchor_day);
    match calendar.period {
        Period::Day | Period::None => date,
        Period::Week => {
            let weekday = i64::from(date.weekday().to_monday_one_offset());
            plus_days(date, anchor - weekday)
        }
        Period::Month => {
            let last = i64::from(date.days_in_month());
            plus_days(date.first_of_month(), anchor.min(last) - 1)
        }
        Period::Year => {
            let last = i64::from(date.days_in_year());
            plus_days(date.first_of_year(), anchor.min(last) - 1)
        }
    }
}

/// A date one period later or earlier, within the month or year next to it.
fn one_period(calendar: &Calendar, date: Date, sign: i32) -> Date {
    match calendar.period {
        Period::Day | Period::None => plus_days(date, sign.into()),
        Period::Week => plus_days(date, i64::from(7 * sign)),
        Period::Month => date.first_of_month().saturating_add(sign.months()),
        Period::Year => date.first_of_year().saturating_add(sign.years()),
    }
}

fn day_before(date: Date) -> Date {
    plus_days(date, -1)
}

fn plus_days(date: Date, days: i64) -> Date {
    date.saturating_add(days.days())
}

fn midnight_us(zone: &TimeZone, date: Date) -> u64 {
    let instant = zone.to_timestamp(date.at(0, 0, 0, 0)).unwrap_or(Timestamp::MAX);
    u64::try_from(instant.as_microsecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
