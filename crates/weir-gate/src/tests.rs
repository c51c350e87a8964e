//! The data plane through its real router, with real Redis and a rulebook made by hand.

mod admission;
mod authorize;
mod bad_keys;
mod batches;
mod clocks;
mod concurrency;
mod denials;
mod exhaust;
mod isolation;
mod leaving;
mod limits;
mod parameters;
mod preflight;
mod rate_limit_service;
mod records;
mod refunds;
mod regions;
mod reservations;
mod support;
mod usage;
