//! Sliding window log: units of entries younger than the window, plus `c`, are at most the limit.
//!
//! Exact in every window, at the price of one entry for each admitted check. With `count_denied` a denied check is logged
//! too, so repeated attempts extend the block.

use std::collections::VecDeque;

use super::bounds::{InvalidLimit, LOG_LIMIT_MAX, span_ms};
use super::clock::{SLACK_US, ms_until};
use super::definition::{
    Bound, ChargedLimit, Counting, Definition, Described, Level, ScriptParameters, Wait, Windows,
    part,
};
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, period};
use crate::time::Micros;

/// Parameters of a sliding window log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingWindowLog {
    limit: u64,
    window_ms: u64,
    count_denied: bool,
    /// The units that a check must leave free.
    keep: u64,
}

/// Admitted checks, and denied ones if the limit counts them, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogState {
    pub(crate) entries: VecDeque<Entry>,
}

/// One logged check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at_us: u64,
    pub(crate) cost: u64,
}

/// Of the newest entries, this many take back units of a charge that a refund names. Redis writes all that are newer anew.
pub const REFUNDED_ENTRIES_MAX: usize = 1_000;
/// A compacted log has about this many entries.
const COMPACTED_ENTRIES: u64 = 64;

impl SlidingWindowLog {
    /// `limit` units in any window of `window_ms`.
    pub fn new(limit: u64, window_ms: u64, count_denied: bool) -> Result<Self, InvalidLimit> {
        if !(1..=LOG_LIMIT_MAX).contains(&limit) {
            return Err(InvalidLimit {
                field: "limit",
                reason: format!(
                    "must be from 1 to {LOG_LIMIT_MAX} for a sliding_window_log, which keeps an entry for each admitted check; a sliding_window_counter has no such bound"
                ),
            });
        }
        Ok(Self { limit, window_ms: span_ms("window_ms", window_ms)?, count_denied, keep: 0 })
    }

    /// The units that any window admits.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The length of the window in milliseconds.
    pub const fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// One gate's share of the limit.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::new(part(self.limit, gates), self.window_ms, self.count_denied)
    }

    pub(super) fn describe(limit: &u64, window_ms: &u64, count_denied: &bool) -> String {
        let denied = if *count_denied { ", including denied requests" } else { "" };
        format!("{} per {}{denied}", grouped(*limit), period(*window_ms))
    }

    /// Entries younger than the window, at the times that hold.
    fn live<'a>(&self, state: &'a LogState, now: Micros) -> impl Iterator<Item = Entry> + 'a {
        let window_us = self.window_us();
        let stepped = stepped(state, now);
        let at_us = if stepped { now.0 } else { stamp(state).max(now.0) };
        let newest_us = if stepped { now.0 } else { u64::MAX };
        let entries = state.entries.iter();
        let entries =
            entries.map(move |entry| Entry { at_us: entry.at_us.min(newest_us), ..*entry });
        entries.filter(move |entry| entry.at_us + window_us > at_us)
    }

    /// Removes entries that no longer count and returns the time that holds.
    fn drop_dead(&self, state: &mut LogState, now: Micros) -> u64 {
        if let Some(settled) = self.settled(state, now) {
            *state = settled;
        }
        let at_us = stamp(state).max(now.0);
        while state.entries.front().is_some_and(|entry| entry.at_us + self.window_us() <= at_us) {
            state.entries.pop_front();
        }
        at_us
    }

    /// Returns units of the entry of this time, unless it is too far from the newest one.
    fn refund_entry(&self, state: &mut LogState, cost: u64, at: Micros, now: Micros) -> bool {
        let is_live = at.0 + self.window_us() > stamp(state).max(now.0);
        let index = state.entries.iter().position(|entry| is_live && entry.at_us == at.0);
        let newer = index.map_or(usize::MAX, |index| state.entries.len() - index);
        if newer > REFUNDED_ENTRIES_MAX {
            return false;
        }
        self.drop_dead(state, now);
        let index = state.entries.len() - newer;
        let entry = &mut state.entries[index];
        entry.cost = entry.cost.saturating_sub(cost);
        if entry.cost == 0 {
            state.entries.remove(index);
        }
        true
    }

    /// The units that a check finds at most.
    const fn usable(&self) -> u64 {
        self.limit.saturating_sub(self.keep)
    }

    const fn window_us(&self) -> u64 {
        self.window_ms * 1000
    }
}

impl Described for SlidingWindowLog {
    const TITLE: &'static str = "Sliding window log";
    const HINT: &'static str =
        "Exact in any window. Stores every request, so best for low limits such as sign-ins.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("limit", "Limit", Input::Units),
        Parameter::new("window_ms", "per", Input::Window),
        Parameter::new(
            "count_denied",
            "Count denied requests too: repeated attempts extend the block",
            Input::CountDenied,
        ),
    ];
    const HAS_OWN_KEY: bool = true;
}

