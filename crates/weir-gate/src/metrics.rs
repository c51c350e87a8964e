//! The metrics of a gate: `meters` has them all, `registry` registers each with its help text.

pub(crate) mod events;
pub(crate) mod meters;
pub(crate) mod primary_meters;
pub(crate) mod refused_callers;
pub(crate) mod registry;
pub(crate) mod rls_meters;
pub(crate) mod round_trip;
pub(crate) mod rulebook_meters;
pub(crate) mod stats_meters;
pub(crate) mod stock_meters;
pub(crate) mod traffic;
