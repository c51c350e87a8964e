//! The calls in flight on one connection, and the replies to their checks until Redis has answered.
//!
//! Redis answers the calls of a connection in order, so only the reply to the first one is awaited.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use redis::{RedisResult, Value};
use tokio::time::{Instant, sleep_until};
use weir_domain::time::Micros;

use super::asked::Answer;
use super::deadline::StallTolerantDeadline;
use super::pending::{PendingCheck, Reply};
use super::queue::FairQueue;
use super::script::Encoded;
use crate::error::RedisError;

/// The calls in flight, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    calls: VecDeque<Call>,
    /// One reply for each call.
    replies: Replies,
    deadline: StallTolerantDeadline,
    /// The number of rounds so far. A round is one call, or in a cluster one call for each bucket.
    round: u64,
}

/// A call without an answer.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) batch: Vec<PendingCheck>,
    pub(super) sent: Instant,
    /// Whether no other call was in flight when this one was sent.
    pub(super) alone: bool,
    /// Whether the call contained the program, because Redis did not have it.
    pub(super) with_program: bool,
    /// The number of the round in which it was sent.
    round: u64,
}

/// The next event of a connection.
#[derive(Debug)]
pub(super) enum Event {
    /// The first call has its answer, or all its checks have expired.
    Answered(Call, Result<Value, RedisError>),
    /// Another call can be sent.
    Sendable,
}

/// The reply of Redis to a call. Polling it sends the call.
pub(super) type PendingReply = Pin<Box<dyn Future<Output = RedisResult<Value>> + Send>>;

impl Call {
    /// The estimated script time, in microseconds.
    pub(super) fn cost(&self) -> u32 {
        self.batch.iter().map(|check| check.cost).fold(0, u32::saturating_add)
    }

    /// Whether Redis did the work that `cost` estimates. It does less for a check that has an unreadable key or that was
    /// answered before, and more for a call that contains the program.
    pub(super) fn took_its_cost(&self, answers: &[Vec<Answer>]) -> bool {
        let decided = |answer: &Answer| matches!(answer, Answer::Decided(..));
        !self.with_program && answers.iter().flatten().all(decided)
    }
}

impl InFlight {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The number of rounds in flight.
    pub(super) fn rounds(&self) -> usize {
        let ends = self.calls.front().zip(self.calls.back());
        let rounds = ends.map_or(0, |(first, last)| last.round - first.round + 1);
        usize::try_from(rounds).unwrap_or(usize::MAX)
    }

    /// Counts the calls that are added from now on to another round.
    pub(super) fn begin_round(&mut self) {
        self.round += 1;
    }

    pub(super) fn add(
        &mut self,
        batch: Vec<PendingCheck>,
        reply: PendingReply,
        with_program: bool,
    ) {
        let alone = self.calls.is_empty();
        let (sent, round) = (Instant::now(), self.round);
        self.calls.push_back(Call { batch, sent, alone, with_program, round });
        self.replies.0.push_back(Slot { reply, value: None });
    }

    /// The time at which the last call was sent.
    pub(super) fn last_sent(&self) -> Option<Instant> {
        self.calls.back().map(|call| call.sent)
    }

    /// Waits for the reply to the first call while one of its checks needs it, or until another call can be sent: from
    /// `send_at`, if there are checks; `None` means never. Meanwhile, replies to the expired checks in flight and in the queue.
    /// There must be a call.
    pub(super) async fn next(&mut self, queue: &FairQueue, send_at: Option<Instant>) -> Event {
        let Self { calls, replies, deadline, .. } = self;
        let value = {
            let mut event = pin!(async {
                tokio::select! {
                    biased;
                    value = poll_fn(|context| replies.poll_first(context)) => Some(value),
                    () = sendable(queue, send_at) => None,
                }
            });
            loop {
                let awaited = |call: &Call| call.batch.iter().any(|check| check.reply.is_some());
                if !calls.front().is_some_and(awaited) {
                    break Some(Err(RedisError::Timeout));
                }
                let checks = calls.iter().flat_map(|call| &call.batch);
                let waiting = checks.filter(|check| check.reply.is_some());
                let deadlines = waiting.map(|check| check.deadline);
                // Checks that are queued from now on are due later than the others, because all have the same budget.
                let first = deadlines.chain(queue.earliest_deadline()).min();
                let first = first.unwrap_or_else(Instant::now);
                if let Some(event) = deadline.wait(event.as_mut(), first).await {
                    break event.map(|value| value.map_err(RedisError::from));
                }
                let checks = calls.iter_mut().flat_map(|call| &mut call.batch);
                for check in checks.filter(|check| check.deadline <= first) {
                    check.reply(Err(RedisError::Timeout));
                }
                queue.expire(first);
            }
        };
        let Some(value) = value else { return Event::Sendable };
        *deadline = StallTolerantDeadline::default();
        // The reply to a call that was given up is discarded when it arrives.
        replies.0.pop_front();
        match calls.pop_front() {
            Some(call) => Event::Answered(call, value),
            None => Event::Sendable,
        }
    }

    /// Replies with this error to all checks in flight, which were possibly decided.
    pub(super) fn fail(&mut self, error: &RedisError) {
        self.replies.0.clear();
        for mut check in self.calls.drain(..).flat_map(|call| call.batch) {
            check.reply(Err(error.clone()));
        }
    }
}

/// Waits until this time and then for checks. `None` means never.
async fn sendable(queue: &FairQueue, at: Option<Instant>) {
    let Some(at) = at else { return std::future::pending().await };
    sleep_until(at).await;
    if !queue.arrival().await {
        // The queue was closed. The calls in flight are answered first.
        std::future::pending::<()>().await;
    }
}

#[derive(Default)]
struct Replies(VecDeque<Slot>);

struct Slot {
    reply: PendingReply,
    value: Option<RedisResult<Value>>,
}

impl Replies {
    /// Polls all replies, so that all calls are sent, and returns the first one.
    fn poll_first(&mut self, context: &mut Context<'_>) -> Poll<RedisResult<Value>> {
        for slot in self.0.iter_mut().filter(|slot| slot.value.is_none()) {
            if let Poll::Ready(value) = slot.reply.as_mut().poll(context) {
                slot.value = Some(value);
            }
        }
        match self.0.front_mut().and_then(|slot| slot.value.take()) {
            Some(value) => Poll::Ready(value),
            None => Poll::Pending,
        }
    }
}

impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Replies").field(&self.0.len()).finish()
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
        // The script compared the same bounds, so this cannot happen. Another call would change nothing.
        std::mem::swap(&mut right, &mut others);
    }
    for mut pending in others {
        pending.reply(Ok(Reply::OtherPeriod(now)));
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_do_less_or_more_than_estimated_tell_nothing_about_the_next_one() {
        let call = |with_program| Call {
            batch: Vec::new(),
            sent: Instant::now(),
            alone: true,
            with_program,
            round: 0,
        };
        let decided = || Answer::Decided(Micros(1), Vec::new());
        let others = [
            Answer::Unreadable("a key".to_owned()),
            Answer::KeyReused,
            Answer::Repeated(Micros(1), String::new(), Vec::new()),
        ];
        assert!(call(false).took_its_cost(&[vec![decided(), decided()], vec![decided()]]));
        assert!(!call(true).took_its_cost(&[vec![decided()]]));
        for other in others {
            let answers = [vec![decided()], vec![decided(), other]];
            assert!(!call(false).took_its_cost(&answers), "{answers:?}");
        }
    }
}
