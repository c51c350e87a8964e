//! Leaky bucket as a queue: a charge passes when queued work plus `c` fits the capacity; work drains
//! continuously at `drain_units ÷ drain_interval`.
//!
//! The delay in the answer is the time until the work ahead has drained, so callers that observe it leave the queue in
//! order and at a constant rate.

use super::bounds::InvalidLimit;
use super::bucket::Bucket;
use super::definition::Described;
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, period};

/// Parameters of a leaky bucket.
pub type LeakyBucket = Bucket<true>;

impl LeakyBucket {
    /// At most `capacity` units queued, of which `drain_units` leave in each `drain_interval_ms`.
    pub fn new(
        capacity: u64,
        drain_units: u64,
        drain_interval_ms: u64,
    ) -> Result<Self, InvalidLimit> {
        Self::parse(capacity, drain_units, drain_interval_ms)
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
