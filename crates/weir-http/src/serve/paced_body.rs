//! An answer's body in small pieces, so that the listener sees whether the client takes them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::connection_state::ConnectionState;

/// The most bytes of one piece, and of a body that is sent as it is.
pub(super) const PIECE_BYTES: usize = 16 * 1024;

/// A body that notes each piece the client takes.
#[derive(Debug)]
pub(super) struct PacedBody {
    body: Body,
    state: Arc<ConnectionState>,
    piece: Bytes,
    waits_for_source: bool,
}

impl PacedBody {
    pub(super) fn new(body: Body, state: Arc<ConnectionState>) -> Self {
        Self { body, state, piece: Bytes::new(), waits_for_source: false }
    }

    /// While the source has nothing to send, the client is not to blame.
    fn set_waiting(&mut self, waits: bool) {
        if waits && !self.waits_for_source {
            self.state.wait_for_source();
        }
        if !waits && self.waits_for_source {
            self.state.source_is_back();
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
        if self.piece.is_empty() {
            let frame = Pin::new(&mut self.body).poll_frame(cx);
            self.set_waiting(frame.is_pending());
            match ready!(frame) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.piece = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        self.state.touch(Instant::now());
        let count = self.piece.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.piece.split_to(count)))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let piece = u64::try_from(self.piece.len()).unwrap_or(u64::MAX);
        match hint.exact() {
            Some(exact) => hint.set_exact(exact + piece),
            None => hint.set_lower(hint.lower() + piece),
        }
        hint
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        self.set_waiting(false);
    }
}
