//! The time by the clock of Postgres, by which keys and overrides expire, whatever the clock of the gate's machine says.
//!
//! A monotonic clock advances the time, and each answer of Postgres to a poll corrects it. Until Postgres has answered, the
//! answers of Redis do, and before those the clock of the machine is used.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_domain::time::{Clock, Timestamp};

use crate::memory::monotonic::Monotonic;

/// The clock of a gate. Reading it takes no lock.
#[derive(Debug)]
pub(crate) struct GateClock {
    machine: Clock,
    monotonic: Monotonic,
    started: Instant,
    /// The corrected time at `started` in milliseconds; [`UNKNOWN`] before the first answer.
    origin_ms: AtomicI64,
    /// Whether Postgres has answered. From then on Redis' clock is not used.
    by_postgres: AtomicBool,
    estimate: Mutex<Estimate>,
}

/// The server whose clock was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockSource {
    Postgres,
    Redis,
}

/// The last readings of a server's clock.
#[derive(Debug, Default)]
struct Estimate {
    readings: VecDeque<Reading>,
    /// Successive readings that the others exclude: the server's clock was possibly set.
    excluded: VecDeque<Reading>,
    /// Whether the present difference was logged.
    is_logged: bool,
}

/// A time of a server in milliseconds, moved back to `started`, and its greatest error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    origin_ms: i64,
    error_ms: i64,
}

const UNKNOWN: i64 = i64::MIN;
/// The number of readings of which the one with the shortest round trip is used.
const READINGS: usize = 8;
/// The number of successive readings that show that the server's clock was set.
const STEP_READINGS: usize = 4;
/// The permitted contradiction of readings. Two clocks differ slightly in speed.
const DRIFT_MS: i64 = 10;
/// The difference above which the log warns. A difference below half of it ends the episode.
const WARN_ABOVE_MS: i64 = 250;

impl GateClock {
    pub(crate) fn new(machine: Clock, monotonic: Monotonic) -> Self {
        Self {
            machine,
            started: monotonic.now(),
            monotonic,
            origin_ms: AtomicI64::new(UNKNOWN),
            by_postgres: AtomicBool::new(false),
            estimate: Mutex::default(),
        }
    }

    /// The present time.
    pub(crate) fn now(&self) -> Timestamp {
        match self.origin_ms.load(Ordering::Relaxed) {
            UNKNOWN => self.machine.now(),
            origin_ms => self.after(origin_ms),
        }
    }

    /// The milliseconds by which the clock of the machine is ahead. `None` before the first answer.
    pub(crate) fn ahead_ms(&self) -> Option<i64> {
        match self.origin_ms.load(Ordering::Relaxed) {
            UNKNOWN => None,
            origin_ms => {
                let corrected_ms = self.after(origin_ms).as_millis();
                Some(self.machine.now().as_millis().saturating_sub(corrected_ms))
            }
        }
    }

    /// Notes the time of a server in an answer that has just arrived and `took` this long.
    pub(crate) fn correct(&self, source: ClockSource, at: Timestamp, took: Duration) {
        let is_redis = source == ClockSource::Redis;
        if is_redis && self.by_postgres.load(Ordering::Relaxed) {
            return;
        }
        let mut estimate = self.estimate.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !is_redis && !self.by_postgres.swap(true, Ordering::Relaxed);
        if is_first {
            *estimate = Estimate { is_logged: estimate.is_logged, ..Estimate::default() };
        } else if is_redis && self.by_postgres.load(Ordering::Relaxed) {
            return;
        }
        let half_ms = ms(took) / 2;
        let origin_ms = at.plus_ms(half_ms).plus_ms(-self.elapsed_ms()).as_millis();
        let used = estimate.add(Reading { origin_ms, error_ms: half_ms + 1 });
        self.origin_ms.store(used.origin_ms.max(UNKNOWN + 1), Ordering::Relaxed);
        let ahead_ms = self.ahead_ms().unwrap_or_default();
        let is_far = ahead_ms.saturating_abs() > WARN_ABOVE_MS + used.error_ms;
        if is_far && !estimate.is_logged {
            tracing::warn!(
                ahead_ms,
                source = ?source,
                "the clock of this machine is wrong: keys and overrides expire by the corrected time"
            );
        }
        let is_over = ahead_ms.saturating_abs() < WARN_ABOVE_MS / 2;
        estimate.is_logged = is_far || (estimate.is_logged && !is_over);
    }

    fn after(&self, origin_ms: i64) -> Timestamp {
        Timestamp::from_millis(origin_ms).plus_ms(self.elapsed_ms())
    }

    fn elapsed_ms(&self) -> i64 {
        ms(self.monotonic.now().saturating_duration_since(self.started))
    }
}

impl Estimate {
    /// Adds a reading. Returns the one to use.
    fn add(&mut self, reading: Reading) -> Reading {
        let used = self.best();
        if used.is_some_and(|used| used.excludes(reading)) {
            self.excluded.push_back(reading);
            if self.excluded.len() >= STEP_READINGS {
                self.readings = std::mem::take(&mut self.excluded);
            }
        } else {
            self.excluded.clear();
            if self.readings.len() >= READINGS {
                self.readings.pop_front();
            }
            self.readings.push_back(reading);
        }
        self.best().unwrap_or(reading)
    }

    /// The reading with the smallest error, the newest of equal ones.
    fn best(&self) -> Option<Reading> {
        self.readings.iter().rev().min_by_key(|reading| reading.error_ms).copied()
    }
}

impl Reading {
    fn excludes(self, other: Self) -> bool {
        let apart_ms = self.origin_ms.saturating_sub(other.origin_ms).saturating_abs();
        apart_ms > self.error_ms + other.error_ms + DRIFT_MS
    }
}

fn ms(duration: Duration) -> i64 {
    // Far below the limit, so that sums of a few do not overflow.
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 8)
}

#[cfg(test)]
mod tests;
