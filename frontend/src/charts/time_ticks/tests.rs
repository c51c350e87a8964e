use super::*;

/// 2026-11-21, 22:47 UTC, a Saturday.
const NOW_MS: i64 = 1_795_301_220_000;

const UTC: fn(i64) -> i64 = |_| 0;

fn labels(from_ms: i64, to_ms: i64, zone_ms: impl Fn(i64) -> i64) -> Vec<String> {
    time_ticks(from_ms, to_ms, 7, zone_ms).into_iter().map(|tick| tick.label).collect()
}

#[test]
fn ticks_are_at_round_times() {
    let last = |length_ms| labels(NOW_MS - length_ms, NOW_MS, UTC);
    assert_eq!(last(HOUR_MS), ["21:50", "22:00", "22:10", "22:20", "22:30", "22:40"]);
    assert_eq!(
        last(60_000),
        ["22:46:00", "22:46:10", "22:46:20", "22:46:30", "22:46:40", "22:46:50"]
    );
    assert_eq!(
        last(DAY_MS),
        ["00:00", "06:00", "12:00", "18:00"].map(|at| if at == "00:00" { "Sat 21" } else { at })
    );
    assert_eq!(
        last(7 * DAY_MS),
        ["Sun 15", "Mon 16", "Tue 17", "Wed 18", "Thu 19", "Fri 20", "Sat 21"]
    );
    assert_eq!(last(30 * DAY_MS), ["26 Oct", "2 Nov", "9 Nov", "16 Nov"], "Mondays");
}

#[test]
fn midnights_start_a_day() {
    let ticks = time_ticks(NOW_MS - DAY_MS, NOW_MS, 7, UTC);
    let days: Vec<_> = ticks.iter().map(|tick| tick.is_day).collect();
    assert_eq!(days, [true, false, false, false]);
}

#[test]
fn ticks_follow_the_zone_of_the_viewer() {
    let india = |_| 330 * MINUTE_MS;
    assert_eq!(labels(NOW_MS - DAY_MS, NOW_MS, india), ["06:00", "12:00", "18:00", "Sun 22"]);
    let ticks = time_ticks(NOW_MS - DAY_MS, NOW_MS, 7, india);
    assert_eq!(ticks[3].at_ms % DAY_MS, 18 * HOUR_MS + 30 * MINUTE_MS);
}

#[test]
fn changed_clocks_move_no_midnight() {
    // In Berlin clocks go from 02:00 to 03:00 on 2026-03-29, 01:00 UTC, and from 03:00 to 02:00 on 2026-10-25, 01:00 UTC.
    let spring = 1_774_746_000_000;
    let autumn = 1_792_890_000_000;
    let berlin = move |at_ms| if (spring..autumn).contains(&at_ms) { 2 * HOUR_MS } else { HOUR_MS };
    let three_days = |change| labels(change - 36 * HOUR_MS, change + 36 * HOUR_MS, berlin);
    assert_eq!(three_days(spring), ["Sat 28", "12:00", "Sun 29", "12:00", "Mon 30", "12:00"]);
    assert_eq!(three_days(autumn), ["Sat 24", "12:00", "Sun 25", "12:00", "Mon 26", "12:00"]);
    let hours = |change| labels(change - 3 * HOUR_MS, change + 3 * HOUR_MS, berlin);
    assert_eq!(
        hours(spring),
        ["23:00", "Sun 29", "01:00", "03:00", "04:00", "05:00"],
        "02:00 is skipped"
    );
    assert_eq!(
        hours(autumn),
        ["Sun 25", "01:00", "02:00", "03:00", "04:00"],
        "02:00 is shown once"
    );
}

#[test]
fn days_have_names() {
    assert_eq!(day(NOW_MS, UTC), "Sat 21 Nov");
    assert_eq!(day(0, UTC), "Thu 1 Jan");
    assert_eq!(day(951_782_400_000, UTC), "Tue 29 Feb", "in 2000");
    assert_eq!(day(-1, UTC), "Wed 31 Dec");
    assert_eq!(time_of_day(NOW_MS, 60_000, UTC), "22:47");
    assert_eq!(time_of_day(NOW_MS + 5_000, 5_000, UTC), "22:47:05");
}

#[test]
fn whole_times_have_the_year_of_the_zone() {
    let utc = |at_ms| date_time(at_ms, |_| 0);
    assert_eq!(utc(0), "Thu 1 Jan 1970, 00:00:00");
    assert_eq!(utc(951_782_400_000), "Tue 29 Feb 2000, 00:00:00");
    assert_eq!(utc(1_798_761_599_999), "Thu 31 Dec 2026, 23:59:59");
    assert_eq!(date_time(1_798_761_599_999, |_| 3_600_000), "Fri 1 Jan 2027, 00:59:59");
}
