//! Turns: a large batch lets other requests run between parts of its work.

use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_redis::turn::end_turn;

/// The work of one request since others last ran, in limits.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    limits: usize,
}

/// The work after which others run: less than 0.1 ms. Preparing and recording a single check is never more, so only
/// batches yield.
const LIMITS_IN_A_TURN: usize = 2 * (LIMITS_PER_CHECK_MAX + 1);

impl Turns {
    /// Adds the work of one check with `limits` limits, and lets others run after enough work.
    pub(crate) async fn worked(&mut self, limits: usize) {
        self.limits += limits + 1;
        if self.limits > LIMITS_IN_A_TURN {
            self.limits = 0;
            end_turn().await;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::decide::turns::Turns;

    /// The number of turns of another task of the same thread during the work.
    pub(crate) async fn turns_of_others(work: impl Future<Output = ()>) -> u64 {
        let others = Arc::new(AtomicU64::new(0));
        let other = tokio::spawn({
            let others = Arc::clone(&others);
            async move {
                loop {
                    others.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        work.await;
        other.abort();
        others.load(Ordering::Relaxed)
    }

    async fn work(checks: usize, limits: usize) {
        let mut turns = Turns::default();
        for _ in 0..checks {
            turns.worked(limits).await;
        }
    }

    #[tokio::test]
    async fn batch_of_many_limits_yields_again_and_again() {
        let turns = turns_of_others(work(99, 64)).await;
        assert!((30..=36).contains(&turns), "{turns}");
    }

    #[tokio::test]
    async fn single_check_does_not_yield() {
        assert_eq!(turns_of_others(work(2, 64)).await, 0);
    }
}
