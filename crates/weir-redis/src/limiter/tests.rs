//! The limiter against real Redis: twins, guarantees, worked examples, failures.

mod batching;
mod busy;
mod clock_steps;
mod cluster;
mod concurrency;
mod denials;
mod distant;
mod edges;
mod edits;
mod engines;
mod failures;
pub(crate) mod fixture;
mod guarantees;
mod idempotency;
mod refunds;
mod reservations;
mod subject_hashes;
mod twin;
mod unreadable;
mod waits;
mod worked_examples;
