//! The time range of statistics and the time to compare it with, stored in the URL.

/// The time that the statistics of a page cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSelection {
    pub range: TimeRange,
    pub comparison: Comparison,
}

/// A range that ends now, or a custom range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRange {
    /// The most recent minutes.
    Last(Preset),
    /// Between two times, in milliseconds since 1970. A reset of the zoom returns to `base`.
    Between { from_ms: i64, to_ms: i64, base: Preset },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    QuarterHour,
    Hour,
    SixHours,
    Day,
    Week,
    Month,
}

/// The earlier time that a chart shows as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comparison {
    #[default]
    Nothing,
    /// The time of the same length just before.
    Previous,
    DayBefore,
    WeekBefore,
}

impl Preset {
    pub const ALL: [Self; 6] =
        [Self::QuarterHour, Self::Hour, Self::SixHours, Self::Day, Self::Week, Self::Month];

    /// The name in the URL and on the button.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QuarterHour => "15 min",
            Self::Hour => "1 h",
            Self::SixHours => "6 h",
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
        }
    }

    const fn minutes(self) -> i64 {
        match self {
            Self::QuarterHour => 15,
            Self::Hour => 60,
            Self::SixHours => 6 * 60,
            Self::Day => 24 * 60,
            Self::Week => 7 * 24 * 60,
            Self::Month => 30 * 24 * 60,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|length| length.as_str().replace(' ', "") == text)
    }
}

impl Comparison {
    pub const ALL: [(Self, &str); 4] = [
        (Self::Nothing, "No comparison"),
        (Self::Previous, "Previous period"),
        (Self::DayBefore, "Day before"),
        (Self::WeekBefore, "Week before"),
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Previous => "previous",
            Self::DayBefore => "day",
            Self::WeekBefore => "week",
        }
    }

    /// The start and the end of the compared time, in milliseconds since 1970.
    pub fn bounds_ms(self, (from_ms, to_ms): (i64, i64)) -> Option<(i64, i64)> {
        let before_ms = match self {
            Self::Nothing => return None,
            Self::Previous => to_ms - from_ms,
            Self::DayBefore => DAY_MS,
            Self::WeekBefore => 7 * DAY_MS,
        };
        Some((from_ms - before_ms, to_ms - before_ms))
    }
}

impl TimeSelection {
    pub const DEFAULT: Self =
        Self { range: TimeRange::Last(Preset::Hour), comparison: Comparison::Nothing };

    /// Reads the selection from URL parameters; the default for those that are missing or invalid.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| parameter(name)?.parse::<i64>().ok();
        let last = Preset::parse(&parameter("last").unwrap_or_default()).unwrap_or(Preset::Hour);
        let range = match (number("from"), number("to")) {
            (Some(from_ms), Some(to_ms)) if from_ms < to_ms => {
                TimeRange::Between { from_ms, to_ms, base: last }
            }
            _ => TimeRange::Last(last),
        };
        let compare = parameter("compare").unwrap_or_default();
        let compared = Comparison::ALL.into_iter().find(|(one, _)| one.as_str() == compare);
        Self { range, comparison: compared.map_or(Comparison::Nothing, |(one, _)| one) }
    }

    /// The URL parameters of the selection.
    pub fn parameters(self) -> Vec<(&'static str, String)> {
        let last = |length: Preset| ("last", length.as_str().replace(' ', ""));
        let mut parameters = match self.range {
            TimeRange::Last(length) => vec![last(length)],
            TimeRange::Between { from_ms, to_ms, base } => {
                vec![("from", from_ms.to_string()), ("to", to_ms.to_string()), last(base)]
            }
        };
        if self.comparison != Comparison::Nothing {
            parameters.push(("compare", self.comparison.as_str().to_owned()));
        }
        parameters
    }

    /// The names of all URL parameters of a selection.
    pub const PARAMETERS: [&'static str; 4] = ["last", "from", "to", "compare"];

    /// The selection with another range.
    pub fn with_range(self, range: TimeRange) -> Self {
        Self { range, ..self }
    }

    /// The selection zoomed to a range, which ends at `now_ms` at the latest and is at least a minute long.
    pub fn zoomed(self, (from_ms, to_ms): (i64, i64), now_ms: i64) -> Self {
        let to_ms = to_ms.min(now_ms);
        let from_ms = from_ms.max(0).min(to_ms - MINUTE_MS);
        self.with_range(TimeRange::Between { from_ms, to_ms, base: self.range.base() })
    }
}

