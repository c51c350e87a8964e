//! Durations: as text, and as a number with a unit in a form.

use serde::{Deserialize, Serialize};
pub use weir_domain::quantity::{Unit, period, short};

use crate::model::number::{grouped, parse};

/// A duration as entered in a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationInput {
    pub number: String,
    #[serde(with = "unit_ms")]
    pub unit: Unit,
}

/// A unit as its length in milliseconds.
mod unit_ms {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Unit;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub(super) fn serialize<S: Serializer>(unit: &Unit, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(unit.length_ms())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Unit, D::Error> {
        u64::deserialize(from).map(Unit::whole)
    }
}

impl DurationInput {
    /// The duration in the largest unit in which it is a whole number.
    pub fn of_ms(length_ms: u64) -> Self {
        let unit = Unit::whole(length_ms);
        Self { number: (length_ms / unit.length_ms()).to_string(), unit }
    }

    /// The duration in milliseconds, if the text is a whole number.
    pub fn ms(&self) -> Option<u64> {
        parse(&self.number)?.checked_mul(self.unit.length_ms())
    }
}

/// The milliseconds of a text such as `10 min`.
pub fn of_text(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let is_it = |known: &Unit| short(known.length_ms()).strip_prefix("1 ") == Some(unit.trim());
    let unit = Unit::ALL.into_iter().find(is_it)?;
    parse(number).filter(|_| digits > 0)?.checked_mul(unit.length_ms())
}

/// The approximate duration to about two digits: `1.8 s`, `41 s`, `3 min`.
pub fn about(length_ms: u64) -> String {
    match length_ms {
        0..1_000 => format!("{length_ms} ms"),
        1_000..10_000 => format!("{}.{} s", length_ms / 1_000, length_ms % 1_000 / 100),
        10_000..120_000 => format!("{} s", length_ms / 1_000),
        120_000..7_200_000 => format!("{} min", length_ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", length_ms / 3_600_000),
        _ => format!("{} d", grouped(length_ms / 86_400_000)),
    }
}

/// The length rounded up to one that a person reads: a tenth of a second, and from a minute a second.
pub fn readable_ms(length_ms: u64) -> u64 {
    let step_ms = match length_ms {
        0..1_000 => 1,
        1_000..60_000 => 100,
        _ => 1_000,
    };
    length_ms.div_ceil(step_ms) * step_ms
}

/// The readable length after a number of units: `per minute`, `in 3.4 seconds`.
pub fn per_readable(length_ms: u64) -> String {
    let ms = readable_ms(length_ms);
    if ms >= 1_000 && Unit::whole(ms) == Unit::Milliseconds {
        return format!("in {}.{} seconds", ms / 1_000, ms % 1_000 / 100);
    }
    format!("per {}", period(ms))
}

/// The readable length of an axis: `1 min`, `3.3 s`.
pub fn short_readable(length_ms: u64) -> String {
    if length_ms >= 1_000 && Unit::whole(length_ms) == Unit::Milliseconds {
        return about(length_ms);
    }
    short(length_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_up_to_readable_ones() {
        let lengths = [500, 1_500, 3_334, 60_000, 90_000, 333_334, 86_400_000];
        let texts = lengths.map(per_readable);
        let expected = [
            "per 500 milliseconds",
            "in 1.5 seconds",
            "in 3.4 seconds",
            "per minute",
            "per 90 seconds",
            "per 334 seconds",
            "per day",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn durations_use_the_largest_whole_unit() {
        assert_eq!(short(60_000), "1 min");
        assert_eq!(short(90_000), "90 s");
        assert_eq!(short(1_500), "1,500 ms");
        assert_eq!(short(0), "0 ms");
        assert_eq!(period(3_600_000), "hour");
        assert_eq!(period(7 * 86_400_000), "7 days");
    }

    #[test]
    fn forms_preserve_every_duration() {
        for length_ms in [1, 999, 1_000, 60_000, 90_000, 86_400_000, 31_622_400_000] {
            assert_eq!(DurationInput::of_ms(length_ms).ms(), Some(length_ms));
        }
        let empty = DurationInput { number: String::new(), unit: Unit::Seconds };
        assert_eq!(empty.ms(), None);
        let huge = DurationInput { number: u64::MAX.to_string(), unit: Unit::Days };
        assert_eq!(huge.ms(), None);
    }

    #[test]
    fn approximate_durations_are_short() {
        assert_eq!(about(40), "40 ms");
        assert_eq!(about(1_840), "1.8 s");
        assert_eq!(about(41_200), "41 s");
        assert_eq!(about(180_000), "3 min");
        assert_eq!(about(10 * 86_400_000), "10 d");
    }
}
