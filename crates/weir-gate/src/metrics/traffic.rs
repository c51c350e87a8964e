//! The traffic of a gate between two heartbeats. The recorder of statistics adds what it collected, so no check does more.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_domain::latency::Latencies;
use weir_store::TallyCounts;

/// The traffic since the last interval, and that interval.
#[derive(Debug, Default)]
pub(crate) struct Traffic(Mutex<State>);

/// Checks of all tenants.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrafficCounts {
    pub(crate) checks: u64,
    pub(crate) denied: u64,
    /// The durations of the checks.
    pub(crate) latencies: Latencies,
}

/// The traffic of an interval that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrafficInterval {
    pub(crate) length: Duration,
    pub(crate) counts: TrafficCounts,
    /// The number of checks that leased units admitted or the denial cache denied.
    pub(crate) from_memory: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The last collection.
    collected: Option<Collection>,
    /// The collection with which the open interval begins.
    begun: Option<Collection>,
    open: TrafficCounts,
    ended: Option<(TrafficInterval, Instant)>,
}

#[derive(Debug, Clone, Copy)]
struct Collection {
    at: Instant,
    /// The number of checks decided from memory since the start of the gate.
    from_memory: u64,
}

/// The shortest interval. Heartbeats follow each other faster while versions of the rulebook are announced.
const LENGTH_MIN: Duration = Duration::from_secs(1);
/// The time for which an interval is reported without a newer one.
const REPORTED_FOR: Duration = Duration::from_secs(10);

impl Traffic {
    /// Adds the checks that were collected at `at`. `from_memory` counts since the start of the gate. The first collection only
    /// begins the first interval.
    pub(crate) fn add(&self, counts: TrafficCounts, from_memory: u64, at: Instant) {
        let mut state = self.lock();
        let collection = Collection { at, from_memory };
        state.collected = Some(collection);
        match state.begun {
            None => state.begun = Some(collection),
            Some(_) => state.open.absorb(&counts),
        }
    }

    /// The newest interval of at least a second. `None` at first, and while nothing has been collected for ten seconds.
    pub(crate) fn interval(&self, now: Instant) -> Option<TrafficInterval> {
        let mut state = self.lock();
        if let (Some(begun), Some(collected)) = (state.begun, state.collected) {
            let length = collected.at.saturating_duration_since(begun.at);
            if length >= LENGTH_MIN {
                let counts = std::mem::take(&mut state.open);
                let from_memory = collected.from_memory.saturating_sub(begun.from_memory);
                let from_memory = from_memory.min(counts.checks);
                let interval = TrafficInterval { length, counts, from_memory };
                state.begun = Some(collected);
                state.ended = Some((interval, collected.at));
            }
        }
        let (interval, at) = state.ended?;
        (now.saturating_duration_since(at) <= REPORTED_FOR).then_some(interval)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrafficCounts {
    /// Adds the counts of requests and the durations of their checks.
    pub(crate) fn add(&mut self, requests: &TallyCounts, latencies: &Latencies) {
        self.checks += requests.allowed + requests.denied;
        self.denied += requests.denied;
        self.latencies.absorb(latencies);
    }

    fn absorb(&mut self, other: &Self) {
        self.checks += other.checks;
        self.denied += other.denied;
        self.latencies.absorb(&other.latencies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(checks: u64, denied: u64) -> TrafficCounts {
        let mut counts = TrafficCounts::default();
        let requests = TallyCounts { allowed: checks - denied, denied, ..TallyCounts::default() };
        let mut latencies = Latencies::default();
        (0..checks).for_each(|_| latencies.add(1_000));
        counts.add(&requests, &latencies);
        counts
    }

    #[test]
    fn interval_holds_what_was_collected_since_the_one_before() {
        let (traffic, start) = (Traffic::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(traffic.interval(at(0)), None);
        traffic.add(counts(50, 0), 40, at(0));
        assert_eq!(traffic.interval(at(10)), None, "the start of these checks is not known");
        traffic.add(counts(10, 2), 45, at(1_000));
        traffic.add(counts(20, 4), 49, at(2_000));
        let first = traffic.interval(at(2_100)).expect("two seconds");
        let (length, from_memory) = (Duration::from_secs(2), 9);
        assert_eq!(first, TrafficInterval { length, counts: counts(30, 6), from_memory });
        let median_us = first.counts.latencies.percentile_us(50);
        assert!(median_us.is_some_and(|us| (800..=1_131).contains(&us)), "{median_us:?}");

        // A heartbeat that follows at once reports the same interval, and none is reported for ever.
        traffic.add(counts(1, 0), 49, at(2_500));
        assert_eq!(traffic.interval(at(2_600)), Some(first));
        assert_eq!(traffic.interval(at(12_001)), None);
        traffic.add(counts(2, 1), 60, at(20_000));
        let later = traffic.interval(at(20_001)).expect("18 seconds");
        assert_eq!((later.length, later.counts), (Duration::from_secs(18), counts(3, 1)));
        assert_eq!(later.from_memory, 3, "never more than there were checks");
    }
}
