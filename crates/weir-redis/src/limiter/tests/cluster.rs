//! The limiter on a real cluster of three primaries, each with a replica.

mod clocks;
mod concurrency;
mod encryption;
mod failover;
mod fixture;
mod moving_slots;
mod partition;
mod serving;
mod twin;
