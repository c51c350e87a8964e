//! Token bucket: a charge passes if the bucket has at least `c` tokens. A bucket starts full and refills continuously at
//! `refill_tokens ÷ refill_interval` up to the capacity.
//!
//! In any span of time at most `capacity + rate × span` units pass.

use super::bounds::{InvalidLimit, span_ms, units};
use super::bucket::{Bucket, BucketState};
use super::definition::{
    Bound, Counting, Definition, Described, Level, ScriptParameters, Wait, Windows, part,
};
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, period};
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

    /// The most tokens the bucket holds.
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

    /// One gate's share: the interval of the rate is stretched, so that the rate is exact.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::new(part(self.capacity(), gates), self.refill_tokens, self.refill_interval_ms * gates)
    }

    pub(super) fn describe(
        capacity: &u64,
        refill_tokens: &u64,
        refill_interval_ms: &u64,
    ) -> String {
        format!(
            "bursts of {}, then {} per {}",
            grouped(*capacity),
            grouped(*refill_tokens),
            period(*refill_interval_ms)
        )
    }
}

impl Described for TokenBucket {
    const TITLE: &'static str = "Token bucket";
    const HINT: &'static str = "Allows bursts up to the capacity, then a steady rate.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("capacity", "Capacity", Input::Units),
        Parameter::new("refill_tokens", "Refill", Input::Rate),
        Parameter::new("refill_interval_ms", "per", Input::Every),
    ];
}

impl Definition for TokenBucket {
    fn limit(&self) -> u64 {
        self.capacity()
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.full_after_ms())
    }

    fn refundable(&self) -> bool {
        true
    }

    fn leasable(&self) -> bool {
        true
    }

    fn windows(&self) -> Option<Windows<'_>> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        self.bucket.worst_case(stretch_us)
    }
}

impl Counting for TokenBucket {
    type State = BucketState;

    fn settled(&self, state: &BucketState, now: Micros) -> Option<BucketState> {
        self.bucket.settled(*state, now)
    }

    fn wait(&self, state: &BucketState, cost: u64, now: Micros) -> Wait {
        self.bucket.wait(*state, cost, now)
    }

    fn charge(&self, state: &mut BucketState, cost: u64, now: Micros) {
        self.bucket.charge(state, cost, now);
    }

    fn level(&self, state: &BucketState, now: Micros) -> Level {
        self.bucket.level(*state, now)
    }

    fn refund(&self, state: &mut BucketState, cost: u64, now: Micros) {
        self.bucket.refund(state, cost, now);
    }

    fn script_parameters(&self) -> ScriptParameters {
        self.bucket.script_parameters()
    }
}
