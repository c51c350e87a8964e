//! The batch in flight, and the replies to its checks until Redis has answered.

use std::pin::pin;

use redis::Value;
use weir_domain::time::Micros;

use super::deadline::StallTolerantDeadline;
use super::pending::{PendingCheck, Reply};
use super::queue::FairQueue;
use super::script::Encoded;
use crate::error::RedisError;

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
        // The script compared the same bounds, so this cannot happen. Another call would change nothing.
        std::mem::swap(&mut right, &mut others);
    }
    for mut pending in others {
        pending.reply(Ok(Reply::OtherPeriod(now)));
    }
    right
}

/// Waits for the reply of Redis while a check of the batch still needs it. Meanwhile, replies to the expired checks of the
/// batch and of the queue.
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
        // Checks that are queued from now on are due later than those in the batch, because all have the same budget.
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
