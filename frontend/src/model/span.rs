//! Which stretch of time statistics are shown of; kept in the address.

/// A stretch that ends now, or one that was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The last so many minutes.
    Last(Length),
    /// Between two times, in milliseconds since 1970.
    Between { from_ms: i64, to_ms: i64 },
}

/// The lengths to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    QuarterHour,
    Hour,
    Day,
    Week,
    Month,
}

impl Length {
    pub const ALL: [Self; 5] = [Self::QuarterHour, Self::Hour, Self::Day, Self::Week, Self::Month];

    /// As it is written in the address and on its button.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QuarterHour => "15 min",
            Self::Hour => "1 h",
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
        }
    }

    const fn minutes(self) -> i64 {
        match self {
            Self::QuarterHour => 15,
            Self::Hour => 60,
            Self::Day => 24 * 60,
            Self::Week => 7 * 24 * 60,
            Self::Month => 30 * 24 * 60,
        }
    }
}

impl Span {
    /// What is shown when nothing was chosen.
    pub const USUAL: Self = Self::Last(Length::Hour);

    /// From the parameters of an address; what is not understood is the usual.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| parameter(name)?.parse::<i64>().ok();
        if let (Some(from_ms), Some(to_ms)) = (number("from"), number("to"))
            && from_ms < to_ms
        {
            return Self::Between { from_ms, to_ms };
        }
        let last = parameter("last").unwrap_or_default();
        let squeezed = |length: &Length| length.as_str().replace(' ', "") == last;
        Length::ALL.into_iter().find(squeezed).map_or(Self::USUAL, Self::Last)
    }

    /// The parameters that say the same.
    pub fn query(self) -> String {
        match self {
            Self::Last(length) => format!("?last={}", length.as_str().replace(' ', "")),
            Self::Between { from_ms, to_ms } => format!("?from={from_ms}&to={to_ms}"),
        }
    }

    /// From when and until when, in milliseconds since 1970.
    pub fn bounds_ms(self, now_ms: i64) -> (i64, i64) {
        match self {
            Self::Last(length) => (now_ms - length.minutes() * 60_000, now_ms),
            Self::Between { from_ms, to_ms } => (from_ms, to_ms),
        }
    }

    /// How long what was fetched stays good enough; what is past never changes.
    pub const fn refresh_s(self) -> Option<u64> {
        match self {
            Self::Last(Length::QuarterHour | Length::Hour) => Some(5),
            Self::Last(_) => Some(60),
            Self::Between { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Span {
        Span::of(|name| {
            let mut parts = query.trim_start_matches('?').split('&');
            parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        })
    }

    #[test]
    fn an_address_says_which_and_is_read_back() {
        for length in Length::ALL {
            assert_eq!(read(&Span::Last(length).query()), Span::Last(length));
        }
        let marked = Span::Between { from_ms: 5, to_ms: 9 };
        assert_eq!(read(&marked.query()), marked);
        for nonsense in ["", "?last=1y", "?from=9&to=5", "?from=a&to=b"] {
            assert_eq!(read(nonsense), Span::USUAL, "{nonsense}");
        }
    }

    #[test]
    fn a_stretch_ends_now_unless_it_was_marked() {
        assert_eq!(Span::USUAL.bounds_ms(3_600_001), (1, 3_600_001));
        assert_eq!(Span::Between { from_ms: 5, to_ms: 9 }.bounds_ms(99), (5, 9));
    }
}
