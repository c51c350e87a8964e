//! The data plane: `/check`, the rulebook in memory, and what answers when Redis is away.
//!
//! A check touches memory and Redis, once; never Postgres, never the control plane. Reading order is
//! the order of the modules.

mod state;

mod admission;
mod answer;
mod caller;
mod check;
mod decide;
mod finish;
mod headers;
mod outage;
mod refusals;

mod denial_cache;
mod heavy_matching;
mod lease_keeper;
mod leases;
mod local;
mod meters;
mod rulebook;
mod sharded;
mod tally;
mod tenant_map;
mod tenant_rates;
mod turns;
mod unreadable;

mod health;
mod openapi;

pub use lease_keeper::LeaseKeeper;
pub use openapi::{openapi, router};
pub use rulebook::Staleness;
pub use rulebook::follow::{Follower, FollowerSettings};
pub use state::{GateParts, GateState};
pub use tally::{Recorder, RecorderSettings};

#[cfg(test)]
mod tests;
