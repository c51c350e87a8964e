//! Ticks of a time axis at round times of the viewer's calendar: full minutes, hours, midnights, Mondays, months.

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The distances between ticks below a day. Longer ones are in days.
const STEPS_MS: [i64; 17] = [
    SECOND_MS,
    2 * SECOND_MS,
    5 * SECOND_MS,
    10 * SECOND_MS,
    15 * SECOND_MS,
    30 * SECOND_MS,
    MINUTE_MS,
    2 * MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
];
const STEPS_DAYS: [i64; 6] = [1, 2, 7, 14, 28, 91];

/// Every zone is a multiple of this time away from UTC.
const ZONE_GRID_MS: i64 = 15 * MINUTE_MS;

/// A labelled time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeTick {
    pub at_ms: i64,
    pub label: String,
    /// Whether a day of the viewer's calendar starts here.
    pub is_day: bool,
}

/// At most `most` ticks between two times. `zone_ms` returns the distance of the viewer's zone from UTC at a time.
pub fn time_ticks(
    from_ms: i64,
    to_ms: i64,
    most: i64,
    zone_ms: impl Fn(i64) -> i64,
) -> Vec<TimeTick> {
    let enough = |step_ms: &i64| (to_ms - from_ms) / step_ms <= most;
    let days = STEPS_DAYS.map(|days| days * DAY_MS);
    let step_ms = STEPS_MS.into_iter().chain(days).find(enough).unwrap_or(days[5]);
    let grid_ms = step_ms.min(ZONE_GRID_MS);
    // Weeks start on Monday; 1970 started on a Thursday.
    let shift_ms = if step_ms % (7 * DAY_MS) == 0 { 3 * DAY_MS } else { 0 };
    let local_step = |at_ms: i64| (at_ms + zone_ms(at_ms) + shift_ms).div_euclid(step_ms);
    let first = from_ms.div_euclid(grid_ms) * grid_ms;
    let mut last_step = local_step(first - grid_ms);
    let mut ticks = Vec::new();
    for at_ms in (first..to_ms).step_by(usize::try_from(grid_ms).unwrap_or(1)) {
        let step = local_step(at_ms);
        // An hour that clocks skip moves the tick; one that they repeat adds none.
        if step > last_step {
            last_step = step;
            if at_ms >= from_ms {
                ticks.push(tick(at_ms, step_ms, &zone_ms));
            }
        }
    }
    ticks
}

/// The time of day, with seconds if the steps of the chart are shorter than a minute.
pub fn time_of_day(at_ms: i64, step_ms: i64, zone_ms: impl Fn(i64) -> i64) -> String {
    let second = (at_ms + zone_ms(at_ms)).rem_euclid(DAY_MS) / SECOND_MS;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    if step_ms % MINUTE_MS == 0 {
        format!("{hour:02}:{minute:02}")
    } else {
        format!("{hour:02}:{minute:02}:{:02}", second % 60)
    }
}

/// `Mon 16 Nov`.
pub fn day(at_ms: i64, zone_ms: impl Fn(i64) -> i64) -> String {
    let date = Date::of(at_ms + zone_ms(at_ms));
    format!("{} {} {}", WEEKDAYS[date.weekday], date.day, MONTHS[date.month])
}

/// `Mon 16 Nov 2026, 22:47:10`.
pub fn date_time(at_ms: i64, zone_ms: impl Fn(i64) -> i64) -> String {
    let year = Date::of(at_ms + zone_ms(at_ms)).year;
    let time = time_of_day(at_ms, SECOND_MS, &zone_ms);
    format!("{} {year}, {time}", day(at_ms, zone_ms))
}

fn tick(at_ms: i64, step_ms: i64, zone_ms: &impl Fn(i64) -> i64) -> TimeTick {
    let local_ms = at_ms + zone_ms(at_ms);
    let is_day = step_ms >= DAY_MS || local_ms.rem_euclid(DAY_MS) < step_ms.min(HOUR_MS);
    let date = Date::of(local_ms);
    let label = if !is_day {
        time_of_day(at_ms, step_ms, zone_ms)
    } else if step_ms < 7 * DAY_MS {
        format!("{} {}", WEEKDAYS[date.weekday], date.day)
    } else {
        format!("{} {}", date.day, MONTHS[date.month])
    };
    TimeTick { at_ms, label, is_day }
}

/// A date of the Gregorian calendar.
struct Date {
    year: i64,
    day: i64,
    /// From 0.
    month: usize,
    /// From Monday, 0.
    weekday: usize,
}

impl Date {
    /// The date of a local time. The months are counted from March, so that the leap day is the last of a year.
    fn of(local_ms: i64) -> Self {
        let days = local_ms.div_euclid(DAY_MS);
        let since = days + 719_468; // days since 0000-03-01
        let of_era = since.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let small = |number: i64| usize::try_from(number).unwrap_or(0);
        Self {
            year: since.div_euclid(146_097) * 400 + year_of_era + i64::from(month >= 10),
            day: of_year - (153 * month + 2) / 5 + 1,
            month: small((month + 2) % 12),
            weekday: small((days + 3).rem_euclid(7)),
        }
    }
}

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests;