impl TimeRange {
    /// The start and end, in milliseconds since 1970.
    pub fn bounds_ms(self, now_ms: i64) -> (i64, i64) {
        match self {
            Self::Last(length) => (now_ms - length.minutes() * MINUTE_MS, now_ms),
            Self::Between { from_ms, to_ms, .. } => (from_ms, to_ms),
        }
    }

    /// The range to which a reset of the zoom returns.
    pub const fn base(self) -> Preset {
        match self {
            Self::Last(length) | Self::Between { base: length, .. } => length,
        }
    }

    pub const fn is_custom(self) -> bool {
        matches!(self, Self::Between { .. })
    }

    /// How long statistics of the range stay current. `None` for a past range, which no longer changes.
    pub const fn refresh_s(self) -> Option<u64> {
        match self {
            Self::Last(Preset::QuarterHour | Preset::Hour) => Some(5),
            Self::Last(Preset::SixHours) => Some(15),
            Self::Last(_) => Some(60),
            Self::Between { .. } => None,
        }
    }
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> TimeSelection {
        TimeSelection::of(|name| {
            let mut parts = query.split('&');
            parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        })
    }

    fn written(selection: TimeSelection) -> String {
        let parameters = selection.parameters().into_iter();
        parameters.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn selections_survive_the_url() {
        let ranges = Preset::ALL.map(TimeRange::Last).into_iter().chain([TimeRange::Between {
            from_ms: 5,
            to_ms: 9,
            base: Preset::Day,
        }]);
        for range in ranges {
            for (comparison, _) in Comparison::ALL {
                let selection = TimeSelection { range, comparison };
                assert_eq!(read(&written(selection)), selection);
            }
        }
        for nonsense in ["", "last=1y", "from=9&to=5", "from=a&to=b", "compare=year"] {
            assert_eq!(read(nonsense), TimeSelection::DEFAULT, "{nonsense}");
        }
    }

    #[test]
    fn presets_end_now_and_custom_ranges_are_fixed() {
        assert_eq!(TimeSelection::DEFAULT.range.bounds_ms(3_600_001), (1, 3_600_001));
        let custom = TimeRange::Between { from_ms: 5, to_ms: 9, base: Preset::Hour };
        assert_eq!((custom.bounds_ms(99), custom.refresh_s()), ((5, 9), None));
    }

    #[test]
    fn zooming_out_of_the_present_stops_there_and_remembers_the_preset() {
        let day = TimeSelection::DEFAULT.with_range(TimeRange::Last(Preset::Day));
        let zoomed = day.zoomed((100_000, 900_000), 500_000);
        let expected = TimeRange::Between { from_ms: 100_000, to_ms: 500_000, base: Preset::Day };
        assert_eq!(zoomed.range, expected);
        assert_eq!(zoomed.zoomed((-7, 200_000), 500_000).range.base(), Preset::Day);
        assert_eq!(day.zoomed((499_000, 600_000), 500_000).range.bounds_ms(0), (440_000, 500_000));
    }

    #[test]
    fn compared_times_have_the_same_length() {
        let bounds = (7 * DAY_MS, 7 * DAY_MS + 60);
        let compared = Comparison::ALL.map(|(comparison, _)| comparison.bounds_ms(bounds));
        let expected = [
            None,
            Some((7 * DAY_MS - 60, 7 * DAY_MS)),
            Some((6 * DAY_MS, 6 * DAY_MS + 60)),
            Some((0, 60)),
        ];
        assert_eq!(compared, expected);
    }
}
