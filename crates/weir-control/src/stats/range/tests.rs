use weir_wire::time::DateTime;

use super::*;

/// A Saturday, 12:34:56 UTC.
const NOW: &str = "2026-11-21T12:34:56Z";

fn at(text: &str) -> Timestamp {
    let at: DateTime = serde_json::from_value(text.into()).expect("a time");
    at.0
}

fn asked(from: &str, to: &str) -> Result<RequestedRange, Problem> {
    let time = TimeQuery { from: Some(DateTime(at(from))), to: Some(DateTime(at(to))) };
    RequestedRange::new(time, at(NOW), Retention::default())
}

fn steps(from: &str, to: &str, step_s: u32) -> Result<Steps, Problem> {
    asked(from, to)?.steps(Some(step_s), None)
}

fn field(result: Result<Steps, Problem>) -> String {
    result.expect_err("refused").body("").fields[0].field.clone()
}

#[test]
fn steps_are_aligned_and_cover_what_was_asked() {
    let five = steps("2026-11-21T10:03:00Z", "2026-11-21T10:21:00Z", 300).expect("fine");
    assert_eq!(five.bounds.first(), Some(&at("2026-11-21T10:00:00Z")));
    assert_eq!(five.bounds.last(), Some(&at("2026-11-21T10:25:00Z")));
    assert_eq!((five.bounds.len(), five.resolution), (6, Resolution::Minute));
    let hours = steps("2026-11-19T10:03:00Z", NOW, 3_600).expect("fine");
    assert_eq!((hours.resolution, hours.bounds.len()), (Resolution::Hour, 52));
    let days = steps("2026-01-19T10:03:00Z", NOW, 7 * 86_400).expect("fine");
    assert_eq!(days.bounds[0], at("2026-01-19T00:00:00Z"), "weeks begin with the day asked for");
    assert_eq!(days.resolution, Resolution::Day);
}

#[test]
fn nothing_is_after_now_and_the_default_is_an_hour() {
    let time = TimeQuery { from: None, to: Some(DateTime(at("2030-01-01T00:00:00Z"))) };
    let asked = RequestedRange::new(time, at(NOW), Retention::default()).expect("fine");
    let minutes = asked.steps(None, None).expect("fine");
    assert_eq!(minutes.step_s, 60);
    assert_eq!(minutes.bounds[0], at("2026-11-21T11:34:00Z"));
    assert_eq!(minutes.bounds.last(), Some(&at("2026-11-21T12:35:00Z")));
}

#[test]
fn a_time_that_is_not_retained_and_too_many_points_are_refused_by_field() {
    assert_eq!(field(steps("2026-11-01T00:00:00Z", NOW, 60)), "step_s", "too old for minutes");
    assert_eq!(field(steps("2026-11-19T00:00:00Z", NOW, 60)), "step_s", "too many points");
    assert_eq!(field(steps("2026-01-01T00:00:00Z", NOW, 21_600)), "step_s", "too old for hours");
    for step_s in [0, 30, 90, 5_400, 90_000, 367 * 86_400] {
        assert_eq!(field(steps("2026-11-21T00:00:00Z", NOW, step_s)), "step_s", "{step_s}");
    }
    assert!(asked(NOW, "2026-11-21T00:00:00Z").is_err());
    assert!(asked("1999-01-01T00:00:00Z", NOW).is_err());
}

#[test]
fn days_of_a_time_zone_begin_at_its_midnight_and_may_be_longer() {
    let asked = asked("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z").expect("fine");
    let days = asked.steps(Some(86_400), Some("Europe/Berlin")).expect("fine");
    assert!(days.local);
    let expected = [
        "2026-10-23T22:00:00Z",
        "2026-10-24T22:00:00Z",
        "2026-10-25T23:00:00Z",
        "2026-10-26T23:00:00Z",
    ];
    assert_eq!(days.bounds, expected.map(at));
    assert_eq!(days.resolution, Resolution::Hour);
    assert!(!asked.steps(Some(86_400), Some("UTC")).expect("fine").local);
    assert_eq!(field(asked.steps(Some(86_400), Some("Mars/Base"))), "time_zone");
    // A zone with an offset of half an hour is counted by the nearest hour where minutes are no longer retained.
    let off = asked.steps(Some(86_400), Some("Asia/Kolkata")).expect("fine");
    assert_eq!(off.resolution, Resolution::Hour);
}

#[test]
fn resolution_is_also_retained_of_the_time_before_where_that_is_read() {
    let range = |from: &str, to: &str| asked(from, to).expect("fine");
    let recent = range("2026-11-20T00:00:00Z", "2026-11-20T06:00:00Z");
    assert_eq!(recent.whole(12, 1_080).resolution, Resolution::Minute);
    assert_eq!(recent.whole_and_before(12, 1_080).resolution, Resolution::Minute);
    // Minutes are retained for 7 days, and hours for 90.
    let edge = range("2026-11-14T00:00:00Z", "2026-11-14T06:00:00Z");
    assert_eq!(edge.whole(12, 1_080).resolution, Resolution::Minute);
    assert_eq!(edge.whole_and_before(12, 1_080).resolution, Resolution::Hour);
    let long = range("2026-09-02T00:00:00Z", "2026-10-12T00:00:00Z");
    assert_eq!(long.whole(12, 1_080).resolution, Resolution::Hour);
    assert_eq!(long.whole_and_before(12, 1_080).resolution, Resolution::Day);
}

#[test]
fn suitable_step_gives_a_few_hundred_points_and_uses_retained_resolutions() {
    let step = |from: &str| {
        asked(from, NOW).and_then(|range| range.steps(None, None)).expect("always something").step_s
    };
    assert_eq!(step("2026-11-21T00:00:00Z"), 300);
    assert_eq!(step("2026-11-20T00:00:00Z"), 900);
    assert_eq!(step("2026-11-13T00:00:00Z"), 3_600);
    assert_eq!(step("2026-10-22T00:00:00Z"), 10_800);
    assert_eq!(step("2026-01-01T00:00:00Z"), 86_400);
}

#[test]
fn fine_steps_are_for_an_hour_of_the_last_two() {
    let fine = |from: &str, to: &str, step_s: u32| {
        asked(from, to).and_then(|asked| asked.fine_steps(step_s))
    };
    let steps = fine("2026-11-21T11:34:56Z", NOW, 10).expect("fine");
    assert_eq!((steps.bounds.len(), steps.step_s), (362, 10));
    assert_eq!(steps.bounds[0], at("2026-11-21T11:34:50Z"));
    fine("2026-11-21T10:34:56Z", "2026-11-21T11:34:56Z", 30).expect("two hours ago");
    for step_s in [0, 1, 5, 15, 40, 50] {
        assert_eq!(field(fine("2026-11-21T12:30:00Z", NOW, step_s)), "step_s", "{step_s}");
    }
    assert_eq!(field(fine("2026-11-21T11:34:55Z", NOW, 10)), "step_s");
    assert_eq!(field(fine("2026-11-21T10:00:00Z", "2026-11-21T10:30:00Z", 10)), "step_s");
}
