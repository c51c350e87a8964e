//! Quota: as fixed window, with calendar periods of a time zone.
//!
//! `calendar` computes the instants that bound the periods. A meter has four bounds around now, so that the deciding
//! clock can choose among three periods. A quota with the period `none` has a single one, from 1970 to [`NEVER_US`], so its
//! counters are kept until they are reset. It admits nothing from its end on.

use super::bounds::{EXACT_MAX, InvalidLimit, units};
use super::clock::{SLACK_US, window_time};
use super::definition::{
    Bound, Definition, Described, ScriptParameters, Windows, part, windows_touched,
};
use super::parameter::{Input, Parameter};
use super::period::{Calendar, NEVER_US, Period};
use super::window::{Window, WindowState, Windowed};
use crate::quantity::grouped;
use crate::time::{Micros, Timestamp};

/// The latest end of a quota: below [`NEVER_US`] by more than the clock's slack, in milliseconds.
const ENDS_AT_MS_MAX: i64 = 4_102_444_800_000 - 2_000;

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
    /// Starts of the previous, present and next period and the end of the next, in microseconds. Of a quota that never renews:
    /// 0, [`NEVER_US`], and the time in which `limit` holds.
    pub bounds_us: [u64; 4],
}

impl Quota {
    /// `limit` units in each period of a time zone that begins on `anchor_day`.
    pub fn new(
        limit: u64,
        period: Period,
        time_zone: String,
        anchor_day: u16,
        ends_at: Option<Timestamp>,
    ) -> Result<Self, InvalidLimit> {
        Self::of_calendar(limit, Calendar { period, time_zone, anchor_day, ends_at })
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
                reason: format!("must be {days} for the period `{period}`"),
            });
        }
        if let Some(ends_at) = calendar.ends_at {
            let reason = if calendar.period != Period::None {
                "must be absent unless the period is `none`"
            } else if (1..=ENDS_AT_MS_MAX).contains(&ends_at.as_millis()) {
                ""
            } else {
                "must be a time after 1970-01-01T00:00:00Z and before 2099-12-31T23:59:59Z"
            };
            if !reason.is_empty() {
                return Err(InvalidLimit { field: "ends_at", reason: reason.into() });
            }
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

    /// The bounds of a quota that never renews; `None` for calendar periods. Its limit is 0 from its end on.
    pub fn unrenewed(&self, now: Micros) -> Option<PeriodBounds> {
        if self.calendar.period != Period::None {
            return None;
        }
        let ends_us = self.calendar.ends_at.map(|ends_at| ends_at.as_millis_u64() * 1000);
        let (limit, from_us, until_us) = match ends_us {
            None => (self.limit, 0, EXACT_MAX),
            // A meter holds until `SLACK_US` before its last bound.
            Some(ends_us) if now.0 < ends_us => (self.limit, 0, ends_us + SLACK_US),
            Some(ends_us) => (0, ends_us, NEVER_US),
        };
        Some(PeriodBounds { limit, bounds_us: [0, NEVER_US, from_us, until_us] })
    }

    /// One gate's share of the limit.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::of_calendar(part(self.limit, gates), self.calendar.clone())
    }

    #[expect(
        clippy::ref_option,
        reason = "the list of algorithms passes each parameter by reference"
    )]
    pub(super) fn describe(
        limit: &u64,
        period: &Period,
        time_zone: &str,
        anchor_day: &u16,
        ends_at: &Option<Timestamp>,
    ) -> String {
        if *period == Period::None {
            let end = if ends_at.is_some() { ", with an end" } else { "" };
            return format!("{} that never renew{end}", grouped(*limit));
        }
        let start = anchor(*period, *anchor_day);
        format!("{} per calendar {}{start} ({time_zone})", grouped(*limit), period.as_str())
    }
}

/// The first day of a period in words; empty for the usual one.
fn anchor(period: Period, day: u16) -> String {
    const WEEK: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    match (period, day) {
        (_, 1) | (Period::Day | Period::None, _) => String::new(),
        (Period::Week, day) => {
            let day = WEEK.get(usize::from(day).saturating_sub(1)).unwrap_or(&"?");
            format!(" from {day}")
        }
        (Period::Month | Period::Year, day) => format!(" from day {day}"),
    }
}

impl Described for Quota {
    const TITLE: &'static str = "Calendar quota";
    const HINT: &'static str =
        "Resets each calendar day, week, month or year in a time zone, or never renews.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("limit", "Limit", Input::Units),
        Parameter::new("period", "Period", Input::Period),
        Parameter::new("time_zone", "Time zone", Input::TimeZone),
        Parameter::new("anchor_day", "Starts on day", Input::AnchorDay),
        Parameter::new("ends_at", "Ends at", Input::EndsAt),
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
        self.calendar.period != Period::None
    }

    fn windows(&self) -> Option<Windows<'_>> {
        self.leasable().then_some(Windows::Calendar(&self.calendar))
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        if self.calendar.period == Period::None {
            return self.limit;
        }
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
            Period::None => 366,
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
            Period::None => 366,
        };
        days * 86_400_000
    }

    fn drawing_note(&self) -> &'static str {
        match self.calendar.period {
            Period::Day | Period::Week | Period::None => "",
            Period::Month => "The preview uses months of 30 days; the rule uses calendar months.",
            Period::Year => "The preview uses years of 365 days; the rule uses calendar years.",
        }
    }
}

impl PeriodBounds {
    /// Whether the periods given are those around `now`, with room for the clock's slack.
    pub fn hold(&self, now: Micros) -> bool {
        let (from_us, until_us) = self.holds_us();
        from_us <= now.0 && now.0 + SLACK_US < until_us
    }

    /// The length of the period that holds `now`, in milliseconds; 0 if it never ends.
    pub fn length_ms(&self, now: Micros) -> u64 {
        if self.never_renews() {
            return 0;
        }
        let (start_us, end_us) = self.around(now.0);
        (end_us - start_us) / 1000
    }

    const fn holds_us(&self) -> (u64, u64) {
        let [first, _, third, end] = self.bounds_us;
        (if self.never_renews() { third } else { first }, end)
    }

    /// Whether the period never ends.
    pub const fn never_renews(&self) -> bool {
        self.bounds_us[1] == NEVER_US
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
    fn keeping(self, units: u64) -> Self {
        Self { limit: self.limit.saturating_sub(units), ..self }
    }

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
        Some(self.holds_us())
    }
}
