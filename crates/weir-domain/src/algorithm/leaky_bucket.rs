//! Leaky bucket as a queue: a charge passes when queued work plus `c` fits the capacity; work drains
//! continuously at `drain_units ÷ drain_interval`.
//!
//! The answer's delay is the time until the work that was ahead has drained, so callers who wait as
//! told leave the queue in order and at a constant rate.

use super::bucket::{Bucket, BucketState};
use super::{Level, Wait};
use crate::limit::{InvalidLimit, span_ms, units};
use crate::time::Micros;

/// Parameters of a leaky bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeakyBucket {
    drain_units: u64,
    drain_interval_ms: u64,
    bucket: Bucket,
}

impl LeakyBucket {
    /// At most `capacity` units queued, of which `drain_units` leave in each `drain_interval_ms`.
    pub fn new(
        capacity: u64,
        drain_units: u64,
        drain_interval_ms: u64,
    ) -> Result<Self, InvalidLimit> {
        let capacity = units("capacity", capacity)?;
        let drain_units = units("drain_units", drain_units)?;
        let drain_interval_ms = span_ms("drain_interval_ms", drain_interval_ms)?;
        let bucket = Bucket::new("drain_interval_ms", capacity, drain_units, drain_interval_ms)?;
        Ok(Self { drain_units, drain_interval_ms, bucket })
    }

    /// Most units the queue holds.
    pub const fn capacity(&self) -> u64 {
        self.bucket.capacity
    }

    /// Units that leave in each interval.
    pub const fn drain_units(&self) -> u64 {
        self.drain_units
    }

    /// The interval in milliseconds.
    pub const fn drain_interval_ms(&self) -> u64 {
        self.drain_interval_ms
    }

    /// Milliseconds in which a full queue drains.
    pub fn empty_after_ms(&self) -> u64 {
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

    pub(super) fn level(&self, state: &BucketState, now: Micros) -> Level {
        self.bucket.level(*state, now)
    }

    pub(super) fn delay_ms(&self, state: &BucketState, now: Micros) -> u64 {
        self.bucket.delay_ms(*state, now)
    }
}
