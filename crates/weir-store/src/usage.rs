//! The usage of tenants by day, written by the control plane's housekeeping and read by operators.

use time::Date;
use uuid::Uuid;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::TenantId;

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// The usage of one tenant on one day in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The tenant's current name. `None` if the tenant was deleted.
    pub tenant_name: Option<String>,
    /// The day, in days since 1970-01-01.
    pub day: i32,
    /// The exact number of answered checks.
    pub checks: u64,
    /// The greatest sampled number of subjects with a counter in Redis.
    pub subjects: u64,
    /// The greatest sampled size of the tenant's keys in Redis, in bytes.
    pub redis_bytes: u64,
    /// The greatest number of rows in Postgres, counted once an hour.
    pub postgres_rows: u64,
}

/// The requested days and tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageFilter {
    /// The first day, in days since 1970-01-01.
    pub from: i32,
    /// The last day, inclusive.
    pub to: i32,
    /// Only this tenant.
    pub tenant_id: Option<TenantId>,
}

/// A sample of one tenant's data in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisUsage {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The number of subjects with a counter.
    pub subjects: u64,
    /// The size of the tenant's keys in bytes.
    pub bytes: u64,
}

/// The table of usage.
#[derive(Debug)]
pub struct Usage<'t> {
    conn: &'t mut PooledConnection,
}

/// The Julian day of 1970-01-01.
const EPOCH: i32 = 2_440_588;

impl<'t> Usage<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Lists the usage of these days, by day and tenant. The page starts after a day and tenant. Requires an operator's
    /// scope.
    pub async fn list(
        self,
        filter: &UsageFilter,
        page: &Page<(i32, TenantId)>,
    ) -> Result<Listing<UsageRow>, StoreError> {
        let rows = sqlx::query!(
            r#"-- usage.list
            SELECT
                u.tenant_id,
                t.name AS "name?",
                u.day,
                u.checks,
                u.subjects,
                u.redis_bytes,
                u.postgres_rows
            FROM usage_days u
            LEFT JOIN tenants t ON t.id = u.tenant_id
            WHERE u.day BETWEEN $1 AND $2
                AND ($3::uuid IS NULL OR u.tenant_id = $3)
                AND ($4::date IS NULL OR (u.day, u.tenant_id) > ($4, $5::uuid))
            ORDER BY u.day, u.tenant_id
            LIMIT $6"#,
            date(filter.from),
            date(filter.to),
            filter.tenant_id.map(|id| uuid(id.to_u128())),
            page.after.map(|(day, _)| date(day)),
            page.after.map(|(_, id)| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| UsageRow {
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            tenant_name: row.name,
            day: days(row.day),
            checks: unsigned(row.checks),
            subjects: unsigned(row.subjects),
            redis_bytes: unsigned(row.redis_bytes),
            postgres_rows: unsigned(row.postgres_rows),
        });
        Ok(page.listing(rows.collect()))
    }

    /// Writes the checks of today and yesterday, and deletes rows older than `days` days.
    pub async fn roll_up(self, days: u16) -> Result<(), StoreError> {
        sqlx::query!(
            "-- usage.roll_up
            SELECT weir_roll_up_usage($1)",
            i32::from(days),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(())
    }

    /// Writes samples, and counts rows. Returns the number of tenants above their ceiling of live subjects.
    pub async fn note(self, samples: &[RedisUsage]) -> Result<u64, StoreError> {
        let tenants: Vec<Uuid> =
            samples.iter().map(|sample| uuid(sample.tenant_id.to_u128())).collect();
        let subjects: Vec<i64> = samples.iter().map(|sample| signed(sample.subjects)).collect();
        let bytes: Vec<i64> = samples.iter().map(|sample| signed(sample.bytes)).collect();
        let over = sqlx::query_scalar!(
            r#"-- usage.note
            SELECT weir_note_usage($1, $2, $3, $4) AS "over!""#,
            &tenants,
            &subjects,
            &bytes,
            signed(Ceiling::LiveSubjects.default_value()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(over))
    }

    /// Deletes statistics older than the ceiling of days of their tenant. Returns the number of deleted rows.
    pub async fn keep_days(self) -> Result<u64, StoreError> {
        let removed = sqlx::query_scalar!(
            r#"-- usage.keep_days
            SELECT weir_keep_days_of_tenants() AS "removed!""#
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(removed))
    }
}

/// The day that is this many days after 1970-01-01.
pub(crate) fn date(day: i32) -> Date {
    Date::from_julian_day(EPOCH.saturating_add(day)).unwrap_or(Date::MIN)
}

/// The days from 1970-01-01 to this day.
pub(crate) fn days(day: Date) -> i32 {
    day.to_julian_day() - EPOCH
}
