//! All Redis: the limiter's script, the names of keys, the change signal.
//!
//! - `limiter` decides checks: one script call for many checks, of bounded script time and shared fairly between tenants.
//!   It never waits longer than its budget; while Redis is away checks fail at once.
//! - `signal` publishes "the rulebook changed" and receives it; it carries a version and never content. It also notices that
//!   Redis lost its data.
//! - `attempts` counts sign-in attempts for all control planes together.
//! - `usage` estimates what tenants keep, from keys taken at random.
//! - `keys` makes every key; nothing a caller sends stands in one unhashed.

pub mod attempts;
pub mod error;
pub mod keys;
pub mod limiter;
pub mod signal;
pub mod usage;

pub use redis::Client;

use error::RedisError;
use redis::TlsCertificates;

/// A client for `url`; nothing is connected yet. With `rediss://` it speaks TLS, and believes servers whose certificates
/// the operating system trusts.
pub fn client(url: &str) -> Result<Client, RedisError> {
    Client::open(url).map_err(RedisError::Refused)
}

/// The same, believing the certificates of one authority (PEM) and no others.
pub fn client_trusting(url: &str, authority: Vec<u8>) -> Result<Client, RedisError> {
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(authority) };
    Client::build_with_tls(url, certificates).map_err(RedisError::Refused)
}
