//! What tenants used, by day.

use serde::{Deserialize, Serialize};

/// What one tenant used on one day of UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageDay {
    /// The day, `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub day: String,
    /// `tenant_…`
    pub tenant_id: String,
    /// Its present name; null once it is deleted.
    pub tenant_name: Option<String>,
    /// Checks that were answered: exact, from the statistics.
    pub checks: u64,
    /// Most subjects with a counter in Redis at a time: estimated from a sample of keys.
    pub subjects: u64,
    /// Most bytes in Redis at a time: estimated from a sample of keys.
    pub redis_bytes: u64,
    /// Most rows in Postgres: counted once an hour, without statistics by the minute.
    pub postgres_rows: u64,
}
