//! RFC 3339 texts of milliseconds since the Unix epoch, from the year 0000 to the end of 9999.
//!
//! The dashboard contains this code, which is a tenth of that of a calendar library.

/// The text in UTC; a time outside the range counts as its end.
pub fn text(ms: i64) -> String {
    let ms = ms.clamp(MIN_MS, MAX_MS);
    let (year, month, day) = date(ms.div_euclid(DAY_MS));
    let in_day = ms.rem_euclid(DAY_MS);
    let hour = in_day / HOUR_MS;
    let minute = in_day / MINUTE_MS % 60;
    let second = in_day / 1000 % 60;
    let fraction = in_day % 1000;
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if fraction > 0 {
        text.push_str(format!(".{fraction:03}").trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// The time of a text with any offset, rounded down to the millisecond. Seconds and the minutes of the offset can be
/// absent, and a leap second counts as the second before it.
pub fn millis(text: &str) -> Option<i64> {
    let rest = &mut text.as_bytes();
    let year = digits(rest, 4)?;
    skip(rest, b"-")?;
    let month = digits(rest, 2)?;
    skip(rest, b"-")?;
    let day = digits(rest, 2)?;
    let days = days(year, month, day);
    if date(days) != (year, month, day) {
        return None;
    }
    skip(rest, b"Tt ")?;
    let ms = days * DAY_MS + time_of_day_ms(rest)? - offset_ms(rest)?;
    (rest.is_empty() && (MIN_MS..=MAX_MS).contains(&ms)).then_some(ms)
}

fn time_of_day_ms(rest: &mut &[u8]) -> Option<i64> {
    let hour = digits(rest, 2).filter(|hour| *hour < 24)?;
    skip(rest, b":")?;
    let minute = digits(rest, 2).filter(|minute| *minute < 60)?;
    let minutes_ms = hour * HOUR_MS + minute * MINUTE_MS;
    if skip(rest, b":").is_none() {
        return Some(minutes_ms);
    }
    let second = digits(rest, 2).filter(|second| *second <= 60)?.min(59);
    let ms = minutes_ms + second * 1000;
    Some(if skip(rest, b".,").is_some() { ms + fraction_ms(rest)? } else { ms })
}

/// One to nine digits after the point.
fn fraction_ms(rest: &mut &[u8]) -> Option<i64> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count > 9 {
        return None;
    }
    let all = digits(rest, count).filter(|_| count > 0)?;
    Some(all * 1000 / 10_i64.pow(u32::try_from(count).ok()?))
}

fn offset_ms(rest: &mut &[u8]) -> Option<i64> {
    let sign = match skip(rest, b"Zz+-")? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let hour = digits(rest, 2).filter(|hour| *hour < 24)?;
    let has_minute = skip(rest, b":").is_some() || !rest.is_empty();
    let minute = if has_minute { digits(rest, 2).filter(|minute| *minute < 60)? } else { 0 };
    Some(sign * (hour * HOUR_MS + minute * MINUTE_MS))
}

/// The number that the next `count` bytes write, at most 18.
fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(count)?;
    *rest = after;
    let all = number.iter().all(u8::is_ascii_digit);
    all.then(|| number.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// The next byte, if it is one of these.
fn skip(rest: &mut &[u8], any: &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    any.contains(first).then(|| {
        *rest = after;
        *first
    })
}

/// The year, month and day of the date that is `days` after 1970-01-01. The calendar repeats every 400 years; the years of
/// this arithmetic begin in March, so that a leap day is the last day of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_EPOCH;
    let era = days.div_euclid(DAYS_OF_ERA);
    let day = days.rem_euclid(DAYS_OF_ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    let month = (day * 5 + 2) / 153;
    let day = day - (month * 153 + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The number of days from 1970-01-01 to a date; the reverse of [`date`] for dates that exist.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year = year.rem_euclid(400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (month * 153 + 2) / 5 + day - 1;
    era * DAYS_OF_ERA + year * 365 + year / 4 - year / 100 + day - DAYS_BEFORE_EPOCH
}

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 86_400_000;
/// The days of 400 years.
const DAYS_OF_ERA: i64 = 146_097;
/// The days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_EPOCH: i64 = 719_468;
/// 0000-01-01T00:00:00Z.
const MIN_MS: i64 = -62_167_219_200_000;
/// 9999-12-30T22:00:00Z.
const MAX_MS: i64 = 253_402_207_200_000;

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn texts_equal_those_of_a_calendar_library_and_come_back() {
        let step = usize::try_from((MAX_MS - MIN_MS) / 40_000 + 7).expect("positive");
        for ms in (MIN_MS..=MAX_MS).step_by(step).chain([MIN_MS, -1, 0, 1, 100, 120, MAX_MS]) {
            let expected = Timestamp::from_millisecond(ms).expect("in range").to_string();
            assert_eq!(text(ms), expected);
            assert_eq!(millis(&expected), Some(ms), "{expected}");
        }
        assert_eq!(text(i64::MAX), text(MAX_MS));
        assert_eq!(text(i64::MIN), text(MIN_MS));
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in 0..DAYS_OF_ERA {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn forms_are_read_as_by_a_calendar_library() {
        for form in [
            "2026-11-21T03:00:00Z",
            "2026-11-21t03:00:00z",
            "2026-11-21 03:00:00.5Z",
            "2026-11-21T03:00:00,123456789Z",
            "2026-11-21T03:00Z",
            "2026-11-21T03:00:00+01:00",
            "2026-11-21T03:00:00-12:30",
            "2026-11-21T03:00:00+01",
            "2026-11-21T03:00:00+0530",
            "2026-12-31T23:59:60Z",
            "2024-02-29T00:00:00Z",
            "9999-12-30T22:00:00Z",
        ] {
            let expected: Timestamp = form.parse().expect(form);
            assert_eq!(millis(form), Some(expected.as_millisecond()), "{form}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for form in [
            "",
            "yesterday",
            "2026-11-21",
            "2026-11-21T03:00:00",
            "2026-11-21T03:00:00.Z",
            "2026-11-21T03:00:00.1234567891Z",
            "2026-11-21T03:00:61Z",
            "2026-11-21T03:60:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T03:00:00+24:00",
            "2026-11-21T03:00:00+01:",
            "2026-11-21T03:00:00Z ",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-11-00T00:00:00Z",
            "2026-11-31T00:00:00Z",
            "26-11-21T03:00:00Z",
            "+026-11-21T03:00:00Z",
            "9999-12-31T23:59:59Z",
            "２０２６-11-21T03:00:00Z",
        ] {
            assert_eq!(millis(form), None, "{form}");
        }
    }
}
