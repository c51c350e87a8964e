//! Token bucket: a charge passes when at least `c` tokens are there; starts full, refills
//! continuously at `refill_tokens ÷ refill_interval` up to the capacity.
//!
//! In any span of time at most `capacity + rate × span` units pass.

use super::bucket::{Bucket, BucketState};
use super::{Level, Wait};
use crate::limit::{InvalidLimit, span_ms, units};
use crate::time::Micros;

/// Parameters of a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    refill_tokens: u64,
    refill_interval_ms: u64,
    bucket: Bucket,
}

impl TokenBucket {
    /// `capacity` tokens at most, `refill_tokens` more in each `refill_interval_ms`.
    pub fn new(
        capacity: u64,
        refill_tokens: u64,
        refill_interval_ms: u64,
    ) -> Result<Self, InvalidLimit> {
        let capacity = units("capacity", capacity)?;
        let refill_tokens = units("refill_tokens", refill_tokens)?;
        let refill_interval_ms = span_ms("refill_interval_ms", refill_interval_ms)?;
        let bucket =
            Bucket::new("refill_interval_ms", capacity, refill_tokens, refill_interval_ms)?;
        Ok(Self { refill_tokens, refill_interval_ms, bucket })
    }

    /// Most tokens the bucket holds.
    pub const fn capacity(&self) -> u64 {
        self.bucket.capacity
    }

    /// Tokens added in each interval.
    pub const fn refill_tokens(&self) -> u64 {
        self.refill_tokens
    }

    /// The interval in milliseconds.
    pub const fn refill_interval_ms(&self) -> u64 {
        self.refill_interval_ms
    }

    /// Milliseconds in which an empty bucket is full again.
    pub fn full_after_ms(&self) -> u64 {
        self.bucket.drain_ms()
    }

    /// The outflow as reduced: units per microsecond are `per_us ÷ scale`.
    pub const fn rate(&self) -> (u64, u64) {
        (self.bucket.per_us, self.bucket.scale)
    }

    pub(super) fn settled(&self, state: &BucketState, now: Micros) -> Option<BucketState> {
        self.bucket.settled(*state, now)
    }

    pub(super) fn wait(&self, state: &BucketState, cost: u64, now: Micros) -> Wait {
        self.bucket.wait(*state, cost, now)
    }

    pub(super) fn charge(&self, state: &mut BucketState, cost: u64, now: Micros) {
        self.bucket.charge(state, cost, now);
    }

    pub(super) fn refund(&self, state: &mut BucketState, cost: u64, now: Micros) {
        self.bucket.refund(state, cost, now);
    }

    pub(super) fn level(&self, state: &BucketState, now: Micros) -> Level {
        self.bucket.level(*state, now)
    }
}
