//! Statements that travel in one message, and so cost one round trip.
//!
//! The driver sends a statement with arguments alone, and one that its connection has not prepared in two round trips. A message
//! is text of any number of statements, so their arguments are literals. [`statement!`] checks a statement and its arguments
//! like the driver's macros, and [`Literal`] writes each value in a form that cannot be read as anything else.

use std::fmt::Write as _;

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use time::{Date, Month, OffsetDateTime};
use uuid::Uuid;

use crate::error::StoreError;

/// A statement with its arguments as literals.
macro_rules! statement {
    ($sql:literal $(+ $more:literal)* $(, $argument:expr)* $(,)?) => {{
        // Never called: the compiler checks the statement and the types of its arguments.
        let _ = || sqlx::query!($sql $(+ $more)* $(, $argument)*);
        $crate::message::rendered(
            concat!($sql $(, $more)*),
            &[$($crate::message::literal(&$argument)),*],
        )
    }};
}
pub(crate) use statement;

/// A value that can be written into a statement.
pub(crate) trait Literal {
    /// The type in Postgres.
    const TYPE: &'static str;

    /// Writes the value without its type.
    fn write(&self, text: &mut String);
}

/// The rows of each statement of a message, in the order of the statements.
#[derive(Debug)]
pub(crate) struct Answers(std::vec::IntoIter<Vec<PgRow>>);

/// A value with its type, as a part of a statement.
pub(crate) fn literal<T: Literal + ?Sized>(value: &T) -> String {
    let mut text = String::from("(");
    value.write(&mut text);
    text.push_str("::");
    text.push_str(T::TYPE);
    text.push(')');
    text
}

/// The statement with `$1`, `$2`, … replaced.
pub(crate) fn rendered(sql: &str, literals: &[String]) -> String {
    let mut parts = sql.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number = number.parse::<usize>().expect("a dollar sign begins a parameter");
        text.push_str(&literals[number - 1]);
        text.push_str(rest);
    }
    text
}

impl Answers {
    /// The answers to the last `statements` of a message.
    pub(crate) fn of_last(statements: usize, mut all: Vec<Vec<PgRow>>) -> Self {
        let before = all.len().saturating_sub(statements);
        Self(all.split_off(before).into_iter())
    }

    /// The rows of the next statement.
    pub(crate) fn rows<T: for<'r> FromRow<'r, PgRow>>(&mut self) -> Result<Vec<T>, StoreError> {
        Ok(self.next()?.iter().map(T::from_row).collect::<Result<_, _>>()?)
    }

    /// The first row of the next statement.
    pub(crate) fn row<T: for<'r> FromRow<'r, PgRow>>(&mut self) -> Result<Option<T>, StoreError> {
        Ok(self.next()?.first().map(T::from_row).transpose()?)
    }

    /// The first column of the only row of the next statement.
    pub(crate) fn value<T>(&mut self) -> Result<T, StoreError>
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let rows = self.next()?;
        let row = rows.first().ok_or_else(|| StoreError::corrupt("a statement without a row"))?;
        Ok(row.try_get(0)?)
    }

    /// Ignores the rows of the next statement.
    pub(crate) fn skip(&mut self) {
        self.0.next();
    }

    fn next(&mut self) -> Result<Vec<PgRow>, StoreError> {
        self.0.next().ok_or_else(|| StoreError::corrupt("a statement without an answer"))
    }
}

/// A time in a row of a message. The driver reads none that is a whole second.
pub(crate) fn time(row: &PgRow, column: &str) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    let Some(text) = row.try_get_unchecked::<Option<String>, _>(column)? else { return Ok(None) };
    let unreadable = || sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("not a time in UTC: {text}").into(),
    };
    time_of(&text).map(Some).ok_or_else(unreadable)
}

