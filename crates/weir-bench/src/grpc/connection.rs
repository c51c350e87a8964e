//! One connection with a number of calls in flight: each call that was answered makes place for the next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use prost::Message;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use weir_rls::{Descriptor, Entry, RateLimitRequest};

use super::frames::{self, Call, Frame, Kind};
use crate::variants::SUBJECTS;

/// The longest wait for anything from the service.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The code of a response that lets a request pass.
const PASSES: u32 = 1;
/// The bytes after which the service is permitted to send as many again: half of its first permission.
const RECEIVED_MAX: u32 = 32 * 1024;
/// The bytes before a message.
const PREFIX_BYTES: usize = 5;

/// The counts of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) refusals: u64,
    pub(super) errors: u64,
}

/// An open connection, which has sent no call.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    call: Call,
    /// The frames that are sent with the next write.
    unsent: Vec<u8>,
    /// The bytes of messages that the service was not yet permitted to send again.
    received: u32,
    /// The id of the next call's stream.
    next_stream: u32,
    /// The last subject. The order defeats caches.
    subject: u32,
    /// The messages of the calls in flight, by stream.
    in_flight: HashMap<u32, Vec<u8>>,
    counts: Counts,
}

/// The part of a response that is counted; decoding skips the rest.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
struct OverallCode {
    #[prost(uint32, tag = "1")]
    overall_code: u32,
}

impl Connection {
    pub(super) async fn open(call: Call, first_subject: u32) -> Result<Self> {
        let stream = TcpStream::connect(&call.authority).await.context("connect")?;
        stream.set_nodelay(true)?;
        let mut unsent = Vec::new();
        frames::push_opening(&mut unsent);
        Ok(Self {
            stream,
            call,
            unsent,
            received: 0,
            next_stream: 1,
            subject: first_subject,
            in_flight: HashMap::new(),
            counts: Counts::default(),
        })
    }

    /// Keeps this number of calls in flight until the given time. All answers that arrive together cause one write.
    pub(super) async fn run(mut self, calls: u16, until: Instant) -> Result<Counts> {
        for _ in 0..calls {
            self.begin()?;
        }
        let mut unread = Vec::with_capacity(64 * 1024);
        while !self.in_flight.is_empty() {
            self.stream.write_all(&self.unsent).await.context("send calls")?;
            self.unsent.clear();
            let read = tokio::time::timeout(SILENCE_MAX, self.stream.read_buf(&mut unread)).await;
            if read.context("the service sends nothing")?.context("read answers")? == 0 {
                self.counts.errors += self.in_flight.len() as u64;
                break;
            }
            let goes_on = Instant::now() < until;
            let mut done = 0;
            while let Some((frame, bytes)) = frames::next(&unread[done..]) {
                if self.receive(&frame)? && goes_on {
                    self.begin()?;
                }
                done += bytes;
            }
            unread.drain(..done);
        }
        Ok(self.counts)
    }

    fn begin(&mut self) -> Result<()> {
        self.subject = (self.subject + 7919) % SUBJECTS;
        let stream = self.next_stream;
        frames::push_headers(&mut self.unsent, stream, &self.call)?;
        frames::push_message(&mut self.unsent, stream, &message(self.subject))?;
        self.next_stream += 2;
        self.in_flight.insert(stream, Vec::new());
        Ok(())
    }

    /// Returns whether the frame ends a call.
    fn receive(&mut self, frame: &Frame<'_>) -> Result<bool> {
        match frame.kind {
            Kind::Data => {
                self.received += u32::try_from(frame.payload.len())?;
                if self.received > RECEIVED_MAX {
                    frames::push_window(&mut self.unsent, std::mem::take(&mut self.received));
                }
                if let Some(message) = self.in_flight.get_mut(&frame.stream) {
                    message.extend_from_slice(frame.payload);
                }
            }
            Kind::Reset => return Ok(self.end(frame.stream, None)),
            Kind::GoAway => bail!("the service closes the connection"),
            Kind::Settings | Kind::Ping => frames::push_acknowledgement(&mut self.unsent, frame),
            Kind::Headers | Kind::Other => {}
        }
        if !frame.ends_stream {
            return Ok(false);
        }
        // A call that fails has no message.
        let message =
            self.in_flight.get(&frame.stream).and_then(|message| message.get(PREFIX_BYTES..));
        let code = message.map(OverallCode::decode).transpose()?.map(|code| code.overall_code);
        Ok(self.end(frame.stream, code))
    }

    /// Counts a call that ended with a code, or in an error. Returns whether it was in flight.
    fn end(&mut self, stream: u32, code: Option<u32>) -> bool {
        let was_in_flight = self.in_flight.remove(&stream).is_some();
        match code {
            _ if !was_in_flight => {}
            Some(code) => {
                self.counts.requests += 1;
                self.counts.refusals += u64::from(code != PASSES);
            }
            None => self.counts.errors += 1,
        }
        was_in_flight
    }
}

/// The call about a subject.
fn message(subject: u32) -> RateLimitRequest {
    let entry = |key: &str, value: String| Entry { key: key.to_owned(), value: value.into_bytes() };
    let entries = vec![entry("user", format!("u-{subject}")), entry("route", "/hot".to_owned())];
    let descriptors = vec![Descriptor { entries, ..Descriptor::default() }];
    RateLimitRequest { domain: "api".to_owned(), descriptors, hits_addend: 1 }
}
