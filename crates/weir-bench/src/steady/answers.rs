//! Reads the answers of one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

use super::units::{histogram, micros};

/// The reader's part of one connection.
#[derive(Debug)]
pub struct Listener {
    /// The number of the connection.
    pub at: usize,
    pub begun: Instant,
    /// The time at which the present request was due, in microseconds since the start.
    pub due_us: Arc<AtomicU64>,
    /// The time before which requests do not count, in microseconds since the start.
    pub from_us: u64,
    pub expected: u16,
    /// The channel for the numbers of connections that are free again.
    pub free: Sender<usize>,
}

/// A response.
#[derive(Debug)]
pub struct Heard {
    pub latencies: Histogram<u64>,
    pub unexpected: u64,
}

impl Listener {
    /// Reads until the other side closes the connection.
    pub async fn run(self, mut reader: OwnedReadHalf) -> Result<Heard> {
        let mut heard = Heard { latencies: histogram(), unexpected: 0 };
        let mut bytes = Vec::with_capacity(8 * 1024);
        loop {
            if reader.read_buf(&mut bytes).await.context("read an answer")? == 0 {
                return Ok(heard);
            }
            let Some((status, length)) = answer(&bytes) else { continue };
            let took_at = micros(self.begun.elapsed());
            bytes.drain(..length);
            let due_us = self.due_us.load(Ordering::Acquire);
            if due_us >= self.from_us {
                heard.latencies.saturating_record(took_at.saturating_sub(due_us).max(1));
            }
            heard.unexpected += u64::from(status != self.expected);
            // The pacer no longer receives when the run is over.
            let _ = self.free.send(self.at);
        }
    }
}

/// The status and the length of a complete answer at the start of `bytes`.
fn answer(bytes: &[u8]) -> Option<(u16, usize)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let status = text.get(9..12)?.parse().ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    (bytes.len() >= head + length).then_some((status, head + length))
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn an_answer_is_whole_or_not_there() {
        let whole = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(answer(whole), Some((429, whole.len())));
        for part in 0..whole.len() {
            assert_eq!(answer(&whole[..part]), None, "{part} bytes");
        }
    }
}
