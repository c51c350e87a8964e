//! Sliding window log: units of entries younger than the window, plus `c`, are at most the limit.
//!
//! Exact in every window, at the price of one entry for each admitted check. With `count_denied` a
//! denied check is logged too, so whoever keeps hammering stays out.

use std::collections::VecDeque;

use super::{Level, SLACK_US, Wait, ms_until};
use crate::limit::{InvalidLimit, LOG_LIMIT_MAX, span_ms};
use crate::time::Micros;

/// Parameters of a sliding window log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingWindowLog {
    limit: u64,
    window_ms: u64,
    count_denied: bool,
}

/// What was admitted (or counted as denied), oldest first.
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
        Ok(Self { limit, window_ms: span_ms("window_ms", window_ms)?, count_denied })
    }

    /// Units any window admits.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Length of the window in milliseconds.
    pub const fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// Whether denied checks are logged too.
    pub const fn counts_denied(&self) -> bool {
        self.count_denied
    }

    pub(super) fn wait(&self, state: &LogState, cost: u64, now: Micros) -> Wait {
        if cost > self.limit {
            return Wait::Forever;
        }
        let total: u64 = self.live(state, now).map(|entry| entry.cost).sum();
        let mut excess = (total + cost).saturating_sub(self.limit);
        if excess == 0 {
            return Wait::None;
        }
        for entry in self.live(state, now) {
            if entry.cost >= excess {
                return Wait::Ms(ms_until(entry.at_us + self.window_us(), now));
            }
            excess -= entry.cost;
        }
        // Unreachable in fact: without any entry a cost within the limit passes.
        Wait::Ms(self.window_ms)
    }

    pub(super) fn charge(&self, state: &mut LogState, cost: u64, now: Micros) {
        let at_us = self.drop_dead(state, now);
        match state.entries.back_mut() {
            Some(newest) if newest.at_us == at_us => newest.cost += cost,
            _ => state.entries.push_back(Entry { at_us, cost }),
        }
    }

    pub(super) fn log_denied(&self, state: &mut LogState, cost: u64, now: Micros) {
        if !self.count_denied || cost > self.limit {
            return;
        }
        self.charge(state, cost, now);
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

    pub(super) fn refund(&self, state: &mut LogState, cost: u64, now: Micros) {
        if self.count_denied {
            return;
        }
        self.drop_dead(state, now);
        let mut rest = cost;
        while let Some(newest) = state.entries.back_mut() {
            if newest.cost > rest {
                newest.cost -= rest;
                return;
            }
            rest -= newest.cost;
            state.entries.pop_back();
        }
    }

    pub(super) fn level(&self, state: &LogState, now: Micros) -> Level {
        let total: u64 = self.live(state, now).map(|entry| entry.cost).sum();
        let newest = self.live(state, now).last();
        Level {
            remaining: self.limit.saturating_sub(total),
            reset_after_ms: newest.map_or(0, |entry| ms_until(entry.at_us + self.window_us(), now)),
        }
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

    /// The log with all entries that are newer than `now` as one entry of now, if a step of the clock left them there.
    pub(super) fn settled(&self, state: &LogState, now: Micros) -> Option<LogState> {
        if !stepped(state, now) {
            return None;
        }
        let (mut entries, ahead): (VecDeque<Entry>, VecDeque<Entry>) =
            state.entries.iter().partition(|entry| entry.at_us <= now.0);
        let cost = ahead.iter().map(|entry| entry.cost).sum();
        entries.push_back(Entry { at_us: now.0, cost });
        Some(LogState { entries })
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

    const fn window_us(&self) -> u64 {
        self.window_ms * 1000
    }
}

/// Whether the newest entry is too far ahead of the clock.
fn stepped(state: &LogState, now: Micros) -> bool {
    stamp(state) > now.0 + SLACK_US
}

fn stamp(state: &LogState) -> u64 {
    state.entries.back().map_or(0, |entry| entry.at_us)
}
