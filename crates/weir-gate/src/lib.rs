//! The data plane: `/check`, `/authorize`, Envoy's rate limit service, the rulebook in memory, and the answers while Redis is away.
//!
//! A check uses memory and at most one call of Redis, never Postgres or the control plane. A denied request for units of a
//! lease takes a second call. The modules are listed in reading order: `check`, `reservations`, `renewals`, `deferred`, `authorize` and `rls` receive
//! requests,
//! `decide` is the pipeline, and the modules below are its parts.

mod state;

mod answer;
mod authorize;
mod bytes;
mod caller;
mod check;
mod decide;
mod deferred;
mod exhaust;
mod finish;
mod headers;
mod lease_text;
mod problems;
mod refusals;
mod renewals;
mod reservation_text;
mod reservations;
mod rls;
mod undecided;

mod charge_buffer;
mod charge_sender;
mod clock;
mod decision_export;
mod denial_cache;
mod events;
mod eviction;
mod heavy_matching;
mod lease_keeper;
mod leases;
mod local;
mod meters;
mod monotonic;
mod open_holds;
mod primary_meters;
mod refused_callers;
mod registry;
mod rls_meters;
mod round_trip;
mod rulebook;
mod rulebook_meters;
mod sharded;
mod stats_meters;
mod stock_meters;
mod tally;
mod tenant_map;
mod tenant_rates;
mod together;
mod traffic;
mod turns;
mod unreadable;

mod health;
mod openapi;

pub use authorize::PREFIX as AUTHORIZE_PREFIX;
pub use charge_sender::ChargeSender;
pub use decision_export::{DecisionExportSettings, DecisionLines, Share, ShownSubjects};
pub use deferred::{DeferralParts, DeferredWorkers};
pub use lease_keeper::LeaseKeeper;
pub use openapi::{openapi, router};
pub use rls::rate_limit_service;
pub use rulebook::Staleness;
pub use rulebook::follower::{Follower, FollowerSettings};
pub use state::{GateParts, GateState, Random};
pub use tally::{Recorder, RecorderSettings};

#[cfg(test)]
mod tests;
