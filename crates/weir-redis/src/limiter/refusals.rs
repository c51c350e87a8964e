//! Errors that Redis itself returns: the time since the last success, and a bounded log of them.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::RedisError;

#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// The first refusal since the last good answer.
    since: Option<Instant>,
    logged: BTreeMap<&'static str, Logged>,
}

#[derive(Debug)]
struct Logged {
    at: Instant,
    /// The number of refusals since that line.
    more: u64,
}

/// The time after which refusals without any success count as an outage.
const OUTAGE_AFTER: Duration = Duration::from_secs(1);
/// The shortest time between two lines for the same reason.
const LOG_EVERY: Duration = Duration::from_secs(1);

impl Refusals {
    /// Notes that Redis decided something.
    pub(super) fn answered(&mut self) {
        self.since = None;
    }

    /// Notes that Redis refused a call. Returns whether it has done nothing else for a second.
    pub(super) fn refused(&mut self, error: &RedisError, now: Instant) -> bool {
        if let Some(more) = self.log_again(error.label(), now) {
            let (reason, cause) = (error.label(), error.cause());
            tracing::warn!(reason, cause, more, "Redis rejected checks");
        }
        now.duration_since(*self.since.get_or_insert(now)) >= OUTAGE_AFTER
    }

    /// The number of refusals for this reason that were not logged since its last line. `None` if it is too early for
    /// another line.
    fn log_again(&mut self, reason: &'static str, now: Instant) -> Option<u64> {
        let Some(logged) = self.logged.get_mut(reason) else {
            self.logged.insert(reason, Logged { at: now, more: 0 });
            return Some(0);
        };
        if now.duration_since(logged.at) < LOG_EVERY {
            logged.more += 1;
            return None;
        }
        let more = std::mem::replace(logged, Logged { at: now, more: 0 }).more;
        Some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(reply: &str) -> RedisError {
        let value = redis::parse_redis_value(reply.as_bytes()).expect("a reply");
        value.extract_error().expect_err("an error").into()
    }

    #[tokio::test]
    async fn a_second_of_nothing_but_refusals_is_an_outage_until_the_first_good_answer() {
        let (mut refusals, oom, start) =
            (Refusals::default(), error("-OOM full\r\n"), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!(!refusals.refused(&oom, at(0)));
        assert!(!refusals.refused(&oom, at(999)));
        assert!(refusals.refused(&oom, at(1_000)));
        refusals.answered();
        assert!(!refusals.refused(&oom, at(1_001)));
        assert!(refusals.refused(&oom, at(2_001)));
    }

    #[tokio::test]
    async fn each_reason_has_one_line_in_a_second() {
        let (mut refusals, start) = (Refusals::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(refusals.log_again("oom", at(0)), Some(0));
        assert_eq!(refusals.log_again("busy", at(1)), Some(0));
        for ms in 1..1_000 {
            assert_eq!(refusals.log_again("oom", at(ms)), None);
        }
        assert_eq!(refusals.log_again("oom", at(1_000)), Some(999));
        assert_eq!(refusals.log_again("oom", at(1_001)), None);
    }
}
