//! Deadlines that count only the time in which a reply of Redis could have been received.
//!
//! On a machine that is busy or was paused, this process can wake long after a deadline, with the answer already in the
//! socket. It then waits the lost time again (a few times at most), so a stall of this process is not mistaken for one of
//! Redis and degrades no check.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Waits for the reply to one call until several deadlines in turn.
#[derive(Debug, Default)]
pub(super) struct StallTolerantDeadline {
    /// The time by which deadlines have moved, to replace lost time.
    moved: Duration,
    times_moved: u32,
    /// The time at which the last wait ended without an answer.
    given_up_at: Option<Instant>,
}

/// The resolution of timers. A later wake-up means that this process was prevented from running.
const ON_TIME: Duration = Duration::from_millis(3);
const MOVES_MAX: u32 = 4;
const LAST_POLLS: u32 = 4;

impl StallTolerantDeadline {
    /// Returns the answer if it arrives before `deadline`, extended by the lost time.
    pub(super) async fn wait<T>(
        &mut self,
        mut answer: Pin<&mut impl Future<Output = T>>,
        deadline: Instant,
    ) -> Option<T> {
        if self.given_up_at.is_some_and(|at| deadline + self.moved <= at) {
            return None;
        }
        loop {
            let until = deadline + self.moved;
            if let Ok(answer) = timeout_at(until, answer.as_mut()).await {
                return Some(answer);
            }
            let lost = Instant::now().saturating_duration_since(until);
            if lost <= ON_TIME || self.times_moved == MOVES_MAX {
                break;
            }
            self.times_moved += 1;
            // Add the lost time, and the same time again from now on.
            self.moved += 2 * lost;
        }
        // An answer that has arrived is possibly still passing through other tasks.
        for _ in 0..LAST_POLLS {
            tokio::task::yield_now().await;
            if let Ok(answer) = tokio::time::timeout(Duration::ZERO, answer.as_mut()).await {
                return Some(answer);
            }
        }
        self.given_up_at = Some(Instant::now());
        None
    }
}

/// Whether it is too late to send a check. A check that is much later was delayed by a stall of this process, and is sent
/// nevertheless.
pub(super) fn expired(deadline: Instant, now: Instant) -> bool {
    deadline <= now && now <= deadline + ON_TIME
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn reply_that_never_comes_is_given_up() {
        let deadline = Instant::now() + Duration::from_millis(10);
        let mut answer = pin!(std::future::pending::<()>());
        assert_eq!(StallTolerantDeadline::default().wait(answer.as_mut(), deadline).await, None);
        assert!(Instant::now() >= deadline);
    }

    #[tokio::test]
    async fn time_in_which_this_process_could_not_run_is_waited_again() {
        let began = Instant::now();
        let mut answer = pin!(async {
            tokio::task::yield_now().await;
            // Like a stall of the whole process, this prevents the timer from firing.
            while began.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            "answered after a stall"
        });
        let deadline = began + Duration::from_millis(10);
        let heard = StallTolerantDeadline::default().wait(answer.as_mut(), deadline).await;
        assert_eq!(heard, Some("answered after a stall"));
    }

    #[tokio::test]
    async fn lost_time_is_waited_again_a_bounded_number_of_times() {
        for (times_moved, moves) in [(0, true), (MOVES_MAX - 1, true), (MOVES_MAX, false)] {
            let mut deadline =
                StallTolerantDeadline { times_moved, ..StallTolerantDeadline::default() };
            let mut answer = pin!(std::future::pending::<()>());
            let long_ago = Instant::now() - Duration::from_millis(20);
            assert_eq!(deadline.wait(answer.as_mut(), long_ago).await, None);
            assert_eq!(deadline.moved > Duration::ZERO, moves, "{deadline:?}");
        }
    }

    #[tokio::test]
    async fn further_deadlines_that_passed_meanwhile_are_not_waited_for() {
        let mut polls = 0;
        let mut answer = pin!(std::future::poll_fn(|_| {
            polls += 1;
            Poll::<()>::Pending
        }));
        let mut deadline = StallTolerantDeadline::default();
        let now = Instant::now();
        for _ in 0..100 {
            assert_eq!(deadline.wait(answer.as_mut(), now).await, None);
        }
        let later = Instant::now() + Duration::from_millis(10);
        assert_eq!(deadline.wait(answer.as_mut(), later).await, None);
        assert!(Instant::now() >= later);
        assert!(polls < 30, "{polls} polls");
    }
}
