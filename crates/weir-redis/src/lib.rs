//! All access to Redis: the script of the limiter, the names of keys, and the change signal.
//!
//! - `limiter` decides checks: one script call for many checks, of bounded script time and shared fairly between tenants.
//!   It never waits longer than its budget; while Redis is away checks fail at once.
//! - `signal` publishes versions of the rulebook and receives them; a signal carries no content. It also detects that Redis
//!   lost its data.
//! - `attempts` counts sign-in attempts for all control planes together.
//! - `deferred` holds jobs that wait until the limits permit them.
//! - `client` connects: to one server, to the primary that Sentinels name, or to the primaries of a cluster.
//! - `eviction` watches whether Redis drops counters.
//! - `suitability` reports to operators whether Weir can use a Redis.
//! - `usage` estimates the keys of each tenant, from a random sample.
//! - `placement` chooses the hash tag of a namespace's keys.
//! - `slots` computes the slot of a hash tag in a cluster.
//! - `turn` lets others run while a large batch is prepared or recorded.
//! - `keys` makes the name of every key; no name contains unhashed text from a caller.

pub mod attempts;
mod client;
pub mod deferred;
pub mod error;
pub mod eviction;
pub mod keys;
pub mod limiter;
pub mod placement;
pub mod signal;
mod slots;
pub mod suitability;
pub mod turn;
pub mod usage;

pub use client::{AddressError, Client, Unsuitable};

/// Returns a client for `url`; nothing is connected yet. With a scheme that begins with `rediss` it speaks TLS, and trusts
/// servers whose certificates the operating system trusts.
pub fn client(url: &str) -> Result<Client, AddressError> {
    Client::new(url, None)
}

/// As [`client`], but trusts the certificates of one authority (PEM) and no others.
pub fn client_trusting(url: &str, authority: Vec<u8>) -> Result<Client, AddressError> {
    Client::new(url, Some(authority))
}
