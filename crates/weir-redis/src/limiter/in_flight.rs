//! The calls in flight on one connection, and the replies to their checks until Redis has answered.
//!
//! Calls are sent in rounds: one call, or in a cluster one call for each bucket. The calls of a round are sent and answered
//! together. Redis answers in order, so only the replies to the first round are awaited.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use redis::{RedisResult, Value};
use smallvec::{SmallVec, smallvec};
use tokio::time::{Instant, sleep_until};
use weir_domain::time::Micros;

use super::deadline::StallTolerantDeadline;
use super::pending::{Calls, PendingCheck, Reply};
use super::queue::FairQueue;
use super::script::Encoded;
use super::script_check::Answer;
use crate::error::RedisError;

/// The rounds in flight, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    rounds: VecDeque<Round>,
    /// The replies of one round each.
    replies: Replies,
    deadline: StallTolerantDeadline,
}

/// Calls without an answer that were sent together.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) calls: Calls,
    pub(super) sent: Instant,
    /// Whether no other round was in flight when this one was sent.
    pub(super) alone: bool,
    /// Whether the round contained the program, because Redis did not have it.
    pub(super) with_program: bool,
}

/// The next event of a connection.
#[derive(Debug)]
pub(super) enum Event {
    /// The calls of the first round have their answers, in order, or all its checks have expired.
    Answered(Round, SmallVec<[Result<Value, RedisError>; 1]>),
    /// Another round can be sent.
    Sendable,
}

/// The replies of Redis to the calls of a round, in order. Polling it sends the calls.
pub(super) type PendingReplies = Pin<Box<dyn Future<Output = CallResults> + Send>>;

/// One result for each call of a round.
pub(super) type CallResults = SmallVec<[RedisResult<Value>; 1]>;

impl Round {
    /// The estimated script time, in microseconds.
    pub(super) fn cost(&self) -> u32 {
        self.checks().map(|check| check.cost).fold(0, u32::saturating_add)
    }

    fn checks(&self) -> impl Iterator<Item = &PendingCheck> {
        self.calls.iter().flatten()
    }
}

/// Whether Redis did the work that was estimated for these answers. It does less for a check that has an unreadable key or
/// that was answered before.
pub(super) fn took_its_cost(answers: &[Vec<Answer>]) -> bool {
    answers.iter().flatten().all(|answer| matches!(answer, Answer::Decided(..)))
}

impl InFlight {
    pub(super) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// The number of rounds in flight.
    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    pub(super) fn add(&mut self, calls: Calls, replies: PendingReplies, with_program: bool) {
        let (alone, sent) = (self.rounds.is_empty(), Instant::now());
        self.rounds.push_back(Round { calls, sent, alone, with_program });
        self.replies.0.push_back(Slot { replies, results: None });
    }

    /// The time at which the last round was sent.
    pub(super) fn last_sent(&self) -> Option<Instant> {
        self.rounds.back().map(|round| round.sent)
    }

    /// Waits for the replies to the first round while one of its checks needs them, or until another round can be sent: from
    /// `send_at`, if there are checks; `None` means never. Meanwhile, replies to the expired checks in flight and in the queue.
    /// There must be a round.
    pub(super) async fn next(&mut self, queue: &FairQueue, send_at: Option<Instant>) -> Event {
        let Self { rounds, replies, deadline } = self;
        let results = {
            let mut event = pin!(async {
                tokio::select! {
                    biased;
                    results = poll_fn(|context| replies.poll_first(context)) => Some(results),
                    () = sendable(queue, send_at) => None,
                }
            });
            loop {
                let awaited = |round: &Round| round.checks().any(|check| check.reply.is_some());
                if !rounds.front().is_some_and(awaited) {
                    let count = rounds.front().map_or(0, |round| round.calls.len());
                    break Some(smallvec![Err(RedisError::Timeout); count]);
                }
                let checks = rounds.iter().flat_map(Round::checks);
                let waiting = checks.filter(|check| check.reply.is_some());
                let deadlines = waiting.map(|check| check.deadline);
                // Checks that are queued from now on are due later than the others, because all have the same budget.
                let first = deadlines.chain(queue.earliest_deadline()).min();
                let first = first.unwrap_or_else(Instant::now);
                if let Some(event) = deadline.wait(event.as_mut(), first).await {
                    break event.map(|results| {
                        results.into_iter().map(|result| result.map_err(RedisError::from)).collect()
                    });
                }
                let checks = rounds.iter_mut().flat_map(|round| round.calls.iter_mut().flatten());
                for check in checks.filter(|check| check.deadline <= first) {
                    check.reply(Err(RedisError::Timeout));
                }
                queue.expire(first);
            }
        };
        let Some(results) = results else { return Event::Sendable };
        *deadline = StallTolerantDeadline::default();
        // The replies to a round that was given up are discarded when they arrive.
        replies.0.pop_front();
        match rounds.pop_front() {
            Some(round) => Event::Answered(round, results),
            None => Event::Sendable,
        }
    }

    /// Replies with this error to all checks in flight, which were possibly decided.
    pub(super) fn fail(&mut self, error: &RedisError) {
        self.replies.0.clear();
        for mut check in self.rounds.drain(..).flat_map(|round| round.calls).flatten() {
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
    replies: PendingReplies,
    results: Option<CallResults>,
}

impl Replies {
    /// Polls the replies of all rounds, so that all are sent, and returns those of the first one.
    fn poll_first(&mut self, context: &mut Context<'_>) -> Poll<CallResults> {
        for slot in self.0.iter_mut().filter(|slot| slot.results.is_none()) {
            if let Poll::Ready(results) = slot.replies.as_mut().poll(context) {
                slot.results = Some(results);
            }
        }
        match self.0.front_mut().and_then(|slot| slot.results.take()) {
            Some(results) => Poll::Ready(results),
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
    use crate::limiter::FirstAnswer;

    #[test]
    fn calls_that_do_less_than_estimated_tell_nothing_about_the_next_one() {
        let decided = || Answer::Decided(Micros(1), Vec::new());
        let others = [
            Answer::Unreadable("a key".to_owned()),
            Answer::KeyReused,
            Answer::Repeated(Micros(1), FirstAnswer { at: None, text: String::new() }, Vec::new()),
        ];
        assert!(took_its_cost(&[vec![decided(), decided()], vec![decided()]]));
        for other in others {
            let answers = [vec![decided()], vec![decided(), other]];
            assert!(!took_its_cost(&answers), "{answers:?}");
        }
    }
}
