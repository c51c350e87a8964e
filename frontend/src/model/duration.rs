//! Durations: as text, and as a number with a unit in a form.

use crate::model::number::{grouped, parse};

/// A unit of duration in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

/// A duration as entered in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationInput {
    pub number: String,
    pub unit: Unit,
}

impl Unit {
    /// All units, shortest first.
    pub const ALL: [Self; 5] =
        [Self::Milliseconds, Self::Seconds, Self::Minutes, Self::Hours, Self::Days];

    pub const fn length_ms(self) -> u64 {
        match self {
            Self::Milliseconds => 1,
            Self::Seconds => 1_000,
            Self::Minutes => 60_000,
            Self::Hours => 3_600_000,
            Self::Days => 86_400_000,
        }
    }

    /// The label in a form.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        }
    }

    const fn short(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::Hours => "h",
            Self::Days => "d",
        }
    }

    const fn one(self) -> &'static str {
        match self {
            Self::Milliseconds => "millisecond",
            Self::Seconds => "second",
            Self::Minutes => "minute",
            Self::Hours => "hour",
            Self::Days => "day",
        }
    }
}

impl DurationInput {
    /// The duration in the largest unit in which it is a whole number.
    pub fn of_ms(length_ms: u64) -> Self {
        let unit = whole_unit(length_ms);
        Self { number: (length_ms / unit.length_ms()).to_string(), unit }
    }

    /// The duration in milliseconds, if the text is a whole number.
    pub fn ms(&self) -> Option<u64> {
        parse(&self.number)?.checked_mul(self.unit.length_ms())
    }
}

/// `1 min` for 60 s; durations that are not whole in a larger unit keep the smaller one: `90 s`.
pub fn short(length_ms: u64) -> String {
    let unit = whole_unit(length_ms);
    format!("{} {}", grouped(length_ms / unit.length_ms()), unit.short())
}

/// For use after "per": `minute`, `5 minutes`.
pub fn period(length_ms: u64) -> String {
    let unit = whole_unit(length_ms);
    match length_ms / unit.length_ms() {
        1 => unit.one().to_owned(),
        number => format!("{} {}", grouped(number), unit.label()),
    }
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

fn whole_unit(length_ms: u64) -> Unit {
    let whole = |unit: &Unit| length_ms > 0 && length_ms.is_multiple_of(unit.length_ms());
    Unit::ALL.into_iter().rev().find(whole).unwrap_or(Unit::Milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

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
