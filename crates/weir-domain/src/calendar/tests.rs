use super::*;

fn starts(period: Period, zone: &str, anchor_day: u16, now: &str) -> Vec<String> {
    let calendar = Calendar { period, time_zone: zone.into(), anchor_day, ends_at: None };
    let quota = Quota::of_calendar(1, calendar).expect("valid");
    let now: Timestamp = now.parse().expect("a time");
    let now = Micros(u64::try_from(now.as_microsecond()).expect("after the epoch"));
    let bounds = bounds(&quota, now);
    assert!(bounds.hold(now));
    let [_, present, next, _] = bounds.bounds_us;
    assert!(present <= now.0 && now.0 < next, "now is in the present period");
    let text = |us: &u64| {
        let us = i64::try_from(*us).expect("a time");
        Timestamp::from_microsecond(us).expect("a time").to_string()
    };
    bounds.bounds_us.iter().map(text).collect()
}

#[test]
fn days_begin_at_local_midnight_and_differ_in_length_with_daylight_saving() {
    assert_eq!(
        starts(Period::Day, "Europe/Berlin", 1, "2026-03-29T12:00:00Z"),
        [
            "2026-03-27T23:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
            "2026-03-30T22:00:00Z"
        ],
        "the 29th has 23 hours"
    );
    assert_eq!(
        starts(Period::Day, "Europe/Berlin", 1, "2026-10-25T12:00:00Z")[1..3],
        ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
        "the 25th has 25 hours"
    );
}

#[test]
fn months_anchored_on_the_31st_begin_on_the_last_day_of_shorter_months() {
    assert_eq!(
        starts(Period::Month, "UTC", 31, "2027-03-01T00:00:00Z"),
        [
            "2027-01-31T00:00:00Z",
            "2027-02-28T00:00:00Z",
            "2027-03-31T00:00:00Z",
            "2027-04-30T00:00:00Z"
        ]
    );
    assert_eq!(starts(Period::Month, "UTC", 31, "2028-02-29T00:00:00Z")[1], "2028-02-29T00:00:00Z");
    assert_eq!(
        starts(Period::Month, "UTC", 15, "2026-11-14T23:59:59Z")[1..3],
        ["2026-10-15T00:00:00Z", "2026-11-15T00:00:00Z"]
    );
}

#[test]
fn weeks_and_years_begin_on_their_anchor() {
    assert_eq!(
        starts(Period::Week, "UTC", 1, "2026-11-21T10:00:00Z")[1..3],
        ["2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"]
    );
    assert_eq!(
        starts(Period::Week, "UTC", 7, "2026-11-21T10:00:00Z")[1..3],
        ["2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"]
    );
    assert_eq!(
        starts(Period::Year, "UTC", 366, "2027-06-01T00:00:00Z"),
        [
            "2025-12-31T00:00:00Z",
            "2026-12-31T00:00:00Z",
            "2027-12-31T00:00:00Z",
            "2028-12-31T00:00:00Z"
        ]
    );
}

#[test]
fn a_skipped_midnight_begins_with_the_first_instant_of_the_day() {
    // Beirut skips from 00:00 to 01:00 on 2026-03-29.
    let starts = starts(Period::Day, "Asia/Beirut", 1, "2026-03-29T12:00:00Z");
    assert_eq!(starts[1], "2026-03-28T22:00:00Z");
}

#[test]
fn unknown_zones_and_anchors_are_refused() {
    let quota = |period, zone: &str, anchor_day| {
        Quota::of_calendar(
            1,
            Calendar { period, time_zone: zone.into(), anchor_day, ends_at: None },
        )
    };
    assert_eq!(quota(Period::Day, "Mars/Olympus", 1).expect_err("no zone").field, "time_zone");
    assert_eq!(quota(Period::Week, "UTC", 8).expect_err("no day").field, "anchor_day");
    assert_eq!(quota(Period::Month, "UTC", 0).expect_err("no day").field, "anchor_day");
}

#[test]
fn quota_without_periods_holds_for_ever_or_until_its_end() {
    let quota =
        |ends_at| Quota::new(5, Period::None, "UTC".into(), 1, ends_at).expect("a valid quota");
    let (early, late) = (Micros::from_ms(1), Micros::from_ms(4_000_000_000_000));
    for now in [early, late] {
        let bounds = bounds(&quota(None), now);
        assert!(bounds.hold(now) && bounds.never_renews());
        assert_eq!((bounds.limit, bounds.length_ms(now)), (5, 0));
        assert_eq!(bounds.bounds_us[0], 0, "all units are of one period");
    }
    let ends = crate::time::Timestamp::from_millis(1_000);
    for (now_us, limit) in [(999_999, 5), (1_000_000, 0)] {
        let bounds = bounds(&quota(Some(ends)), Micros(now_us));
        assert_eq!(bounds.limit, limit, "at {now_us}");
        for other_us in [999_999, 1_000_000] {
            assert_eq!(bounds.hold(Micros(other_us)), other_us == now_us, "{now_us} {other_us}");
        }
    }
}

#[test]
fn first_day_of_a_period_is_that_of_its_time_zone() {
    let day = |zone: &str, at: &str| {
        let at: Timestamp = at.parse().expect("a time");
        let at = Micros(u64::try_from(at.as_microsecond()).expect("after the epoch"));
        let quota = Quota::new(1, Period::Month, zone.into(), 1, None).expect("valid");
        local_day(&quota, Micros(bounds(&quota, at).bounds_us[1]))
    };
    let first_of_november = 20_758;
    assert_eq!(day("UTC", "2026-11-30T23:59:59Z"), first_of_november);
    assert_eq!(day("Asia/Tokyo", "2026-10-31T15:00:00Z"), first_of_november);
    assert_eq!(day("America/New_York", "2026-12-01T04:59:59Z"), first_of_november);
}
