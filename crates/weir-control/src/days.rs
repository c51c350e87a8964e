//! Days as parameters, in days since 1970-01-01.

use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_wire::time::DateTime;

const DAY_MS: i64 = 86_400_000;

/// The day of a time, in UTC.
pub(crate) fn of(at: Timestamp) -> i32 {
    i32::try_from(at.as_millis().div_euclid(DAY_MS)).unwrap_or(0)
}

/// Parses a day.
pub(crate) fn parse(field: &str, text: Option<&str>) -> Result<Option<i32>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let day = read(text);
    day.map(Some).ok_or_else(|| Problem::invalid_field(field, "must be a day such as `2026-11-22`"))
}

/// The text of a day.
pub(crate) fn text(day: i32) -> String {
    let mut text = DateTime(Timestamp::from_millis(i64::from(day) * DAY_MS)).text();
    text.truncate(10);
    text
}

/// The first day of the month that contains this day.
pub(crate) fn first_of_month(day: i32) -> i32 {
    let mut first = text(day);
    first.replace_range(8.., "01");
    read(&first).unwrap_or(day)
}

fn read(text: &str) -> Option<i32> {
    let at: Option<DateTime> = (text.len() == 10)
        .then(|| serde_json::from_value(format!("{text}T00:00:00Z").into()).ok())
        .flatten();
    at.map(|at| of(at.0))
}