/// Reads a time such as `2026-11-26 14:05:00.25+00`.
fn time_of(text: &str) -> Option<OffsetDateTime> {
    let (date, clock) = text.strip_suffix("+00")?.split_once(' ')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut date = date.split('-');
    let mut clock = clock.split(':').map(str::parse::<u8>);
    let year = date.next()?.parse().ok()?;
    let month = Month::try_from(date.next()?.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, date.next()?.parse().ok()?).ok()?;
    let hour = clock.next()?.ok()?;
    let minute = clock.next()?.ok()?;
    let second = clock.next()?.ok()?;
    let micros = format!("{fraction:0<6}").parse().ok()?;
    Some(date.with_hms_micro(hour, minute, second, micros).ok()?.assume_utc())
}

/// Types whose text has no character that a string could end with.
macro_rules! plain {
    ($($rust:ty => $postgres:literal),+ $(,)?) => {$(
        impl Literal for $rust {
            const TYPE: &'static str = $postgres;

            fn write(&self, text: &mut String) {
                let _ = write!(text, "'{self}'");
            }
        }
    )+};
}

plain! {
    bool => "boolean",
    i16 => "smallint",
    i32 => "integer",
    i64 => "bigint",
    f64 => "double precision",
    Uuid => "uuid",
}

impl Literal for str {
    const TYPE: &'static str = "text";

    /// Independent of `standard_conforming_strings`. Postgres refuses a NUL, as in an argument.
    fn write(&self, text: &mut String) {
        text.push_str("E'");
        for character in self.chars() {
            match character {
                '\'' => text.push_str("''"),
                '\\' => text.push_str("\\\\"),
                '\0' => text.push_str("\\000"),
                other => text.push(other),
            }
        }
        text.push('\'');
    }
}

impl Literal for String {
    const TYPE: &'static str = str::TYPE;

    fn write(&self, text: &mut String) {
        self.as_str().write(text);
    }
}

impl Literal for Value {
    const TYPE: &'static str = "jsonb";

    fn write(&self, text: &mut String) {
        self.to_string().write(text);
    }
}

impl Literal for OffsetDateTime {
    const TYPE: &'static str = "timestamptz";

    fn write(&self, text: &mut String) {
        let micros = self.unix_timestamp_nanos().div_euclid(1_000);
        let _ = write!(text, "('epoch'::timestamptz + '{micros} microseconds'::interval)");
    }
}

impl Literal for [u8] {
    const TYPE: &'static str = "bytea";

    fn write(&self, text: &mut String) {
        let _ = write!(text, "decode('{}', 'hex')", hex::encode(self));
    }
}

impl<const N: usize> Literal for [u8; N] {
    const TYPE: &'static str = <[u8]>::TYPE;

    fn write(&self, text: &mut String) {
        self.as_slice().write(text);
    }
}

impl<T: Literal> Literal for Option<T> {
    const TYPE: &'static str = T::TYPE;

    fn write(&self, text: &mut String) {
        match self {
            Some(value) => value.write(text),
            None => text.push_str("NULL"),
        }
    }
}

impl<T: Literal + ?Sized> Literal for &T {
    const TYPE: &'static str = T::TYPE;

    fn write(&self, text: &mut String) {
        (*self).write(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_replaced_by_their_number_and_strings_end_where_they_end() {
        let text = rendered("SELECT $2, $1, $2", &[literal("a'b\\c"), literal(&-5_i64)]);
        assert_eq!(text, r"SELECT ('-5'::bigint), (E'a''b\\c'::text), ('-5'::bigint)");
        assert_eq!(literal(&None::<Uuid>), "(NULL::uuid)");
        assert_eq!(literal(&[0xab_u8, 1]), "(decode('ab01', 'hex')::bytea)");
    }

    #[test]
    fn times_are_read_with_and_without_a_fraction() {
        let micros = |text| time_of(text).map(|at| at.unix_timestamp_nanos() / 1_000);
        assert_eq!(micros("2026-11-26 14:05:00+00"), Some(1_795_701_900_000_000));
        assert_eq!(micros("2026-11-26 14:05:00.25+00"), Some(1_795_701_900_250_000));
        assert_eq!(micros("1969-12-31 23:59:59.999999+00"), Some(-1));
        for text in ["infinity", "2026-11-26 14:05:00+01", "2026-13-26 14:05:00+00"] {
            assert_eq!(time_of(text), None, "{text}");
        }
    }
}
