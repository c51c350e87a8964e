//! Calendar periods, in which quotas count.

#[cfg(feature = "calendar")]
use super::bounds::InvalidLimit;
use super::parameter::FromNumber;
use crate::time::Timestamp;

/// The end of a period that never ends, in microseconds: the year 2100. The script counts a counter whose numbers add up to
/// 10^16 as damaged.
pub const NEVER_US: u64 = 4_102_444_800_000_000;

/// The periods of a quota.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Calendar {
    /// The length of a period.
    pub period: Period,
    /// IANA name of the time zone in which periods begin at midnight.
    pub time_zone: String,
    /// The first day of a period: of a week from 1 (Monday) to 7, of a month from 1 to 31 (in shorter months the last day),
    /// of a year from 1 to 366; always 1 for days.
    pub anchor_day: u16,
    /// The time from which a quota without periods admits nothing.
    pub ends_at: Option<Timestamp>,
}

/// The length of a calendar period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Period {
    /// Midnight to midnight; 23 or 25 hours long when daylight saving begins or ends.
    Day,
    /// Seven days.
    Week,
    /// One month.
    Month,
    /// One year.
    Year,
    /// No period: used units return only by a reset or a refund.
    None,
}

impl Period {
    /// All periods, shortest first.
    pub const ALL: [Self; 5] = [Self::Day, Self::Week, Self::Month, Self::Year, Self::None];

    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
            Self::None => "none",
        }
    }

    /// The text that people read.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Day => "Day",
            Self::Week => "Week",
            Self::Month => "Month",
            Self::Year => "Year",
            Self::None => "Never renews",
        }
    }

    /// The text of the period in a form.
    pub const fn choice(self) -> &'static str {
        self.title()
    }

    /// The greatest first day.
    pub(super) const fn anchor_max(self) -> u16 {
        match self {
            Self::Day | Self::None => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Year => 366,
        }
    }
}

impl FromNumber for Period {
    fn from_number(number: u64) -> Self {
        Self::ALL[usize::try_from(number).unwrap_or(0) % Self::ALL.len()]
    }
}

/// The time zone of an IANA name.
#[cfg(feature = "calendar")]
pub(crate) fn time_zone(name: &str) -> Result<jiff::tz::TimeZone, InvalidLimit> {
    jiff::tz::TimeZone::get(name).map_err(|_| InvalidLimit {
        field: "time_zone",
        reason: "must be the name of an IANA time zone such as `Europe/Berlin` or `UTC`".into(),
    })
}
