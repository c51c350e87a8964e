//! All Redis: the limiter's script, the names of keys, the change signal.
//!
//! - `limiter` decides checks: one script call for any number of checks that wait together. It never
//!   waits longer than its budget; while Redis is away it says so at once.
//! - `signal` says "the rulebook changed" and hears it; it carries a version and never content.
//! - `keys` makes every key; nothing a caller sends stands in one unhashed.

pub mod error;
pub mod keys;
pub mod limiter;
pub mod signal;

pub use redis::Client;

use error::RedisError;

/// A client for `url`; nothing is connected yet.
pub fn client(url: &str) -> Result<Client, RedisError> {
    Client::open(url).map_err(RedisError::Refused)
}
