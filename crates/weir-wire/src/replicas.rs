//! The running gates, each with the version of the rulebook that it serves.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// `GET /tenants/{tenant}/replicas`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replicas {
    /// The version of the rulebook in the database: a gate at or above it is up to date.
    pub rulebook_version: u64,
    /// The version at which this tenant last changed: a gate at or above it serves the tenant's present rules.
    pub tenant_version: u64,
    /// The gates seen in the last 15 seconds.
    pub data: Vec<Replica>,
}

/// One running gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replica {
    /// `gate_…`
    pub id: String,
    /// The address at which clients reach it; null for callers below the role `editor`.
    pub address: Option<String>,
    /// The version of the rulebook it serves.
    pub rulebook_version: u64,
    /// The time since its last report, in milliseconds.
    pub age_ms: u64,
    /// The time from which it serves this version.
    pub applied_at: DateTime,
    /// The time from the storage of the change until then, in milliseconds.
    pub applied_after_ms: u64,
    /// The time of its start.
    pub started_at: DateTime,
}
