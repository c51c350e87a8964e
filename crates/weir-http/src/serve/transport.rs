//! The byte stream of a connection. Its first bytes identify the protocol, a write without progress fails, and the time
//! between the arrival of bytes and their handling is measured.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connection_state::{ConnectionState, ReadWaker};
use super::tls::Stream;

/// The first bytes of an HTTP/2 connection with prior knowledge.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The longest time for which a closing connection reads what the client still sends. A reset would discard the answer.
const LINGER_DEADLINE: Duration = Duration::from_secs(2);
/// The most bytes that a closing connection reads.
const LINGER_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A stream with its deadlines.
#[derive(Debug)]
pub(super) struct Transport {
    stream: Stream,
    opening: [u8; PREFACE.len()],
    filled: usize,
    returned: usize,
    /// The longest time in which a write makes no progress.
    write_deadline: Duration,
    /// The timer of a write that waits for the peer.
    stalled: Option<Pin<Box<Sleep>>>,
    read_waker: Arc<ReadWaker>,
    waker: Waker,
}

impl Transport {
    pub(super) fn new(stream: Stream, write_deadline: Duration, state: &ConnectionState) -> Self {
        let read_waker = state.read_waker();
        Self {
            stream,
            opening: [0; PREFACE.len()],
            filled: 0,
            returned: 0,
            write_deadline,
            stalled: None,
            waker: Waker::from(Arc::clone(&read_waker)),
            read_waker,
        }
    }

    /// Reads the first bytes, no more than identify the protocol. Later reads return them again.
    pub(super) async fn detect_protocol(&mut self) -> io::Result<Protocol> {
        loop {
            let free = self.filled;
            let mut buffer = [0; PREFACE.len()];
            let count = self.read_stream(&mut buffer[free..]).await?;
            self.opening[free..free + count].copy_from_slice(&buffer[free..free + count]);
            self.filled += count;
            let seen = &self.opening[..self.filled];
            if !PREFACE.starts_with(seen) {
                return Ok(Protocol::Http1);
            }
            if seen.len() == PREFACE.len() {
                return Ok(Protocol::Http2);
            }
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn read_stream(&mut self, free: &mut [u8]) -> io::Result<usize> {
        std::future::poll_fn(|cx| {
            let mut buffer = ReadBuf::new(free);
            ready!(self.poll_stream(cx, &mut buffer))?;
            Poll::Ready(Ok(buffer.filled().len()))
        })
        .await
    }

    /// Closes the sending side, then discards what the client still sends, within bounds.
    pub(super) async fn close_after_reading(mut self) {
        let _ = self.stream.shutdown().await;
        let mut discarded = 0;
        let mut buffer = [0; 4096];
        let discard = async {
            while discarded < LINGER_BYTES_MAX {
                match self.stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(count) => discarded += count,
                }
            }
        };
        let _ = tokio::time::timeout(LINGER_DEADLINE, discard).await;
    }

    /// Reads from the socket. If the read has to wait, its wake-up records the arrival time.
    fn poll_stream(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.read_waker.register(cx.waker());
        let mut cx = Context::from_waker(&self.waker);
        let read = Pin::new(&mut self.stream).poll_read(&mut cx, buf);
        if read.is_pending() {
            self.read_waker.clear_arrival();
        }
        read
    }

    /// Fails a write that has made no progress for too long.
    fn watch_progress<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let deadline = self.write_deadline;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + deadline)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.returned == self.filled {
            return self.poll_stream(cx, buf);
        }
        let waiting = &self.opening[self.returned..self.filled];
        let count = waiting.len().min(buf.remaining());
        buf.put_slice(&waiting[..count]);
        self.returned += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch_progress(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch_progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
