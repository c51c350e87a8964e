//! Leaky bucket as a queue: a charge passes when queued work plus `c` fits the capacity; work drains
//! continuously at `drain_units ÷ drain_interval`.
//!
//! The delay in the answer is the time until the work ahead has drained, so callers that observe it leave the queue in
//! order and at a constant rate.

use super::bounds::{InvalidLimit, span_ms, units};
use super::bucket::{Bucket, BucketState};
use super::definition::{
    Bound, Counting, Definition, Described, Level, ScriptParameters, Wait, Windows, part,
};
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, period};
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

    /// The most units the queue holds.
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

    /// One gate's share: the interval of the rate is stretched, so that the rate is exact.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::new(part(self.capacity(), gates), self.drain_units, self.drain_interval_ms * gates)
    }

    pub(super) fn describe(capacity: &u64, drain_units: &u64, drain_interval_ms: &u64) -> String {
        format!(
            "a queue of {}, drained at {} per {}",
            grouped(*capacity),
            grouped(*drain_units),
            period(*drain_interval_ms)
        )
    }
}

impl Described for LeakyBucket {
    const TITLE: &'static str = "Leaky bucket";
    const HINT: &'static str =
        "A queue with a constant outflow. The answer says how long an allowed request must wait.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("capacity", "Capacity", Input::Units),
        Parameter::new("drain_units", "Drain", Input::Rate),
        Parameter::new("drain_interval_ms", "per", Input::Every),
    ];
}

impl Definition for LeakyBucket {
    fn limit(&self) -> u64 {
        self.capacity()
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.empty_after_ms())
    }

    /// Callers behind the refunded work already have their delays.
    fn refundable(&self) -> bool {
        false
    }

    /// Units taken in advance would delay callers that do not exist yet.
    fn leasable(&self) -> bool {
        false
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

impl Counting for LeakyBucket {
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

    fn delay_ms(&self, state: &BucketState, now: Micros) -> u64 {
        self.bucket.delay_ms(*state, now)
    }

    fn refund(&self, _state: &mut BucketState, _cost: u64, _now: Micros) {}

    fn script_parameters(&self) -> ScriptParameters {
        self.bucket.script_parameters()
    }
}
