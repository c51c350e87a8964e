//! The JSON bodies of both APIs and their conversions to and from the domain.

pub mod alerts;
pub mod api_keys;
pub mod audit;
#[cfg(feature = "openapi")]
pub mod bounds;
pub mod ceilings;
pub mod check;
pub mod limits;
pub mod members;
pub mod overrides;
pub mod page;
pub mod problem;
pub mod recorded_checks;
pub mod replicas;
pub mod rules;
pub mod sessions;
pub mod simulate;
pub mod stats;
pub mod stored;
pub mod tenants;
pub mod tester;
pub mod time;
pub mod usage;
pub mod webhooks;
pub mod words;
