//! Checks that are queued or in flight.

use tokio::sync::oneshot;
use tokio::time::Instant;
use weir_domain::time::Micros;

use super::asked::Answer;
use super::script::Encoded;
use crate::error::RedisError;

/// Checks of one caller that are sent together, and the channel for their answers.
#[derive(Debug)]
pub(super) struct PendingCheck {
    pub(super) encoded: Encoded,
    /// The number of checks.
    pub(super) checks: usize,
    /// The estimated script time, in microseconds.
    pub(super) cost: u32,
    pub(super) deadline: Instant,
    /// `None` once the reply has been sent.
    pub(super) reply: Option<oneshot::Sender<Result<Reply, RedisError>>>,
}

/// The reply that a caller receives.
#[derive(Debug)]
pub(super) enum Reply {
    /// One answer for each check.
    Answers(Vec<Answer>),
    /// The call held periods of another time than this. Nothing was done.
    OtherPeriod(Micros),
}

impl PendingCheck {
    /// Sends the reply, unless one was sent before or the caller no longer waits.
    pub(super) fn reply(&mut self, result: Result<Reply, RedisError>) {
        if let Some(reply) = self.reply.take() {
            drop(reply.send(result));
        }
    }

    /// Whether the caller still waits.
    pub(super) fn is_awaited(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }
}
