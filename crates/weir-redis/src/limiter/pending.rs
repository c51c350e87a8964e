//! Checks that are queued or in flight.

use smallvec::SmallVec;
use tokio::sync::oneshot;
use tokio::time::Instant;
use weir_domain::time::Micros;
use weir_trace::SpanContext;

use super::script::Encoded;
use super::script_check::Answer;
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
    /// The checks with which it shares a call.
    pub(super) batching: Batching,
    /// The span of the request, if it is traced.
    pub(super) span: Option<Box<SpanContext>>,
    /// `None` once the reply has been sent.
    pub(super) reply: Option<oneshot::Sender<Result<Reply, RedisError>>>,
}

/// The checks with which a check shares a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Batching {
    /// All others; in a cluster, those of its bucket.
    Shared,
    /// None, because its slot moves between two nodes of a cluster.
    Alone,
    /// None, and the node to which the slot moves is to serve it already.
    AloneAfterAsking,
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

/// The checks of each call that is sent in one round.
pub(super) type Calls = SmallVec<[Vec<PendingCheck>; 1]>;

/// Splits a batch into the calls that a primary of a cluster accepts: those of one bucket each.
pub(super) fn calls_by_bucket(batch: Vec<PendingCheck>) -> Calls {
    let mut calls = Calls::new();
    // The position of each bucket's call, plus one.
    let mut positions = [0_usize; 64];
    for pending in batch {
        let position = &mut positions[pending.encoded.bucket.index()];
        if pending.batching != Batching::Shared {
            calls.push(vec![pending]);
        } else if let Some(call) = position.checked_sub(1).and_then(|at| calls.get_mut(at)) {
            call.push(pending);
        } else {
            calls.push(vec![pending]);
            *position = calls.len();
        }
    }
    calls
}
