//! The limiter against real Redis: twins, promises, worked facts, failures.

mod company;
mod edges;
mod facts;
mod failures;
mod idempotency;
mod promises;
mod twin;
mod waits;
mod world;
