//! Sends the parts of a batch to their links, and follows the redirections of a cluster.
//!
//! A part is sent again only if Redis did nothing in it.

use smallvec::SmallVec;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use weir_trace::RequestSpan;

use super::asked::Asked;
use super::cluster_links::{ClusterLinks, Route};
use super::cost;
use super::link::Receiver;
use super::links::Links;
use super::pending::{Joining, PendingCheck, Reply};
use super::redirect::{Redirect, pause};
use super::script::Encoded;
use crate::error::RedisError;
use crate::placement::Bucket;

/// Checks that were sent together, and their reply.
pub(super) type Replied<'a, 'b> = (&'a [Asked<'b>], Result<Reply, RedisError>);

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
    part: &'a [Asked<'b>],
    route: Route,
    joining: Joining,
    /// The number of redirections since the last pause.
    redirections: u32,
    /// The number of pauses before.
    pauses: u32,
}

/// The most redirections in a row. More mean that the nodes disagree.
const REDIRECTIONS_MAX: u32 = 5;

impl<F: Fn(&[Asked<'_>]) -> Encoded> Sender<'_, F> {
    /// Sends a batch in parts, so that no call of the script takes long. Returns the replies in order.
    pub(super) async fn send_all<'a, 'b>(
        &self,
        asked: &'a [Asked<'b>],
    ) -> SmallVec<[Replied<'a, 'b>; 1]> {
        let send = |part| {
            let attempt = Attempt::first(part);
            let sent = self.send(&attempt);
            (attempt, sent)
        };
        let sent: SmallVec<[_; 1]> = cost::parts(asked).map(send).collect();
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
            joining: attempt.joining,
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
            if matches!(error.label(), "moved") {
                links.refresh();
            }
            if next.joining != Joining::Others && next.part.len() > 1 {
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
    fn first(part: &'a [Asked<'b>]) -> Self {
        let (route, joining) = (Route::Bucket, Joining::Others);
        Self { part, route, joining, redirections: 0, pauses: 0 }
    }

    /// The next attempt after an error, or `None` if Redis possibly did something or if another attempt is of no use.
    fn after(&self, error: &RedisError, links: &ClusterLinks, bucket: Bucket) -> Option<Self> {
        let host = match &self.route {
            Route::Bucket => links.host_of(bucket),
            Route::Node(node) => Some(node.host.clone()),
        };
        let redirections = self.redirections + 1;
        let follows = redirections <= REDIRECTIONS_MAX;
        let to = |route, joining| Self { route, joining, redirections, ..self.clone() };
        let later = |route| {
            let (joining, pauses) = (Joining::Nobody, self.pauses + 1);
            Self { part: self.part, route, joining, redirections: 0, pauses }
        };
        match Redirect::of(error, host.as_deref()) {
            Some(Redirect::Moved(Some(node))) if follows => {
                let joining =
                    if self.joining == Joining::Others { Joining::Others } else { Joining::Nobody };
                Some(to(Route::Node(node), joining))
            }
            Some(Redirect::Ask(Some(node))) if follows => {
                Some(to(Route::Node(node), Joining::NobodyAsking))
            }
            Some(Redirect::TryAgain) if self.joining == Joining::Others => {
                Some(to(self.route.clone(), Joining::Nobody))
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
