//! The leases of a request, held until its response has ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::client::Weir;
use crate::lease::Lease;
use crate::limits::OnFailure;

/// The time of a lease whose limit the answer does not list.
const LEASE_TIME: Duration = Duration::from_secs(60);

/// Renews the leases of an answer at a third of their time until it is dropped, and then releases them. A task does so for each lease, and
/// the response waits for none of them.
#[derive(Debug)]
pub(crate) struct Held {
    /// A task notices that the other end was dropped.
    _ends: Vec<oneshot::Sender<()>>,
}

impl Held {
    pub(crate) fn new(weir: &Weir, answer: &Answer, failed: &OnFailure) -> Self {
        let hold = |lease: &Lease| {
            let (end, ended) = oneshot::channel();
            let every = answer.time_of(lease) / 3;
            tokio::spawn(hold(weir.clone(), lease.id.clone(), every, ended, Arc::clone(failed)));
            end
        };
        Self { _ends: answer.leases.iter().map(hold).collect() }
    }
}

async fn hold(
    weir: Weir,
    lease: String,
    every: Duration,
    mut ended: oneshot::Receiver<()>,
    failed: OnFailure,
) {
    while tokio::time::timeout(every, &mut ended).await.is_err() {
        match weir.renew(&lease).await {
            Ok(renewed) if !renewed.held => break,
            Ok(_) => {}
            Err(error) => failed(&error),
        }
    }
    if let Err(error) = weir.release(&lease).await {
        failed(&error);
    }
}

impl Answer {
    /// The time after which a lease ends by itself.
    fn time_of(&self, lease: &Lease) -> Duration {
        let limits = self.limits.iter().filter(|limit| limit.rule_id == lease.rule_id);
        let mut places =
            limits.filter(|limit| limit.algorithm == "concurrency" && limit.window_ms >= 3);
        places.next().map_or(LEASE_TIME, |limit| Duration::from_millis(limit.window_ms))
    }
}

pin_project! {
    /// The body of a response behind a [`crate::WeirLayer`]. The leases of the request are released when it has ended or is dropped.
    #[derive(Debug)]
    pub struct LimitedBody<B> {
        #[pin]
        inner: B,
        held: Option<Held>,
    }
}

impl<B> LimitedBody<B> {
    pub(crate) fn from_inner(inner: B) -> Self {
        Self { inner, held: None }
    }

    pub(crate) fn holding(inner: B, held: Held) -> Self {
        Self { inner, held: Some(held) }
    }
}

impl<B: From<Vec<u8>>> From<Vec<u8>> for LimitedBody<B> {
    fn from(content: Vec<u8>) -> Self {
        Self::from_inner(content.into())
    }
}

impl<B: Body> Body for LimitedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = ready!(this.inner.poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            *this.held = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
