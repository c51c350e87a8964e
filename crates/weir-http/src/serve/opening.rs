//! Which protocol a connection speaks, from its first bytes, which are then given back.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What an HTTP/2 connection with prior knowledge begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A stream whose first bytes were looked at.
#[derive(Debug)]
pub(super) struct Opening {
    looked_at: [u8; PREFACE.len()],
    filled: usize,
    returned: usize,
    stream: TcpStream,
}

impl Opening {
    /// Reads no more than it takes to tell.
    pub(super) async fn read(stream: TcpStream) -> io::Result<(Protocol, Self)> {
        let mut opening = Self { looked_at: [0; PREFACE.len()], filled: 0, returned: 0, stream };
        loop {
            let free = &mut opening.looked_at[opening.filled..];
            let count = opening.stream.read(free).await?;
            opening.filled += count;
            let seen = &opening.looked_at[..opening.filled];
            if !PREFACE.starts_with(seen) {
                return Ok((Protocol::Http1, opening));
            }
            if seen.len() == PREFACE.len() {
                return Ok((Protocol::Http2, opening));
            }
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl AsyncRead for Opening {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let waiting = &self.looked_at[self.returned..self.filled];
        if waiting.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = waiting.len().min(buf.remaining());
        buf.put_slice(&waiting[..count]);
        self.returned += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Opening {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
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
