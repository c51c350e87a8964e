//! An answer's body in small parts, so that the listener can observe whether the client reads them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::connection_state::ConnectionState;

/// The most bytes of one part, and of a body that is sent whole.
pub(super) const PART_BYTES: usize = 16 * 1024;

/// A body that records activity whenever the client reads a part.
#[derive(Debug)]
pub(super) struct PacedBody {
    body: Body,
    state: Arc<ConnectionState>,
    part: Bytes,
    waits_for_source: bool,
}

impl PacedBody {
    pub(super) fn new(body: Body, state: Arc<ConnectionState>) -> Self {
        Self { body, state, part: Bytes::new(), waits_for_source: false }
    }

    /// Records whether the body waits for its source, which the client does not cause.
    fn set_waiting(&mut self, waits: bool) {
        if waits && !self.waits_for_source {
            self.state.wait_for_source();
        }
        if !waits && self.waits_for_source {
            self.state.source_is_ready();
        }
        self.waits_for_source = waits;
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.part.is_empty() {
            let frame = Pin::new(&mut self.body).poll_frame(cx);
            self.set_waiting(frame.is_pending());
            match ready!(frame) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.part = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        self.state.touch(Instant::now());
        let count = self.part.len().min(PART_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.part.split_to(count)))))
    }

    fn is_end_stream(&self) -> bool {
        self.part.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let part = u64::try_from(self.part.len()).unwrap_or(u64::MAX);
        match hint.exact() {
            Some(exact) => hint.set_exact(exact + part),
            None => hint.set_lower(hint.lower() + part),
        }
        hint
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        self.set_waiting(false);
    }
}
