//! Quota: as fixed window, with calendar periods of a time zone.
//!
//! `calendar` computes the instants that bound the periods. A meter has four bounds around now, so that the deciding
//! clock can choose among three periods.

use super::bounds::{InvalidLimit, units};
use super::clock::{SLACK_US, window_time};
use super::definition::{
    Bound, Definition, Described, ScriptParameters, Windows, part, windows_touched,
};
use super::parameter::{Input, Parameter};
use super::period::{Calendar, Period};
use super::window::{Window, WindowState, Windowed};
use crate::quantity::grouped;
use crate::time::Micros;

/// Parameters of a quota.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u64,
    calendar: Calendar,
}

/// The limit of a quota with four ascending bounds: previous, present and next period, and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodBounds {
    /// The units that a period admits.
    pub limit: u64,
    /// Starts of the previous, present and next period and the end of the next, in microseconds.
    pub bounds_us: [u64; 4],
}

impl Quota {
    /// `limit` units in each period of a time zone that begins on `anchor_day`.
    pub fn new(
        limit: u64,
        period: Period,
        time_zone: String,
        anchor_day: u16,
    ) -> Result<Self, InvalidLimit> {
        Self::of_calendar(limit, Calendar { period, time_zone, anchor_day })
    }

    /// `limit` units in each period of `calendar`.
    pub fn of_calendar(limit: u64, calendar: Calendar) -> Result<Self, InvalidLimit> {
        let limit = units("limit", limit)?;
        let anchor_max = calendar.period.anchor_max();
        if !(1..=anchor_max).contains(&calendar.anchor_day) {
            let days =
                if anchor_max == 1 { "1".to_owned() } else { format!("from 1 to {anchor_max}") };
            let period = calendar.period.as_str();
            return Err(InvalidLimit {
                field: "anchor_day",
                reason: format!("must be {days} for a period of a {period}"),
            });
        }
        #[cfg(feature = "calendar")]
        super::period::time_zone(&calendar.time_zone)?;
        Ok(Self { limit, calendar })
    }

    /// The units that a period admits.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The calendar of its periods.
    pub const fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// One gate's share of the limit.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::of_calendar(part(self.limit, gates), self.calendar.clone())
    }

    pub(super) fn describe(
        limit: &u64,
        period: &Period,
        time_zone: &str,
        anchor_day: &u16,
    ) -> String {
        let start = anchor(*period, *anchor_day);
        format!("{} per calendar {}{start} ({time_zone})", grouped(*limit), period.as_str())
    }
}

/// The first day of a period in words; empty for the usual one.
fn anchor(period: Period, day: u16) -> String {
    const WEEK: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    match (period, day) {
        (_, 1) | (Period::Day, _) => String::new(),
        (Period::Week, day) => {
            let day = WEEK.get(usize::from(day).saturating_sub(1)).unwrap_or(&"?");
            format!(" from {day}")
        }
        (Period::Month | Period::Year, day) => format!(" from day {day}"),
    }
}

impl Described for Quota {
    const TITLE: &'static str = "Calendar quota";
    const HINT: &'static str = "Resets each calendar day, week, month or year in a time zone.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("limit", "Limit", Input::Units),
        Parameter::new("period", "per calendar", Input::Period),
        Parameter::new("time_zone", "Time zone", Input::TimeZone),
        Parameter::new("anchor_day", "Starts on day", Input::AnchorDay),
    ];
    const HAS_FIVE_PARAMETERS: bool = true;
}

impl Definition for Quota {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn window_ms(&self) -> Option<u64> {
        None
    }

    fn refundable(&self) -> bool {
        true
    }

    fn leasable(&self) -> bool {
        true
    }

    fn windows(&self) -> Option<Windows<'_>> {
        Some(Windows::Calendar(&self.calendar))
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        let windows = windows_touched(stretch_us, self.shortest_window_ms() * 1000);
        self.limit.saturating_mul(windows)
    }

    /// The shortest months have 28 days, and days lose an hour when clocks are put forward.
    fn shortest_window_ms(&self) -> u64 {
        let days = match self.calendar.period {
            Period::Day => 1,
            Period::Week => 7,
            Period::Month => 28,
            Period::Year => 365,
        };
        let put_forward = u64::from(self.calendar.time_zone != "UTC");
        (24 * days - put_forward) * 3_600_000
    }

    fn usual_window_ms(&self) -> u64 {
        let days = match self.calendar.period {
            Period::Day => 1,
            Period::Week => 7,
            Period::Month => 30,
            Period::Year => 365,
        };
        days * 86_400_000
    }

    fn drawing_note(&self) -> &'static str {
        match self.calendar.period {
            Period::Day | Period::Week => "",
            Period::Month => "The preview uses months of 30 days; the rule uses calendar months.",
            Period::Year => "The preview uses years of 365 days; the rule uses calendar years.",
        }
    }
}

impl PeriodBounds {
    /// Whether the periods given are those around `now`, with room for the clock's slack.
    pub fn hold(&self, now: Micros) -> bool {
        self.bounds_us[0] <= now.0 && now.0 + SLACK_US < self.bounds_us[3]
    }

    /// The length of the period that holds `now`, in milliseconds.
    pub fn length_ms(&self, now: Micros) -> u64 {
        let (start_us, end_us) = self.around(now.0);
        (end_us - start_us) / 1000
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

impl Windowed for PeriodBounds {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn window(&self, state: WindowState, now: Micros) -> Window {
        let (_, stop_us) = self.around(now.0);
        let (start_us, _) = self.around(state.taken_at_us);
        let (at, pulled) = window_time(start_us, stop_us, now);
        Window::new(state, self.around(at), now, pulled)
    }

    fn script_parameters(&self) -> ScriptParameters {
        let [previous, present, next, end] = self.bounds_us;
        ScriptParameters::Five([self.limit, previous, present, next, end])
    }

    fn valid_us(&self) -> Option<(u64, u64)> {
        Some((self.bounds_us[0], self.bounds_us[3]))
    }
}
