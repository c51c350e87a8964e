//! Quota: as fixed window, with calendar periods of a time zone.
//!
//! Which instants bound the periods is calendar knowledge and lives in `calendar`; here four bounds
//! around now are given, so the deciding clock can pick its own period among three.

use super::fixed_window::{Window, WindowState, window_time};
use super::{Level, Wait};
use crate::limit::{InvalidLimit, units};
use crate::time::Micros;

/// Parameters of a quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    limit: u64,
    calendar: Calendar,
}

/// Which periods a quota counts in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Calendar {
    /// Length of a period.
    pub period: Period,
    /// IANA name of the time zone in which periods begin at midnight.
    pub time_zone: String,
    /// First day of a period: of the week 1 (Monday) … 7, of the month 1 … 31 (the last day in
    /// shorter months), of the year 1 … 366; always 1 for days.
    pub anchor_day: u16,
}

/// Length of a calendar period.
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
}

/// The limit of a quota with four ascending bounds: previous, present and next period, and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodBounds {
    /// Units a period admits.
    pub limit: u64,
    /// Starts of the previous, present and next period and the end of the next, in microseconds.
    pub bounds_us: [u64; 4],
}

impl Period {
    /// All periods, shortest first.
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::Year];

    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    const fn anchor_max(self) -> u16 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Year => 366,
        }
    }
}

impl Quota {
    /// `limit` units in each period of `calendar`.
    pub fn new(limit: u64, calendar: Calendar) -> Result<Self, InvalidLimit> {
        let limit = units("limit", limit)?;
        let anchor_max = calendar.period.anchor_max();
        if !(1..=anchor_max).contains(&calendar.anchor_day) {
            let period = calendar.period.as_str();
            return Err(InvalidLimit {
                field: "anchor_day",
                reason: format!("must be from 1 to {anchor_max} for a period of a {period}"),
            });
        }
        #[cfg(feature = "calendar")]
        crate::calendar::time_zone(&calendar.time_zone)?;
        Ok(Self { limit, calendar })
    }

    /// Units a period admits.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Its periods.
    pub const fn calendar(&self) -> &Calendar {
        &self.calendar
    }
}

impl PeriodBounds {
    /// Whether the periods given are those around `now`, with room for the clock's slack.
    pub fn hold(&self, now: Micros) -> bool {
        self.bounds_us[0] <= now.0 && now.0 + super::SLACK_US < self.bounds_us[3]
    }

    /// Length of the period that holds `now`, in milliseconds.
    pub fn length_ms(&self, now: Micros) -> u64 {
        let (start_us, end_us) = self.around(now.0);
        (end_us - start_us) / 1000
    }

    pub(super) fn wait(&self, state: &WindowState, cost: u64, now: Micros) -> Wait {
        self.window(*state, now).wait(self.limit, cost, now)
    }

    pub(super) fn charge(&self, state: &mut WindowState, cost: u64, now: Micros) {
        *state = self.window(*state, now).charged(cost);
    }

    pub(super) fn refund(&self, state: &mut WindowState, cost: u64, now: Micros) {
        *state = self.window(*state, now).refunded(*state, cost);
    }

    pub(super) fn level(&self, state: &WindowState, now: Micros) -> Level {
        self.window(*state, now).level(self.limit, now)
    }

    pub(super) fn settled(&self, state: &WindowState, now: Micros) -> Option<WindowState> {
        self.window(*state, now).settled()
    }

    fn window(&self, state: WindowState, now: Micros) -> Window {
        let (_, stop_us) = self.around(now.0);
        let (at, pulled) = window_time(state.start_us, stop_us, now);
        Window::new(state, self.around(at), pulled)
    }

    fn around(&self, at_us: u64) -> (u64, u64) {
        let [first, second, third, end] = self.bounds_us;
        if at_us < second {
            (first, second)
        } else if at_us < third {
            (second, third)
        } else {
            (third, end)
        }
    }
}
