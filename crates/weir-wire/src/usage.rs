//! Usage of tenants, by day.

use serde::{Deserialize, Serialize};

/// The usage of one tenant on one day of UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageDay {
    /// The day, `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub day: String,
    /// `tenant_…`
    pub tenant_id: String,
    /// The present name of the tenant; null once it is deleted.
    pub tenant_name: Option<String>,
    /// Answered checks: exact, from the statistics.
    pub checks: u64,
    /// The peak of subjects with a counter in Redis: estimated from a sample of keys.
    pub subjects: u64,
    /// The peak of bytes in Redis: estimated from a sample of keys.
    pub redis_bytes: u64,
    /// The peak of rows in Postgres: counted once per hour, without the statistics of minutes.
    pub postgres_rows: u64,
}
