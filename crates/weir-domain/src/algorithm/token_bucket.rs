//! Token bucket: a charge passes if the bucket has at least `c` tokens. A bucket starts full and refills continuously at
//! `refill_tokens ÷ refill_interval` up to the capacity.
//!
//! In any span of time at most `capacity + rate × span` units pass.

use super::bounds::InvalidLimit;
use super::bucket::Bucket;
use super::definition::Described;
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, period};

/// Parameters of a token bucket.
pub type TokenBucket = Bucket<false>;

impl TokenBucket {
    /// `capacity` tokens at most, `refill_tokens` more in each `refill_interval_ms`.
    pub fn new(
        capacity: u64,
        refill_tokens: u64,
        refill_interval_ms: u64,
    ) -> Result<Self, InvalidLimit> {
        Self::parse(capacity, refill_tokens, refill_interval_ms)
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