impl Definition for SlidingWindowLog {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.window_ms)
    }

    /// Units of denied checks cannot be distinguished from those of admitted ones.
    fn refundable(&self) -> bool {
        !self.count_denied
    }

    fn leasable(&self) -> bool {
        !self.count_denied
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    fn windows(&self) -> Option<Windows<'_>> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        Some(Bound::AnyWindow { limit: self.limit, window_ms: self.window_ms })
    }

    /// The units of an admitted request are available again exactly one window later.
    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        self.limit * stretch_us.div_ceil(self.window_us())
    }
}

impl Counting for SlidingWindowLog {
    type State = LogState;

    fn keeping(self, units: u64) -> Self {
        Self { keep: units, ..self }
    }

    /// The log with all entries that are newer than `now` merged into one of `now`, if a step of the clock left them there.
    fn settled(&self, state: &LogState, now: Micros) -> Option<LogState> {
        if !stepped(state, now) {
            return None;
        }
        let (mut entries, ahead): (VecDeque<Entry>, VecDeque<Entry>) =
            state.entries.iter().partition(|entry| entry.at_us <= now.0);
        let cost = ahead.iter().map(|entry| entry.cost).sum();
        entries.push_back(Entry { at_us: now.0, cost });
        Some(LogState { entries })
    }

    fn wait(&self, state: &LogState, cost: u64, now: Micros) -> Wait {
        if cost > self.usable() {
            return Wait::Forever;
        }
        let total: u64 = self.live(state, now).map(|entry| entry.cost).sum();
        let mut excess = (total + cost).saturating_sub(self.usable());
        if excess == 0 {
            return Wait::None;
        }
        for entry in self.live(state, now) {
            if entry.cost >= excess {
                return Wait::Ms(ms_until(entry.at_us + self.window_us(), now));
            }
            excess -= entry.cost;
        }
        // This is not reached: without entries a cost within the limit passes.
        Wait::Ms(self.window_ms)
    }

    fn charge(&self, state: &mut LogState, cost: u64, now: Micros) {
        let at_us = self.drop_dead(state, now);
        // No limit is greater, so an entry of more units denies no longer.
        let cost = cost.min(LOG_LIMIT_MAX);
        match state.entries.back_mut() {
            Some(newest) if newest.at_us == at_us => newest.cost += cost,
            _ => state.entries.push_back(Entry { at_us, cost }),
        }
        // An entry with the whole limit newer than it can decide nothing any more.
        let mut total: u64 = state.entries.iter().map(|entry| entry.cost).sum();
        while let Some(oldest) = state.entries.front() {
            if total - oldest.cost < self.limit {
                break;
            }
            total -= oldest.cost;
            state.entries.pop_front();
        }
    }

    fn log_denied(&self, state: &mut LogState, cost: u64, now: Micros) {
        if self.count_denied && cost <= self.usable() {
            self.charge(state, cost, now);
        }
    }

    /// Returns units of the entry of the charge; of the newest entries, if no charge is named.
    fn refund(
        &self,
        state: &mut LogState,
        cost: u64,
        charge: Option<ChargedLimit>,
        now: Micros,
    ) -> bool {
        if self.count_denied {
            return false;
        }
        if let Some(charge) = charge {
            return !stepped(state, now) && self.refund_entry(state, cost, charge.at, now);
        }
        self.drop_dead(state, now);
        let mut rest = cost;
        let returned = !state.entries.is_empty();
        while let Some(newest) = state.entries.back_mut() {
            if newest.cost > rest {
                newest.cost -= rest;
                break;
            }
            rest -= newest.cost;
            state.entries.pop_back();
        }
        returned
    }

    fn level(&self, state: &LogState, now: Micros) -> Level {
        let total: u64 = self.live(state, now).map(|entry| entry.cost).sum();
        let newest = self.live(state, now).last();
        Level {
            remaining: self.usable().saturating_sub(total),
            reset_after_ms: newest.map_or(0, |entry| ms_until(entry.at_us + self.window_us(), now)),
        }
    }

    /// Merges the entries of each sixty-fourth of the window into one, as young as the youngest of them, so that units
    /// return at most that much later.
    fn compact(&self, state: &mut LogState) {
        if state.entries.len() as u64 <= 2 * COMPACTED_ENTRIES {
            return;
        }
        let slot_us = (self.window_us() / COMPACTED_ENTRIES).max(1);
        for entry in std::mem::take(&mut state.entries) {
            match state.entries.back_mut() {
                Some(last) if last.at_us / slot_us == entry.at_us / slot_us => {
                    last.cost += entry.cost;
                    last.at_us = last.at_us.max(entry.at_us);
                }
                _ => state.entries.push_back(entry),
            }
        }
    }

    fn script_parameters(&self) -> ScriptParameters {
        let (window_us, count_denied) = (self.window_us(), u64::from(self.count_denied));
        match self.keep {
            0 => ScriptParameters::Three([self.limit, window_us, count_denied]),
            // The script trims the log by the whole limit.
            _ => ScriptParameters::Five([self.usable(), window_us, count_denied, self.limit, 0]),
        }
    }
}

/// Whether the newest entry is too far ahead of the clock.
fn stepped(state: &LogState, now: Micros) -> bool {
    stamp(state) > now.0 + SLACK_US
}

fn stamp(state: &LogState) -> u64 {
    state.entries.back().map_or(0, |entry| entry.at_us)
}
