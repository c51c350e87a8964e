//! The data plane: `/check`, `/authorize`, Envoy's rate limit service, the rulebook in memory, and the answers while Redis is away.
//!
//! A check uses memory and at most one call of Redis, never Postgres or the control plane. A denied request for units of a
//! lease takes a second call. The modules are listed in reading order: `requests` reads requests and writes answers, `decide` is the
//! pipeline between them, and the other modules are its parts.

mod state;

mod requests;

mod decide;

mod regions;

mod rulebook;

mod memory;

mod outage;

mod tally;

mod metrics;

pub use memory::lease_keeper::LeaseKeeper;
pub use outage::charge_sender::ChargeSender;
pub use regions::listener::router as internal_router;
pub use requests::authorize::PREFIX as AUTHORIZE_PREFIX;
pub use requests::deferred::{DeferralParts, DeferredWorkers};
pub use requests::openapi::{openapi, router};
pub use requests::rls::rate_limit_service;
pub use rulebook::Staleness;
pub use rulebook::follower::{Follower, FollowerSettings};
pub use state::{GateParts, GateState, Random};
pub use tally::decision_export::{DecisionExportSettings, DecisionLines, Share, ShownSubjects};
pub use tally::{Recorder, RecorderSettings};

#[cfg(test)]
mod tests;
