//! Sends the parts of a batch to their links, and follows the redirections of a cluster.
//!
//! A part is sent again only if Redis did nothing in it.

use smallvec::SmallVec;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use weir_trace::RequestSpan;

use super::cluster_links::{ClusterLinks, Route};
use super::cost;
use super::link::Receiver;
use super::links::Links;
use super::pending::{Batching, PendingCheck, Reply};
use super::redirect::{Redirect, pause};
use super::script::Encoded;
use super::script_check::ScriptCheck;
use crate::error::RedisError;
use crate::placement::Bucket;
use crate::turn::end_turn;

/// Checks that were sent together, and their reply.
pub(super) type Replied<'a, 'b> = (&'a [ScriptCheck<'b>], Result<Reply, RedisError>);

/// Sends checks. `encode` encodes a part of them.
#[derive(Debug)]
pub(super) struct Sender<'l, F> {
    pub(super) links: &'l Links,
    pub(super) deadline: Instant,
    /// The span of the request, if it is traced.
    pub(super) span: Option<&'l RequestSpan>,
    pub(super) encode: F,
}

/// One attempt to have a part decided.
#[derive(Debug, Clone)]
struct Attempt<'a, 'b> {
    part: &'a [ScriptCheck<'b>],
    route: Route,
    batching: Batching,
    /// The number of redirections since the last pause.
    redirections: u32,
    /// The number of pauses before.
    pauses: u32,
}

/// The parts of a batch that are encoded before others run: less than 0.1 ms.
const PARTS_IN_A_TURN: usize = 4;
/// The most redirections in a row. More mean that the nodes disagree.
const REDIRECTIONS_MAX: u32 = 5;

impl<F: Fn(&[ScriptCheck<'_>]) -> Encoded> Sender<'_, F> {
    /// Sends a batch in parts, so that no call of the script takes long. Returns the replies in order.
    pub(super) async fn send_all<'a, 'b>(
        &self,
        asked: &'a [ScriptCheck<'b>],
    ) -> SmallVec<[Replied<'a, 'b>; 1]> {
        let mut sent = SmallVec::<[_; 1]>::new();
        for part in cost::parts(asked) {
            if !sent.is_empty() && sent.len().is_multiple_of(PARTS_IN_A_TURN) {
                end_turn().await;
            }
            let attempt = Attempt::first(part);
            let queued = self.send(&attempt);
            sent.push((attempt, queued));
        }
        let mut replies = SmallVec::with_capacity(sent.len());
        for (attempt, sent) in sent {
            match (received(sent).await, self.links.of_cluster()) {
                (Err(error), Some(links)) => {
                    self.follow(links, (attempt, error), &mut replies).await;
                }
                (reply, _) => replies.push((attempt.part, reply)),
            }
        }
        replies
    }

    /// Queues a part. All its checks are of one bucket.
    fn send(&self, attempt: &Attempt<'_, '_>) -> Result<Receiver, RedisError> {
        let part = attempt.part;
        let Some(first) = part.first() else { return Err(RedisError::BadReply("no checks")) };
        let (reply, received) = oneshot::channel();
        let pending = PendingCheck {
            encoded: (self.encode)(part),
            checks: part.len(),
            cost: cost::of(part),
            deadline: self.deadline,
            batching: attempt.batching,
            span: self.span.map(|span| Box::new(span.context())),
            reply: Some(reply),
        };
        self.links.push(&attempt.route, first.tenant, pending)?;
        Ok(received)
    }

    /// Sends a part again as the cluster asks, until it is decided or its deadline ends. While its slot moves, each check is
    /// sent by itself: a call can be decided only if all its keys are at one node.
    async fn follow<'a, 'b>(
        &self,
        links: &ClusterLinks,
        failed: (Attempt<'a, 'b>, RedisError),
        replies: &mut SmallVec<[Replied<'a, 'b>; 1]>,
    ) {
        let mut left = vec![failed];
        while let Some((failed, error)) = left.pop() {
            let bucket = (self.encode)(failed.part).bucket;
            let next = failed.after(&error, links, bucket);
            let Some(next) = next else {
                replies.push((failed.part, Err(error)));
                continue;
            };
            if matches!(error.label(), "moved" | "clusterdown") {
                links.refresh();
            }
            if next.batching != Batching::Shared && next.part.len() > 1 {
                let single = |part| (Attempt { part, ..failed.clone() }, error.clone());
                left.extend(failed.part.chunks(1).rev().map(single));
                continue;
            }
            if next.pauses > failed.pauses && !self.paused(failed.pauses).await {
                replies.push((failed.part, Err(error)));
                continue;
            }
            match received(self.send(&next)).await {
                Err(error) => left.push((next, error)),
                reply => replies.push((next.part, reply)),
            }
        }
    }

    /// Pauses before another attempt. Returns false if the deadline leaves no time for it.
    async fn paused(&self, pauses: u32) -> bool {
        let pause = pause(pauses);
        let in_time = Instant::now() + pause < self.deadline;
        if in_time {
            sleep(pause).await;
        }
        in_time
    }
}

impl<'a, 'b> Attempt<'a, 'b> {
    fn first(part: &'a [ScriptCheck<'b>]) -> Self {
        let (route, batching) = (Route::Bucket, Batching::Shared);
        Self { part, route, batching, redirections: 0, pauses: 0 }
    }

    /// The next attempt after an error, or `None` if Redis possibly did something or if another attempt is of no use.
    fn after(&self, error: &RedisError, links: &ClusterLinks, bucket: Bucket) -> Option<Self> {
        let host = match &self.route {
            Route::Bucket => links.host_of(bucket),
            Route::Node(node) => Some(node.host.clone()),
        };
        let redirections = self.redirections + 1;
        let follows = redirections <= REDIRECTIONS_MAX;
        let to = |route, batching| Self { route, batching, redirections, ..self.clone() };
        let later = |route| {
            let (batching, pauses) = (Batching::Alone, self.pauses + 1);
            Self { part: self.part, route, batching, redirections: 0, pauses }
        };
        match Redirect::of(error, host.as_deref()) {
            Some(Redirect::Moved(Some(node))) if follows => {
                let batching = if self.batching == Batching::Shared {
                    Batching::Shared
                } else {
                    Batching::Alone
                };
                Some(to(Route::Node(node), batching))
            }
            Some(Redirect::Ask(Some(node))) if follows => {
                Some(to(Route::Node(node), Batching::AloneAfterAsking))
            }
            Some(Redirect::TryAgain) if self.batching == Batching::Shared => {
                Some(to(self.route.clone(), Batching::Alone))
            }
            Some(_) => Some(later(Route::Bucket)),
            // Nothing was sent. The link to the node is possibly just being opened, or that of the bucket was closed.
            None if matches!(error, RedisError::Away) => {
                let is_worth_it = matches!(self.route, Route::Node(_)) || links.is_up(bucket);
                is_worth_it.then(|| Self { pauses: self.pauses + 1, ..self.clone() })
            }
            None => None,
        }
    }
}

