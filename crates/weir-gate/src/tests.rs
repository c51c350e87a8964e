//! The data plane through its real router, with real Redis and a rulebook made by hand.

mod admission;
mod bad_keys;
mod isolation;
mod leaving;
mod limits;
mod preflight;
mod refunds;
mod support;
