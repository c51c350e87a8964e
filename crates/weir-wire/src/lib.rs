//! The JSON bodies of both APIs and their conversions to and from the domain.

pub mod accounts;
pub mod alerts;
pub mod api_keys;
pub mod apply;
pub mod audit;
pub mod backtest;
#[cfg(feature = "openapi")]
pub mod bounds;
pub mod ceilings;
pub mod check;
#[cfg(feature = "openapi")]
mod document;
pub mod limits;
pub mod members;
pub mod namespaces;
pub mod overrides;
pub mod page;
pub mod problem;
pub mod profiles;
pub mod recorded_checks;
pub mod replicas;
pub mod reservations;
pub mod rules;
pub mod second_factors;
pub mod sessions;
pub mod simulate;
pub mod stats;
pub mod stored;
pub mod subjects;
pub mod suggest;
pub mod tenants;
pub mod tester;
pub mod time;
pub mod usage;
pub mod webhooks;
pub mod words;
