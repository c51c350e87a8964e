//! Successive calls without an answer, after which Redis counts as away.

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Timeouts {
    in_a_row: u32,
    /// The time at which the last counted one was noticed.
    last: Option<Instant>,
}

const UNTIL_DOWN: u32 = 3;

impl Timeouts {
    /// Notes that a call which was sent at this time has no answer. Returns whether Redis counts as away. Calls that were in
    /// flight together count once.
    pub(super) fn timed_out(&mut self, sent: Instant, now: Instant) -> bool {
        if self.last.is_none_or(|last| sent >= last) {
            self.in_a_row += 1;
            self.last = Some(now);
        }
        self.in_a_row >= UNTIL_DOWN
    }

    /// Notes an answer, or a new connection.
    pub(super) fn answered(&mut self) {
        self.in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn calls_in_flight_together_count_once() {
        let (mut timeouts, start) = (Timeouts::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        for round in 0..2 {
            for call in 0..5 {
                assert!(!timeouts.timed_out(at(20 * round + call), at(20 * round + call + 10)));
            }
        }
        assert!(timeouts.timed_out(at(40), at(50)));
        timeouts.answered();
        assert!(!timeouts.timed_out(at(60), at(70)));
    }
}
