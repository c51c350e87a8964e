//! The byte stream of an HTTP/2 connection. Answers that become ready together leave in one write.
//!
//! Each answer wakes the connection's task, which runs before the tasks of the other answers. Before it writes it therefore lets
//! all tasks run that are ready; HTTP/2 gathers the frames that they make meanwhile. A client that floods the connection with
//! control frames is cut.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::control_frames::ControlFrames;
use super::meters::ListenerMeters;
use super::transport::Transport;

/// A transport whose writes wait once for the other tasks.
#[derive(Debug)]
pub(super) struct Http2Stream {
    transport: Transport,
    /// Whether the other tasks have run since the last write.
    others_ran: bool,
    control_frames: ControlFrames,
    meters: Arc<ListenerMeters>,
}

impl Http2Stream {
    pub(super) fn new(transport: Transport, meters: Arc<ListenerMeters>) -> Self {
        let control_frames = ControlFrames::new(Instant::now());
        Self { transport, others_ran: false, control_frames, meters }
    }
}

impl AsyncRead for Http2Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.transport).poll_read(cx, buf))?;
        if self.control_frames.received(&buf.filled()[before..], Instant::now()) {
            return Poll::Ready(Ok(()));
        }
        self.meters.flooded();
        Poll::Ready(Err(io::Error::other("too many control frames")))
    }
}

impl AsyncWrite for Http2Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.others_ran {
            self.others_ran = true;
            // A task that wakes itself runs after those that are ready.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let written = ready!(Pin::new(&mut self.transport).poll_write(cx, buf));
        self.others_ran = false;
        if let Ok(written) = &written {
            self.control_frames.sent(&buf[..*written]);
        }
        Poll::Ready(written)
    }

    // Writes are not vectored, so that small frames are copied into one buffer instead of each being a write.

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::super::connection_state::ConnectionState;
    use super::super::tls::Stream;
    use super::*;

    #[tokio::test]
    async fn tasks_that_are_ready_run_before_each_write() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).await;
        let (stream, _) = listener.accept().await.expect("a connection");
        let state = ConnectionState::new(Instant::now());
        let transport = Transport::new(Stream::Plain(stream), Duration::from_secs(30), &state);
        let mut stream = Http2Stream::new(transport, Arc::default());
        for _ in 0..2 {
            let others: Vec<_> = (0..16).map(|_| tokio::spawn(async {})).collect();
            stream.write_all(b"frame").await.expect("the client is connected");
            assert!(others.iter().all(tokio::task::JoinHandle::is_finished));
        }
        drop(client);
    }
}
