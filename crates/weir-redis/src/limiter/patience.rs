//! Waiting within a budget, fairly: what counts is time in which Redis could have been heard.
//!
//! On a machine that is busy or was paused, this process may wake long after a deadline, with the
//! answer already in the socket. Such lost time is waited again (a few times at most), so a stall of
//! our own is not taken for one of Redis, and no check passes unasked because of it.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Timers are this coarse anyway; waking later means that this process was kept from running.
const ON_TIME: Duration = Duration::from_millis(3);
const AGAIN_MAX: u32 = 4;
const LAST_LOOKS: u32 = 4;

/// The answer, if it comes before `deadline` and whatever time was lost.
pub(super) async fn within<T>(answer: impl Future<Output = T>, deadline: Instant) -> Option<T> {
    let mut answer = pin!(answer);
    let mut until = deadline;
    for _ in 0..AGAIN_MAX {
        if let Ok(answer) = timeout_at(until, &mut answer).await {
            return Some(answer);
        }
        let now = Instant::now();
        let lost = now.saturating_duration_since(until);
        if lost <= ON_TIME {
            break;
        }
        until = now + lost;
    }
    // An answer that has arrived may still be on its way through other tasks.
    for _ in 0..LAST_LOOKS {
        tokio::task::yield_now().await;
        if let Ok(answer) = tokio::time::timeout(Duration::ZERO, &mut answer).await {
            return Some(answer);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_never_comes_is_given_up() {
        let deadline = Instant::now() + Duration::from_millis(10);
        assert_eq!(within(std::future::pending::<()>(), deadline).await, None);
        assert!(Instant::now() >= deadline);
    }

    #[tokio::test]
    async fn time_in_which_this_process_was_kept_from_running_is_waited_again() {
        let began = Instant::now();
        let answer = async {
            tokio::task::yield_now().await;
            // As a stall of the whole process does, this keeps the timer from firing.
            while began.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            "late by no fault of its own"
        };
        let heard = within(answer, began + Duration::from_millis(10)).await;
        assert_eq!(heard, Some("late by no fault of its own"));
    }
}
