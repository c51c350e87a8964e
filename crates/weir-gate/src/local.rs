//! Deciding alone while Redis is away, for rules with `on_store_failure: local`.
//!
//! Each gate grants its share: the limit divided by the gates that live, at least one unit. Counters
//! are in memory, bounded, and begin untouched.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_domain::algorithm::Algorithm;
use weir_domain::calendar;
use weir_domain::charge::{Check, RuleCharge};
use weir_domain::decide::{Counters, Decision, decide};
use weir_domain::id::TenantId;
use weir_domain::request::Act;
use weir_domain::time::{Clock, Micros};

/// The counters of one gate.
#[derive(Debug)]
pub(crate) struct Local {
    counters: Mutex<Counters>,
    live_gates: AtomicU64,
    clock: Clock,
}

/// Most counters kept; when there would be more, all begin anew.
const COUNTERS_MAX: usize = 100_000;

impl Local {
    /// No counters yet, and nobody else known.
    pub(crate) fn new(clock: Clock) -> Self {
        Self { counters: Mutex::default(), live_gates: AtomicU64::new(1), clock }
    }

    /// Sets among how many gates limits are divided.
    pub(crate) fn set_live_gates(&self, gates: u64) {
        self.live_gates.store(gates.max(1), Ordering::Relaxed);
    }

    /// One decision for each limit of each rule, by this gate's clock.
    pub(crate) fn decide(
        &self,
        tenant: TenantId,
        act: Act,
        cost: u64,
        charges: &[RuleCharge],
    ) -> Vec<Decision> {
        if charges.is_empty() {
            return Vec::new();
        }
        let now = Micros::from_ms(self.clock.now().as_millis_u64());
        let gates = self.live_gates.load(Ordering::Relaxed);
        let rules = charges.iter().map(|charge| {
            let mut meters = charge.meters(tenant, |quota| calendar::bounds(quota, now));
            for ((_, meter), limit) in meters.limits.iter_mut().zip(charge.limits()) {
                let share = share(&limit.algorithm, gates);
                *meter = share.meter(|quota| calendar::bounds(quota, now));
            }
            meters
        });
        let check = Check { act, cost, rules: rules.collect() };
        let mut counters = self.counters.lock().expect("nothing panics while it is held");
        if counters.0.len() > COUNTERS_MAX {
            counters.0.clear();
        }
        decide(&mut counters, &check, now)
    }
}

/// One gate's share of a limit. Buckets keep their refill and stretch its interval; where the share
/// could not be counted exactly, the whole limit holds.
fn share(algorithm: &Algorithm, gates: u64) -> Algorithm {
    use weir_domain::algorithm::{
        FixedWindow, LeakyBucket, Quota, SlidingWindowCounter, SlidingWindowLog, Spacing,
        TokenBucket,
    };
    let part = |limit: u64| (limit / gates).max(1);
    let shared = match algorithm {
        Algorithm::FixedWindow(it) => {
            FixedWindow::new(part(it.limit()), it.window_ms()).map(Algorithm::FixedWindow)
        }
        Algorithm::SlidingWindowLog(it) => {
            SlidingWindowLog::new(part(it.limit()), it.window_ms(), it.counts_denied())
                .map(Algorithm::SlidingWindowLog)
        }
        Algorithm::SlidingWindowCounter(it) => {
            SlidingWindowCounter::new(part(it.limit()), it.window_ms())
                .map(Algorithm::SlidingWindowCounter)
        }
        Algorithm::TokenBucket(it) => {
            let interval_ms = it.refill_interval_ms() * gates;
            TokenBucket::new(part(it.capacity()), it.refill_tokens(), interval_ms)
                .map(Algorithm::TokenBucket)
        }
        Algorithm::LeakyBucket(it) => {
            let interval_ms = it.drain_interval_ms() * gates;
            LeakyBucket::new(part(it.capacity()), it.drain_units(), interval_ms)
                .map(Algorithm::LeakyBucket)
        }
        Algorithm::Spacing(it) => Spacing::new(it.interval_ms() * gates).map(Algorithm::Spacing),
        Algorithm::Quota(it) => {
            Quota::new(part(it.limit()), it.calendar().clone()).map(Algorithm::Quota)
        }
    };
    shared.unwrap_or_else(|_| algorithm.clone())
}

#[cfg(test)]
mod tests {
    use weir_domain::algorithm::{FixedWindow, TokenBucket};

    use super::*;

    #[test]
    fn share_is_the_limit_divided_and_never_nothing() {
        let ten = Algorithm::FixedWindow(FixedWindow::new(10, 1_000).expect("valid"));
        assert_eq!(share(&ten, 3).limit(), 3);
        assert_eq!(share(&ten, 20).limit(), 1);
        let bucket = Algorithm::TokenBucket(TokenBucket::new(10, 5, 1_000).expect("valid"));
        let half = Algorithm::TokenBucket(TokenBucket::new(5, 5, 2_000).expect("valid"));
        assert_eq!(share(&bucket, 2), half);
    }
}
