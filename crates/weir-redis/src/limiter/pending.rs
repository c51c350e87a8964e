//! Checks on their way: queued, or in the call at hand.

use std::pin::pin;

use redis::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use weir_domain::time::Micros;

use super::Answer;
use super::deadline::StallTolerantDeadline;
use super::queue::FairQueue;
use super::script::Encoded;
use crate::error::RedisError;

/// Checks of one caller that are sent together, and where the answers go.
#[derive(Debug)]
pub(super) struct PendingCheck {
    pub(super) encoded: Encoded,
    /// How many checks these are.
    pub(super) checks: usize,
    /// The estimated script time, in microseconds.
    pub(super) cost: u32,
    pub(super) deadline: Instant,
    /// `None` once the reply has been sent.
    pub(super) reply: Option<oneshot::Sender<Result<Reply, RedisError>>>,
}

/// What a caller receives.
#[derive(Debug)]
pub(super) enum Reply {
    /// One answer for each check.
    Answers(Vec<Answer>),
    /// The call held periods of another time than this; nothing was done.
    OtherPeriod(Micros),
}

impl PendingCheck {
    /// Sends the reply, if none was sent yet and the caller still waits.
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

pub(super) fn encoded(batch: &[PendingCheck]) -> Vec<&Encoded> {
    batch.iter().map(|pending| &pending.encoded).collect()
}

/// Replies to the checks whose periods do not hold at this time, and returns the others: one check's periods never fail
/// the others in its batch.
pub(super) fn reply_other_period(batch: Vec<PendingCheck>, now: Micros) -> Vec<PendingCheck> {
    let count = batch.len();
    let (mut right, mut others): (Vec<_>, Vec<_>) =
        batch.into_iter().partition(|pending| pending.encoded.holds_at(now));
    if right.len() == count {
        // The script compared the same bounds, so this cannot be; asking again would change nothing.
        std::mem::swap(&mut right, &mut others);
    }
    for mut pending in others {
        pending.reply(Ok(Reply::OtherPeriod(now)));
    }
    right
}

/// The reply of Redis, while a check of the batch waits for it. Checks whose time is over, in the batch or still in the
/// queue, get their reply meanwhile.
pub(super) async fn reply_in_time(
    reply: impl Future<Output = redis::RedisResult<Value>>,
    batch: &mut [PendingCheck],
    queue: &FairQueue,
) -> Result<Value, RedisError> {
    let (mut reply, mut deadline) = (pin!(reply), StallTolerantDeadline::default());
    loop {
        let waiting = batch.iter().filter(|pending| pending.reply.is_some());
        let Some(first) = waiting.map(|pending| pending.deadline).min() else {
            return Err(RedisError::Timeout);
        };
        // Checks that are queued from now on are due later than those in the batch: all have the same budget.
        let first = queue.earliest_deadline().map_or(first, |queued| queued.min(first));
        if let Some(value) = deadline.wait(reply.as_mut(), first).await {
            return Ok(value?);
        }
        for pending in batch.iter_mut().filter(|pending| pending.deadline <= first) {
            pending.reply(Err(RedisError::Timeout));
        }
        queue.expire(first);
    }
}
