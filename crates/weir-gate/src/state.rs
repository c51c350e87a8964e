//! What the handlers share: cheap to clone, passed as axum's state.

use std::ops::Deref;
use std::sync::Arc;

use weir_domain::time::Clock;
use weir_redis::limiter::Limiter;

use crate::leases::Leases;
use crate::local::Local;
use crate::meters::Meters;
use crate::remembered::Remembered;
use crate::rulebook::Held;
use crate::tally::Tally;

/// The data plane's handles.
#[derive(Debug, Clone)]
pub struct GateState(Arc<GateParts>);

/// What [`GateState`] is made of.
#[derive(Debug)]
pub struct GateParts {
    /// The rulebook in force.
    pub(crate) held: Held,
    /// Decides by Redis.
    pub(crate) limiter: Limiter,
    /// Decides alone while Redis is away, for rules that ask for it.
    pub(crate) local: Local,
    /// Denials that need not be asked about again.
    pub(crate) remembered: Remembered,
    /// Units taken in advance.
    pub(crate) leases: Leases,
    /// What Prometheus reads.
    pub(crate) meters: Meters,
    /// What was decided, for statistics.
    pub(crate) tally: Tally,
    /// Expiry of keys and overrides; never of counters.
    pub(crate) clock: Clock,
}

impl GateState {
    /// A gate that has not loaded a rulebook yet.
    pub fn new(limiter: Limiter, clock: Clock) -> Self {
        Self::with(limiter, clock, Tally::per_thread())
    }

    /// The same, without statistics: to measure what they cost.
    pub fn without_statistics(limiter: Limiter, clock: Clock) -> Self {
        Self::with(limiter, clock, Tally::new(0))
    }

    fn with(limiter: Limiter, clock: Clock, tally: Tally) -> Self {
        Self(Arc::new(GateParts {
            held: Held::default(),
            limiter,
            local: Local::new(clock.clone()),
            remembered: Remembered::new(),
            leases: Leases::new(),
            meters: Meters::new(),
            tally,
            clock,
        }))
    }

    /// The version in force, if any.
    pub fn rulebook_version(&self) -> Option<u64> {
        self.held.current().map(|book| book.version())
    }
}

impl Deref for GateState {
    type Target = GateParts;

    fn deref(&self) -> &GateParts {
        &self.0
    }
}
