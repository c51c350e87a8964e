//! The data plane through its real router, with real Redis and a rulebook made by hand.

mod isolation;
mod preflight;
mod support;
