//! The exact model with which a history of an approximate rule is compared.

use serde_json::{Value, json};
use weir_domain::algorithm::{Algorithm, Counter, LimitDraft, Meter, Wait};
use weir_domain::time::Micros;

use super::super::WINDOW_MS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    TokenBucket,
    SlidingWindowCounter,
}

/// The units that gates admitted, in counters of the algorithm in Rust.
#[derive(Debug)]
pub(super) struct Model {
    kind: Kind,
    /// The units admitted, without those that are free.
    bounded: Counter,
    /// The units admitted, and those that killed gates held.
    used: Counter,
    /// Held units that the bound does not count.
    pub(super) free: u64,
    /// The units that gates held when the clock was set or when too much was refunded: they can be returned to other windows.
    released: u64,
}

impl Kind {
    fn limit(self, limit: u64) -> LimitDraft {
        match self {
            Self::TokenBucket => LimitDraft::TokenBucket {
                capacity: limit,
                refill_tokens: 90,
                refill_interval_ms: 1_000,
            },
            Self::SlidingWindowCounter => {
                LimitDraft::SlidingWindowCounter { limit, window_ms: WINDOW_MS }
            }
        }
    }

    pub(super) fn json(self, limit: u64) -> Value {
        match self {
            Self::TokenBucket => json!({ "algorithm": "token_bucket", "capacity": limit,
                "refill_tokens": 90, "refill_interval_ms": 1_000 }),
            Self::SlidingWindowCounter => json!({ "algorithm": "sliding_window_counter",
                "limit": limit, "window_ms": WINDOW_MS }),
        }
    }

    fn meter(self, limit: u64) -> Meter {
        let algorithm = Algorithm::parse(self.limit(limit)).expect("a limit");
        algorithm.meter(|_| unreachable!("no quota"))
    }
}

impl Model {
    pub(super) fn new(kind: Kind) -> Self {
        let (bounded, used) = (Counter::default(), Counter::default());
        Self { kind, bounded, used, free: 0, released: 0 }
    }

    /// Checks that the model, too, admits what gates admitted. `beside`: the units that all gates can hold. Returns whether an
    /// exact limit would have denied it.
    pub(super) fn admit(
        &mut self,
        cost: u64,
        by_lease: bool,
        (limit, beside): (u64, u64),
        now: Micros,
    ) -> Result<bool, String> {
        let free = if by_lease { self.free.min(cost) } else { 0 };
        self.free -= free;
        let bounded = cost - free;
        let mut beyond = false;
        if bounded > 0 {
            let beside = match self.kind {
                Kind::TokenBucket => beside,
                Kind::SlidingWindowCounter => self.released,
            };
            beyond = self.kind.meter(limit).wait(&mut self.bounded, bounded, now) != Wait::None;
            let wait = self.kind.meter(limit + beside).wait(&mut self.bounded, bounded, now);
            if wait != Wait::None {
                return Err(format!(
                    "{cost} units admitted of {limit} and {beside}: {wait:?}, {self:?}, by lease: {by_lease}"
                ));
            }
        }
        self.charge(bounded, cost, now);
        Ok(beyond)
    }

    /// The counters possibly changed at this time.
    pub(super) fn observe(&mut self, now: Micros) {
        self.charge(0, 0, now);
    }

    /// A killed gate held these units.
    pub(super) fn lose(&mut self, units: u64, now: Micros) {
        self.charge(0, units, now);
    }

    pub(super) fn refund(&mut self, units: u64, now: Micros) {
        let meter = self.kind.meter(1);
        for counter in [&mut self.bounded, &mut self.used] {
            meter.follow_clock(counter, now);
            meter.refund(counter, units, None, now);
        }
    }

    /// Only units that are still held are free.
    pub(super) fn hold(&mut self, held: u64) {
        self.free = self.free.min(held);
    }

    /// Excludes held units from the bound of a sliding window counter.
    pub(super) fn release(&mut self, units: u64) {
        if self.kind == Kind::SlidingWindowCounter {
            self.free += units;
            self.released += units;
        }
    }

    /// The units that a limit of `most` counts, at most.
    pub(super) fn used(&mut self, most: u64, now: Micros) -> u64 {
        most - self.kind.meter(most).level(&mut self.used, now).remaining
    }

    fn charge(&mut self, bounded: u64, used: u64, now: Micros) {
        let meter = self.kind.meter(1);
        for (counter, cost) in [(&mut self.bounded, bounded), (&mut self.used, used)] {
            meter.follow_clock(counter, now);
            meter.charge(counter, cost, now);
        }
    }
}
