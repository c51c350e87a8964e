//! Numbers and lengths of time in words, as the dashboard shows them.

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One thousandth of a second.
    Milliseconds,
    /// 1,000 ms.
    Seconds,
    /// 60 s.
    Minutes,
    /// 60 min.
    Hours,
    /// 24 h.
    Days,
}

impl Unit {
    /// All units, shortest first.
    pub const ALL: [Self; 5] =
        [Self::Milliseconds, Self::Seconds, Self::Minutes, Self::Hours, Self::Days];

    /// The length of the unit in milliseconds.
    pub const fn length_ms(self) -> u64 {
        match self {
            Self::Milliseconds => 1,
            Self::Seconds => 1_000,
            Self::Minutes => 60_000,
            Self::Hours => 3_600_000,
            Self::Days => 86_400_000,
        }
    }

    /// The plural, as forms offer it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        }
    }

    /// The largest unit in which a length is a whole number.
    pub fn whole(length_ms: u64) -> Self {
        let whole = |unit: &Self| length_ms > 0 && length_ms.is_multiple_of(unit.length_ms());
        Self::ALL.into_iter().rev().find(whole).unwrap_or(Self::Milliseconds)
    }

    const fn abbreviation(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::Hours => "h",
            Self::Days => "d",
        }
    }

    const fn singular(self) -> &'static str {
        match self {
            Self::Milliseconds => "millisecond",
            Self::Seconds => "second",
            Self::Minutes => "minute",
            Self::Hours => "hour",
            Self::Days => "day",
        }
    }
}

/// Digits in groups of three: `10,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 rule`, `2 rules`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A length in the largest unit in which it is whole: `1 min` for 60 s, but `90 s`.
pub fn short(length_ms: u64) -> String {
    let unit = Unit::whole(length_ms);
    format!("{} {}", grouped(length_ms / unit.length_ms()), unit.abbreviation())
}

/// A length as it follows "per" or "in any": `minute`, `5 minutes`.
pub fn period(length_ms: u64) -> String {
    let unit = Unit::whole(length_ms);
    match length_ms / unit.length_ms() {
        1 => unit.singular().to_owned(),
        number => format!("{} {}", grouped(number), unit.label()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        let texts = [0, 999, 1_000, 1_000_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,000,000,000"]);
    }

    #[test]
    fn one_has_a_noun_in_the_singular() {
        let texts = [0, 1, 2_000].map(|number| counted(number, "rule", "rules"));
        assert_eq!(texts, ["0 rules", "1 rule", "2,000 rules"]);
    }

    #[test]
    fn lengths_use_the_largest_whole_unit() {
        let texts = [60_000, 90_000, 1_500, 0].map(short);
        assert_eq!(texts, ["1 min", "90 s", "1,500 ms", "0 ms"]);
        assert_eq!([3_600_000, 7 * 86_400_000].map(period), ["hour", "7 days"]);
    }
}
