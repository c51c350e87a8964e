//! Refuses requests while the process is overloaded.
//!
//! A request's bytes wait until its connection's task runs. When all requests have waited too long for some time, answering
//! each of them would only make the waits longer. Then requests that have waited are refused at once, until waits are short
//! again. A single pause of the process does not count.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The time for which every request must have waited too long before requests are refused.
const SUSTAINED_MS: u64 = 100;
/// The time without a late request after which a new episode begins.
const EPISODE_MS: u64 = 1_000;
/// The time after a refusal during which half of the longest wait is too long.
const RECOVERY_MS: u64 = 1_000;

/// The admission of requests.
#[derive(Debug)]
pub(super) struct Overload {
    wait_max_ms: u64,
    requests_max: usize,
    in_flight: AtomicUsize,
    /// The time since which waits are too long; 0 if they are not.
    late_since_ms: AtomicU64,
    /// The end of the recovery, during which half of the longest wait is too long.
    recovering_until_ms: AtomicU64,
}

/// An admitted request. Dropping it ends the request.
#[derive(Debug)]
pub(super) struct Admitted<'a>(&'a Overload);

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shed {
    /// Requests have waited too long.
    Waited,
    /// Too many requests are in flight.
    InFlight,
}

impl Overload {
    /// Refuses requests while waits are longer than `wait_max`, or while `requests_max` are in flight.
    pub(super) fn new(wait_max: Duration, requests_max: usize) -> Self {
        Self {
            wait_max_ms: millis(wait_max),
            requests_max,
            in_flight: AtomicUsize::new(0),
            late_since_ms: AtomicU64::new(0),
            recovering_until_ms: AtomicU64::new(0),
        }
    }

    /// Admits a request that waited for `waited`. `now` is the time since the listener started.
    pub(super) fn admit(&self, waited: Duration, now: Duration) -> Result<Admitted<'_>, Shed> {
        if self.waits_are_too_long(millis(waited), millis(now) + 1) {
            return Err(Shed::Waited);
        }
        if self.in_flight.fetch_add(1, Ordering::Relaxed) >= self.requests_max {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            return Err(Shed::InFlight);
        }
        Ok(Admitted(self))
    }

    fn waits_are_too_long(&self, waited_ms: u64, now_ms: u64) -> bool {
        let is_recovering = now_ms < self.recovering_until_ms.load(Ordering::Relaxed);
        if is_recovering && waited_ms > self.wait_max_ms / 2 {
            self.recovering_until_ms.store(now_ms + RECOVERY_MS, Ordering::Relaxed);
            return true;
        }
        let late_since_ms = self.late_since_ms.load(Ordering::Relaxed);
        if waited_ms <= self.wait_max_ms {
            if late_since_ms != 0 {
                self.late_since_ms.store(0, Ordering::Relaxed);
            }
            return false;
        }
        let late_ms = now_ms.saturating_sub(late_since_ms);
        if late_since_ms == 0 || late_ms > EPISODE_MS {
            self.late_since_ms.store(now_ms, Ordering::Relaxed);
            return false;
        }
        if late_ms < SUSTAINED_MS {
            return false;
        }
        self.recovering_until_ms.store(now_ms + RECOVERY_MS, Ordering::Relaxed);
        true
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(overload: &Overload, waited_ms: u64, now_ms: u64) -> Result<(), Shed> {
        overload.admit(Duration::from_millis(waited_ms), Duration::from_millis(now_ms)).map(|_| ())
    }

    #[test]
    fn waits_that_stay_too_long_are_refused_until_they_are_short_again() {
        let overload = Overload::new(Duration::from_millis(100), 10);
        assert_eq!(admit(&overload, 101, 0), Ok(()), "perhaps a pause");
        assert_eq!(admit(&overload, 150, 99), Ok(()));
        assert_eq!(admit(&overload, 150, 100), Err(Shed::Waited));
        assert_eq!(admit(&overload, 51, 110), Err(Shed::Waited), "the queue is still long");
        assert_eq!(admit(&overload, 50, 111), Ok(()), "the queue is short enough");
        assert_eq!(admit(&overload, 51, 1109), Err(Shed::Waited));
        assert_eq!(admit(&overload, 99, 2110), Ok(()), "all has been well for a second");
        assert_eq!(admit(&overload, 101, 2111), Ok(()), "from the beginning");
    }

    #[test]
    fn one_pause_of_the_process_refuses_nothing() {
        let overload = Overload::new(Duration::from_millis(100), 10);
        for now_ms in [0, 10, 50] {
            assert_eq!(admit(&overload, 400, now_ms), Ok(()));
        }
        assert_eq!(admit(&overload, 0, 60), Ok(()));
        assert_eq!(admit(&overload, 400, 150), Ok(()), "a second pause");
        assert_eq!(admit(&overload, 400, 60_000), Ok(()), "a third, long after");
    }

    #[test]
    fn requests_in_flight_are_bounded() {
        let overload = Overload::new(Duration::from_millis(100), 2);
        let now = Duration::ZERO;
        let first = overload.admit(now, now).expect("room");
        let _second = overload.admit(now, now).expect("room");
        assert_eq!(overload.admit(now, now).err(), Some(Shed::InFlight));
        drop(first);
        assert!(overload.admit(now, now).is_ok());
    }
}
