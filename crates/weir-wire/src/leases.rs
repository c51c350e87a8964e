//! `/renew` and `/release` in JSON.

use serde::{Deserialize, Serialize};

use crate::check::Degraded;

/// The most characters of the id of a lease.
pub const LEASE_CHARS_MAX: usize = 200;

/// A lease to renew or release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LeaseBody {
    /// The `id` of the lease.
    pub lease: String,
}

/// The answer to a renewal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RenewAnswer {
    /// The time at which the lease ends by itself, in milliseconds since 1970; null if Redis could not be reached.
    pub expires_at_ms: Option<u64>,
    /// Why nothing was renewed: the `on_store_failure` of the rule, if Redis could not be reached.
    pub degraded: Option<Degraded>,
}

/// The answer to a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseAnswer {
    /// Whether the place is free; false if Redis could not be reached.
    pub released: bool,
    /// Why nothing was released: the `on_store_failure` of the rule, if Redis could not be reached.
    pub degraded: Option<Degraded>,
}