/// Receives the reply. The batcher replies by the deadline; it ends without a reply only when the limiter is stopped.
async fn received(sent: Result<Receiver, RedisError>) -> Result<Reply, RedisError> {
    sent?.await.unwrap_or(Err(RedisError::Away))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio_util::sync::CancellationToken;
    use weir_domain::draft::LimitDraft;
    use weir_domain::request::Operation;

    use super::*;
    use crate::limiter::tests::fixture::{charge_of, fresh_tenant};
    use crate::limiter::{Limiter, LimiterSettings};

    /// The number of turns of another task of the same thread while a batch of `checks` checks is sent, each of 64 limits.
    async fn turns_of_others(checks: usize) -> u64 {
        let client = crate::client("redis://127.0.0.1:1").expect("an address");
        // Its task never runs, so it refuses every check at once.
        let (limiter, _task) =
            Limiter::new(client, LimiterSettings::default(), CancellationToken::new());
        let limits =
            |n| (1..=8).map(|at| LimitDraft::FixedWindow { limit: n, window_ms: at }).collect();
        let rules: Vec<_> = (1..=8).map(|id| charge_of(id.into(), limits(id))).collect();
        let (tenant, others) = (fresh_tenant(), Arc::new(AtomicU64::new(0)));
        let other = tokio::spawn({
            let others = Arc::clone(&others);
            async move {
                loop {
                    others.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        let check = ScriptCheck {
            tenant,
            namespace: "test",
            operation: Operation::Consume,
            cost: 1,
            rules: &rules,
            lease_id: weir_domain::algorithm::LeaseId::default(),
            idempotency: None,
            charged: None,
        };
        let results = limiter.check(&vec![check; checks]).await;
        other.abort();
        assert!(
            results.iter().all(|result| matches!(result, Err(RedisError::Away))),
            "{results:?}"
        );
        others.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn other_tasks_run_while_a_large_batch_is_encoded() {
        let turns = turns_of_others(100).await;
        assert!((24..=26).contains(&turns), "{turns}");
    }

    #[tokio::test]
    async fn few_checks_are_sent_at_once() {
        assert_eq!(turns_of_others(4).await, 0);
    }
}
