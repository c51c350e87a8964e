//! The bucket that token bucket and leaky bucket share: work that drains continuously.
//!
//! A token bucket with `t` tokens of `capacity` is a bucket filled with `capacity − t`: the
//! units taken drain at the refill rate. A raised capacity is thus available at once, like a raised limit of a window.
//!
//! The rate `units ÷ interval` is reduced to `per_us ÷ scale`; the level counts in `1 ÷ scale` of a
//! unit, so it falls by the whole number `per_us` each microsecond and nothing is ever rounded.

use super::bounds::{EXACT_MAX, InvalidLimit, PER_US_MAX, span_ms, units};
use super::clock::{SLACK_US, pulled_back};
use super::definition::{
    Approximation, Bound, ChargedLimit, Counting, Definition, Described, Level, ScriptParameters,
    Wait, Windows, part,
};
use crate::time::Micros;

/// A capacity and an outflow. If it queues, admitted work waits until the work ahead has drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bucket<const QUEUES: bool> {
    capacity: u64,
    units: u64,
    interval_ms: u64,
    per_us: u64,
    scale: u64,
}

/// The fill of a bucket at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BucketState {
    pub(crate) at_us: u64,
    /// The fill in `1 ÷ scale` of a unit.
    pub(crate) level: u64,
    pub(crate) scale: u64,
}

/// Greatest `capacity × scale`: leaves room for a level above capacity, after an edit or by debt.
const LEVEL_MAX: u64 = 1 << 51;
/// Greatest level, debt included: it stays exact while it drains.
const CARRIED_MAX: u64 = EXACT_MAX / 2;

impl<const QUEUES: bool> Bucket<QUEUES> {
    /// A bucket of `capacity` units, of which `units_out` leave in each `interval_ms`.
    pub(super) fn parse(
        capacity: u64,
        units_out: u64,
        interval_ms: u64,
    ) -> Result<Self, InvalidLimit>
    where
        Self: Described,
    {
        let field = |at: usize| Self::PARAMETERS[at].name;
        let capacity = units(field(0), capacity)?;
        let units = units(field(1), units_out)?;
        let interval_ms = span_ms(field(2), interval_ms)?;
        let interval_us = interval_ms * 1000;
        let divisor = gcd(units, interval_us);
        let per_us = units / divisor;
        let scale = interval_us / divisor;
        if per_us > PER_US_MAX {
            return Err(InvalidLimit {
                field: field(1),
                reason: format!(
                    "makes a rate too large to count exactly: {units} per {interval_ms} ms reduces to {per_us} per {scale} µs, and the first number must be at most {PER_US_MAX}; choose a rounder or lower rate"
                ),
            });
        }
        if scale > LEVEL_MAX / capacity {
            return Err(InvalidLimit {
                field: field(2),
                reason: format!(
                    "makes steps too fine to count exactly: {units} per {interval_ms} ms reduces to {per_us} per {scale} µs, and the second number times the capacity must be at most 2^51; choose a rounder rate"
                ),
            });
        }
        Ok(Self { capacity, units, interval_ms, per_us, scale })
    }

    /// One gate's share: the interval of the rate is stretched, so that the rate is exact.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit>
    where
        Self: Described,
    {
        Self::parse(part(self.capacity, gates), self.units, self.interval_ms * gates)
    }

    /// The bucket at the time that holds, in the present scale.
    fn view(&self, state: BucketState, now: Micros) -> BucketState {
        if state.scale == 0 {
            return BucketState { at_us: now.0, level: 0, scale: self.scale };
        }
        let stamp_us = pulled_back(state.at_us, now);
        let at_us = stamp_us.max(now.0);
        // After an edit of the rate, whole units are carried over, rounded up.
        let level = if state.scale == self.scale {
            state.level
        } else {
            let units = state.level.div_ceil(state.scale);
            units.saturating_mul(self.scale).min(CARRIED_MAX)
        };
        let drained = (at_us - stamp_us).saturating_mul(self.per_us);
        BucketState { at_us, level: level.saturating_sub(drained), scale: self.scale }
    }

