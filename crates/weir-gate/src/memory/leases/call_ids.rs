//! Ids of calls that take or return leased units.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use weir_redis::limiter::Idempotency;

/// A source of ids for one run of a gate.
#[derive(Debug)]
pub(crate) struct CallIds {
    /// Identifies the run in idempotency keys.
    nonce: u64,
    next: AtomicU64,
}

impl CallIds {
    pub(super) fn new() -> Self {
        Self { nonce: RandomState::new().hash_one(Instant::now()), next: AtomicU64::new(0) }
    }

    pub(super) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The idempotency key of a call, by which Redis runs it at most once.
    pub(super) fn idempotency(&self, id: u64) -> Idempotency {
        // Callers' keys hold at most 128 bytes.
        let key = format!("lease {:0>128x} {id}", self.nonce);
        Idempotency {
            key,
            fingerprint: String::new(),
            text: String::new(),
            recorded_for: Idempotency::RECORDED_FOR,
        }
    }
}
