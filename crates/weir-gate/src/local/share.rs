//! One gate's share of a limit.

use weir_domain::algorithm::{
    Algorithm, FixedWindow, LeakyBucket, Quota, SlidingWindowCounter, SlidingWindowLog, Spacing,
    TokenBucket,
};

/// One gate's share of a limit. Buckets keep their refill and stretch its interval; where that could not be counted
/// exactly, the whole limit holds.
pub(super) fn share(algorithm: &Algorithm, gates: u64) -> Algorithm {
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
