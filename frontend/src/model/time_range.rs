//! The time range of statistics, stored in the URL.

/// A range that ends now, or a custom range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRange {
    /// The most recent minutes.
    Last(Preset),
    /// Between two times, in milliseconds since 1970.
    Between { from_ms: i64, to_ms: i64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    QuarterHour,
    Hour,
    Day,
    Week,
    Month,
}

impl Preset {
    pub const ALL: [Self; 5] = [Self::QuarterHour, Self::Hour, Self::Day, Self::Week, Self::Month];

    /// The name in the URL and on the button.
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

impl TimeRange {
    /// The default range.
    pub const DEFAULT: Self = Self::Last(Preset::Hour);

    /// Reads the range from URL parameters; the default if they are invalid.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| parameter(name)?.parse::<i64>().ok();
        if let (Some(from_ms), Some(to_ms)) = (number("from"), number("to"))
            && from_ms < to_ms
        {
            return Self::Between { from_ms, to_ms };
        }
        let last = parameter("last").unwrap_or_default();
        let squeezed = |length: &Preset| length.as_str().replace(' ', "") == last;
        Preset::ALL.into_iter().find(squeezed).map_or(Self::DEFAULT, Self::Last)
    }

    /// The URL query of the range.
    pub fn query(self) -> String {
        match self {
            Self::Last(length) => format!("?last={}", length.as_str().replace(' ', "")),
            Self::Between { from_ms, to_ms } => format!("?from={from_ms}&to={to_ms}"),
        }
    }

    /// The start and end, in milliseconds since 1970.
    pub fn bounds_ms(self, now_ms: i64) -> (i64, i64) {
        match self {
            Self::Last(length) => (now_ms - length.minutes() * 60_000, now_ms),
            Self::Between { from_ms, to_ms } => (from_ms, to_ms),
        }
    }

    /// How long statistics of the range stay current. `None` for a past range, which no longer changes.
    pub const fn refresh_s(self) -> Option<u64> {
        match self {
            Self::Last(Preset::QuarterHour | Preset::Hour) => Some(5),
            Self::Last(_) => Some(60),
            Self::Between { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> TimeRange {
        TimeRange::of(|name| {
            let mut parts = query.trim_start_matches('?').split('&');
            parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        })
    }

    #[test]
    fn time_ranges_survive_the_url() {
        for length in Preset::ALL {
            assert_eq!(read(&TimeRange::Last(length).query()), TimeRange::Last(length));
        }
        let marked = TimeRange::Between { from_ms: 5, to_ms: 9 };
        assert_eq!(read(&marked.query()), marked);
        for nonsense in ["", "?last=1y", "?from=9&to=5", "?from=a&to=b"] {
            assert_eq!(read(nonsense), TimeRange::DEFAULT, "{nonsense}");
        }
    }

    #[test]
    fn presets_end_now_and_custom_ranges_are_fixed() {
        assert_eq!(TimeRange::DEFAULT.bounds_ms(3_600_001), (1, 3_600_001));
        assert_eq!(TimeRange::Between { from_ms: 5, to_ms: 9 }.bounds_ms(99), (5, 9));
    }
}