    /// Milliseconds until `work` has drained; a stamp ahead of the clock delays the draining.
    fn ms_to_drain(&self, work: u64, state: BucketState, now: Micros) -> u64 {
        if work == 0 {
            return 0;
        }
        let ahead_us = pulled_back(state.at_us, now).saturating_sub(now.0);
        (work + ahead_us * self.per_us).div_ceil(1000 * self.per_us)
    }
}

impl<const QUEUES: bool> Definition for Bucket<QUEUES> {
    fn limit(&self) -> u64 {
        self.capacity
    }

    /// The time in which a full bucket drains, rounded up.
    fn window_ms(&self) -> Option<u64> {
        Some((self.capacity * self.scale).div_ceil(1000 * self.per_us))
    }

    /// Callers behind the work of a queue already have their delays.
    fn refundable(&self) -> bool {
        !QUEUES
    }

    /// Units taken in advance would delay callers of a queue that do not exist yet.
    fn leasable(&self) -> bool {
        !QUEUES
    }

    fn approximation(&self) -> Option<Approximation> {
        (!QUEUES).then_some(Approximation::BesideBucket)
    }

    fn windows(&self) -> Option<Windows<'_>> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    /// A full bucket, and the units that drain until the last microsecond.
    fn worst_case(&self, stretch_us: u64, _cost: u64) -> u64 {
        let drained = u128::from(self.per_us) * u128::from(stretch_us - 1) / u128::from(self.scale);
        self.capacity + u64::try_from(drained).unwrap_or(u64::MAX / 2)
    }
}

impl<const QUEUES: bool> Counting for Bucket<QUEUES> {
    type State = BucketState;

    fn keeping(self, units: u64) -> Self {
        Self { capacity: self.capacity.saturating_sub(units), ..self }
    }

    /// The bucket with its stamp pulled back, if that is necessary. The level stays.
    fn settled(&self, state: &BucketState, now: Micros) -> Option<BucketState> {
        let at_us = pulled_back(state.at_us, now);
        (at_us != state.at_us).then(|| self.view(*state, now))
    }

    fn wait(&self, state: &BucketState, cost: u64, now: Micros) -> Wait {
        if cost > self.capacity {
            return Wait::Forever;
        }
        let room = (self.capacity - cost) * self.scale;
        match self.view(*state, now).level {
            level if level <= room => Wait::None,
            level => Wait::Ms(self.ms_to_drain(level - room, *state, now)),
        }
    }

    fn charge(&self, state: &mut BucketState, cost: u64, now: Micros) {
        *state = self.view(*state, now);
        let level = state.level.saturating_add(cost.saturating_mul(self.scale));
        state.level = level.min(CARRIED_MAX);
    }

    /// Units of a charge are returned as far as they have not drained: the first to be taken are the first to drain.
    fn refund(
        &self,
        state: &mut BucketState,
        cost: u64,
        charge: Option<ChargedLimit>,
        now: Micros,
    ) -> bool {
        let view = self.view(*state, now);
        let returned = match charge {
            None => cost * self.scale,
            // A step of the clock left the charge in the future.
            Some(charge) if charge.at.0 > now.0 + SLACK_US => 0,
            Some(charge) => {
                let elapsed_us = now.0.saturating_sub(charge.at.0);
                let drained = elapsed_us.saturating_mul(self.per_us);
                charge.level.saturating_sub(drained).min(cost * self.scale)
            }
        };
        if QUEUES || returned == 0 || view.level == 0 {
            return false;
        }
        *state = match view.level.saturating_sub(returned) {
            0 => BucketState::default(),
            level => BucketState { level, ..view },
        };
        true
    }

    fn level(&self, state: &BucketState, now: Micros) -> Level {
        let level = self.view(*state, now).level;
        Level {
            remaining: (self.capacity * self.scale).saturating_sub(level) / self.scale,
            reset_after_ms: self.ms_to_drain(level, *state, now),
        }
    }

    /// Milliseconds until the present work of a queue has drained.
    fn delay_ms(&self, state: &BucketState, now: Micros) -> u64 {
        if QUEUES { self.ms_to_drain(self.view(*state, now).level, *state, now) } else { 0 }
    }

    fn script_parameters(&self) -> ScriptParameters {
        ScriptParameters::Three([self.capacity, self.per_us, self.scale])
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
