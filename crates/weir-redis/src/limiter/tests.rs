//! The limiter against real Redis: twins, promises, worked facts, failures.

mod company;
mod edges;
mod facts;
mod failures;
mod idempotency;
mod promises;
mod refunds;
mod steps;
mod subject_hashes;
mod twin;
mod unreadable;
mod waits;
pub(super) mod world;
