//! The settings of the limiter.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weir_domain::time::Micros;
use weir_trace::Traces;

/// The settings of a limiter.
#[derive(Debug, Clone)]
pub struct LimiterSettings {
    /// The longest time that a check waits for Redis, connection included.
    pub budget: Duration,
    /// The time that is added to the expiry of every key, against rounding: at most one second.
    pub grace: Duration,
    /// The deciding clock. `None` means Redis' own.
    pub clock: Option<DecidingClock>,
    /// Starts the spans of script calls that serve traced checks. `None` if nothing is traced.
    pub traces: Option<Traces>,
}

/// A clock that decides instead of Redis' own: for tests, which supply the time.
#[derive(Clone)]
pub struct DecidingClock(Arc<dyn Fn() -> Micros + Send + Sync>);

impl Default for LimiterSettings {
    fn default() -> Self {
        Self {
            budget: Duration::from_millis(10),
            grace: Duration::from_secs(1),
            clock: None,
            traces: None,
        }
    }
}

impl LimiterSettings {
    /// The supplied time that decides the next call, if there is one, and the grace in milliseconds.
    pub(super) fn clock_and_grace(&self) -> (Option<Micros>, u64) {
        let grace_ms = u64::try_from(self.grace.as_millis()).unwrap_or(1000);
        (self.clock.as_ref().map(DecidingClock::now), grace_ms)
    }
}

impl DecidingClock {
    /// A clock that calls `now` once for each call of the script.
    pub fn new(now: impl Fn() -> Micros + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(super) fn now(&self) -> Micros {
        (self.0)()
    }
}

impl fmt::Debug for DecidingClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecidingClock")
    }
}
