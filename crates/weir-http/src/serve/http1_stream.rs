//! The stream that the HTTP/1.1 server reads: it contains only checked heads, and bodies with the framing of their heads.
//!
//! Bytes are checked in the server's buffer. Only an incomplete head is copied, and withheld until it is complete.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::chunks::Chunks;
use super::connection_state::ConnectionState;
use super::head::{self, Framing, HEAD_BYTES_MAX, HeadBounds, Refusal};
use super::transport::Transport;

#[derive(Debug)]
pub(super) struct Http1Stream {
    transport: Transport,
    state: Arc<ConnectionState>,
    bounds: HeadBounds,
    expected: Expected,
    /// Bytes that the server has not received yet: checked ones up to `checked`, then the beginning of a head.
    withheld: Vec<u8>,
    checked: usize,
    end: Option<End>,
}

/// The part of a request that the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Head,
    Body(u64),
    Chunks(Chunks),
}

/// The reason why the server receives no more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A head was refused, and is not answered yet.
    Refused(Refusal),
    /// A body is outside the grammar. Its request has its own answer.
    BrokenBody,
}

impl Http1Stream {
    pub(super) fn new(
        transport: Transport,
        bounds: HeadBounds,
        state: Arc<ConnectionState>,
    ) -> Self {
        let withheld = Vec::new();
        let checked = 0;
        Self { transport, state, bounds, expected: Expected::Head, withheld, checked, end: None }
    }

    /// The refusal of a head that is not answered yet.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self.end {
            Some(End::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the client is possibly sending bytes that the server will not read.
    pub(super) fn has_unread_bytes(&self) -> bool {
        self.end.is_some() || !matches!(self.expected, Expected::Head)
    }

    pub(super) fn into_transport(self) -> Transport {
        self.transport
    }

    /// Checks bytes in order of arrival. Returns the number of bytes that the server can receive.
    fn check(&mut self, bytes: &mut [u8]) -> usize {
        let mut checked = 0;
        while checked < bytes.len() && self.end.is_none() {
            let rest = &mut bytes[checked..];
            match &mut self.expected {
                Expected::Head => match head::inspect(rest, &self.bounds) {
                    Ok(Some((length, framing))) => {
                        checked += length;
                        self.expected = match framing {
                            Framing::Length(0) => Expected::Head,
                            Framing::Length(length) => Expected::Body(length),
                            Framing::Chunked => Expected::Chunks(Chunks::new()),
                        };
                    }
                    Ok(None) => break,
                    Err(refusal) => self.end = Some(End::Refused(refusal)),
                },
                Expected::Body(left) => {
                    let available = u64::try_from(rest.len()).unwrap_or(u64::MAX);
                    let taken = available.min(*left);
                    *left -= taken;
                    checked += usize::try_from(taken).unwrap_or(rest.len());
                    if *left == 0 {
                        self.expected = Expected::Head;
                    }
                }
                Expected::Chunks(chunks) => match chunks.advance(rest) {
                    Ok((taken, is_complete)) => {
                        checked += taken;
                        if is_complete {
                            self.expected = Expected::Head;
                        }
                    }
                    Err(_) => self.end = Some(End::BrokenBody),
                },
            }
        }
        self.state.set_body_pending(!matches!(self.expected, Expected::Head));
        checked
    }

    /// Gives the checked part of the withheld bytes to the server.
    fn give(&mut self, buf: &mut ReadBuf<'_>) {
        let count = self.checked.min(buf.remaining());
        buf.put_slice(&self.withheld[..count]);
        self.withheld.drain(..count);
        self.checked -= count;
        if self.withheld.is_empty() {
            self.withheld = Vec::new();
        }
    }

    /// Checks the bytes of `buf` after the first `before`, and leaves only those that the server can receive.
    fn sort(&mut self, buf: &mut ReadBuf<'_>, before: usize) {
        if self.withheld.is_empty() {
            let read = &mut buf.filled_mut()[before..];
            let checked = self.check(read);
            if self.end.is_none() {
                self.withheld.extend_from_slice(&read[checked..]);
            }
            buf.set_filled(before + checked);
        } else {
            let mut withheld = std::mem::take(&mut self.withheld);
            withheld.extend_from_slice(&buf.filled()[before..]);
            buf.set_filled(before);
            self.checked = self.check(&mut withheld);
            self.withheld = withheld;
            self.give(buf);
        }
        debug_assert!(self.withheld.len() <= HEAD_BYTES_MAX + buf.capacity(), "a head is bounded");
    }
}

impl AsyncRead for Http1Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        loop {
            if self.checked > 0 {
                self.give(buf);
            }
            // After a refusal the server sees the end of the stream.
            if buf.filled().len() > before || self.end.is_some() {
                return Poll::Ready(Ok(()));
            }
            ready!(Pin::new(&mut self.transport).poll_read(cx, buf))?;
            if buf.filled().len() == before {
                return Poll::Ready(Ok(()));
            }
            self.sort(buf, before);
        }
    }
}

impl AsyncWrite for Http1Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    /// Only flushes: the connection closes the stream after its last answer.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
