//! Time, always supplied: `Timestamp` for people's times, `Micros` for decisions.

use std::fmt;
use std::sync::Arc;

/// A point in time, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A point in time by the clock that decides (Redis' own), in microseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub u64);

/// The source of time; tests supply their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Timestamp {
    /// Makes a time from milliseconds since the epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds since the epoch; a time before it counts as the epoch.
    pub fn as_millis_u64(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// This time and `ms` milliseconds more, at the end of time at the latest.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl Micros {
    /// Makes a time from milliseconds since the epoch.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1000))
    }

    /// The time for people, rounded down to the millisecond.
    pub fn timestamp(self) -> Timestamp {
        Timestamp(i64::try_from(self.0 / 1000).unwrap_or(i64::MAX))
    }
}

impl Clock {
    /// A clock that calls `now` each time.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({:?})", self.now())
    }
}
