//! The budget of control frames of an HTTP/2 connection.
//!
//! `h2` bounds resets, headers and small DATA frames, but it answers each PING and SETTINGS for as long as a client sends them.
//! Here a client can send as many control frames as its requests and the answers to them explain, and a few each second.

use std::time::Instant;

use super::transport::PREFACE;

/// The most unused allowance, and that of a new connection.
const ALLOWANCE_MAX: u32 = 1_000;
/// Frames per second that need no request.
const PER_SECOND: u64 = 20;
/// Frames that a request explains: keep-alives, priorities, a reset.
const PER_REQUEST: u32 = 8;
/// Frames that a frame of an answer's body explains: updates of two windows, and a PING that measures the round trip.
const PER_DATA_SENT: u32 = 4;
/// The bytes of a frame's header.
const HEADER_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// The control frames that a client can still send.
#[derive(Debug)]
pub(super) struct ControlFrames {
    received: FrameHeaders,
    sent: FrameHeaders,
    allowance: u32,
    refilled: Instant,
}

/// The headers of the frames in a stream of bytes.
#[derive(Debug, Default)]
struct FrameHeaders {
    /// The bytes before the next header.
    skip: usize,
    header: [u8; HEADER_BYTES],
    filled: usize,
}

impl ControlFrames {
    pub(super) fn new(now: Instant) -> Self {
        let received = FrameHeaders { skip: PREFACE.len(), ..FrameHeaders::default() };
        let sent = FrameHeaders::default();
        Self { received, sent, allowance: ALLOWANCE_MAX, refilled: now }
    }

    /// Counts the frames of received bytes. Returns whether the client is within its allowance.
    pub(super) fn received(&mut self, bytes: &[u8], now: Instant) -> bool {
        let mut rest = bytes;
        let mut is_within = true;
        while let Some(kind) = self.received.next(&mut rest) {
            match kind {
                DATA | CONTINUATION => {}
                HEADERS => self.credit(PER_REQUEST),
                _ => {
                    if self.allowance == 0 {
                        self.refill(now);
                    }
                    is_within &= self.allowance > 0;
                    self.allowance = self.allowance.saturating_sub(1);
                }
            }
        }
        is_within
    }

    /// Counts the frames of sent bytes.
    pub(super) fn sent(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(kind) = self.sent.next(&mut rest) {
            if kind == DATA {
                self.credit(PER_DATA_SENT);
            }
        }
    }

    fn credit(&mut self, frames: u32) {
        self.allowance = self.allowance.saturating_add(frames).min(ALLOWANCE_MAX);
    }

    fn refill(&mut self, now: Instant) {
        let ms = u64::try_from(now.duration_since(self.refilled).as_millis()).unwrap_or(u64::MAX);
        let frames = ms.saturating_mul(PER_SECOND) / 1000;
        if frames > 0 {
            self.refilled = now;
            self.credit(u32::try_from(frames).unwrap_or(ALLOWANCE_MAX));
        }
    }
}

impl FrameHeaders {
    /// The type of the next frame whose header ends in `rest`, which becomes the bytes after it.
    fn next(&mut self, rest: &mut &[u8]) -> Option<u8> {
        let skipped = self.skip.min(rest.len());
        self.skip -= skipped;
        *rest = &rest[skipped..];
        let taken = (HEADER_BYTES - self.filled).min(rest.len());
        self.header[self.filled..self.filled + taken].copy_from_slice(&rest[..taken]);
        self.filled += taken;
        *rest = &rest[taken..];
        if self.filled < HEADER_BYTES {
            return None;
        }
        self.filled = 0;
        let [high, middle, low, kind, ..] = self.header;
        self.skip = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, length, kind, 0, 0, 0, 0, 0];
        bytes.resize(HEADER_BYTES + usize::from(length), 7);
        bytes
    }

    #[test]
    fn frames_are_found_however_the_bytes_are_cut() {
        let bytes = [frame(HEADERS, 30), frame(6, 8), frame(DATA, 0), frame(4, 0)].concat();
        for size in 1..bytes.len() {
            let mut headers = FrameHeaders::default();
            let mut kinds = Vec::new();
            for mut part in bytes.chunks(size) {
                while let Some(kind) = headers.next(&mut part) {
                    kinds.push(kind);
                }
            }
            assert_eq!(kinds, [HEADERS, 6, DATA, 4], "{size}");
        }
    }

    #[test]
    fn control_frames_need_requests_answers_or_time() {
        let now = Instant::now();
        let mut frames = ControlFrames::new(now);
        assert!(frames.received(PREFACE, now));
        let ping = frame(6, 8);
        for kind in [2, 3, 4, 6, 7, 8, 0xfe] {
            for _ in 0..100 {
                assert!(frames.received(&frame(kind, 8), now));
            }
        }
        for _ in 0..300 {
            assert!(frames.received(&ping, now));
        }
        assert!(!frames.received(&ping, now), "the allowance is spent");
        let second = now + Duration::from_secs(1);
        for _ in 0..PER_SECOND {
            assert!(frames.received(&ping, second));
        }
        assert!(!frames.received(&ping, second));
        for _ in 0..10_000 {
            assert!(frames.received(&frame(HEADERS, 20), second));
            frames.sent(&frame(HEADERS, 20));
            frames.sent(&frame(DATA, 20));
            for _ in 0..PER_REQUEST + PER_DATA_SENT {
                assert!(frames.received(&ping, second));
            }
        }
        assert!(!frames.received(&ping, second), "nothing was saved");
        frames.sent(&frame(6, 8));
        assert!(!frames.received(&ping, second), "an answer to a PING explains none");
    }
}
