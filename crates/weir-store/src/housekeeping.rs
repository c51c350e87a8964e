//! Roll-up and retention of statistics. Functions of the schema do the work, because the app's role owns no table.

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned};
use crate::error::StoreError;

/// Retention periods and bounds of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Days of counts by the minute, and of the busiest subjects.
    pub minutes_days: u16,
    /// Days of counts by the hour.
    pub hours_days: u16,
    /// Days of counts by the day.
    pub days_days: u16,
    /// Entries in a tenant's log of denied checks. None is retained for more than [`crate::DENIALS_DAYS`].
    pub denials_max: u32,
    /// Hours of checks recorded for what-if runs.
    pub samples_hours: u16,
    /// Bytes of recorded checks of one tenant.
    pub samples_bytes_max: u64,
}

/// The maintenance functions of the schema.
#[derive(Debug)]
pub struct Housekeeping<'t> {
    conn: &'t mut PooledConnection,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            minutes_days: 7,
            hours_days: 90,
            days_days: 730,
            denials_max: 10_000,
            samples_hours: 24,
            samples_bytes_max: 64 << 20,
        }
    }
}

impl<'t> Housekeeping<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Rolls up completed hours. Returns whether any were rolled up.
    pub async fn roll_up(self, retention: &Retention) -> Result<bool, StoreError> {
        let done = sqlx::query_scalar!(
            r#"-- housekeeping.roll_up
            SELECT weir_roll_up($1, $2) AS "done!""#,
            i32::from(retention.minutes_days),
            i32::from(retention.hours_days),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(done)
    }

    /// Creates the partitions of the next days.
    pub async fn open_days(self) -> Result<(), StoreError> {
        sqlx::query!(
            "-- housekeeping.open_days
            SELECT weir_open_days()"
        )
        .fetch_one(self.conn)
        .await?;
        Ok(())
    }

    /// Drops the oldest partition of minutes if it is past its retention. Returns whether one was dropped. Must be
    /// alone in its transaction, because it locks the table.
    pub async fn drop_old_day(self, retention: &Retention) -> Result<bool, StoreError> {
        let dropped = sqlx::query_scalar!(
            r#"-- housekeeping.drop_old_day
            SELECT weir_drop_old_day($1) AS "dropped!""#,
            i32::from(retention.minutes_days),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(dropped)
    }

    /// Deletes statistics that are past their retention, above their bound, or of deleted tenants.
    pub async fn delete_old(self, retention: &Retention) -> Result<(), StoreError> {
        sqlx::query!(
            "-- housekeeping.delete_old
            SELECT weir_delete_old_statistics($1, $2, $3, $4)",
            i32::from(retention.minutes_days),
            i32::from(retention.hours_days),
            i32::from(retention.days_days),
            i32::try_from(retention.denials_max).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(())
    }

    /// Deletes up to `most` steps that are past their retention. Returns the number of deleted rows.
    pub async fn delete_old_steps(self, most: u32) -> Result<u64, StoreError> {
        let deleted = sqlx::query_scalar!(
            r#"-- housekeeping.delete_old_steps
            SELECT weir_delete_old_steps($1) AS "deleted!""#,
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(deleted))
    }

    /// Deletes up to `most` counts of requests of keys that are past their retention. Returns the number of deleted rows.
    pub async fn delete_old_key_hours(self, most: u32) -> Result<u64, StoreError> {
        let deleted = sqlx::query_scalar!(
            r#"-- housekeeping.delete_old_key_hours
            SELECT weir_delete_old_key_hours($1) AS "deleted!""#,
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(deleted))
    }

    /// Deletes up to `most` rows of quota periods that are past their retention. Returns the number of deleted rows.
    pub async fn delete_old_quota_periods(self, most: u32) -> Result<u64, StoreError> {
        let deleted = sqlx::query_scalar!(
            r#"-- housekeeping.delete_old_quota_periods
            SELECT weir_delete_old_quota_periods($1) AS "deleted!""#,
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(deleted))
    }

    /// Deletes changes of tenants that gates no longer load and no row refers to. Returns the number of deleted rows.
    pub async fn delete_old_changes(self) -> Result<u64, StoreError> {
        let deleted = sqlx::query_scalar!(
            r#"-- housekeeping.delete_old_changes
            SELECT weir_delete_old_changes() AS "deleted!""#
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(deleted))
    }

    /// Returns the number of days, from today on, that have a partition for minutes.
    pub async fn days_ahead(self) -> Result<u32, StoreError> {
        let days = sqlx::query_scalar!(
            r#"-- housekeeping.days_ahead
            SELECT count(*) AS "days!"
            FROM pg_inherits i
            JOIN pg_class c ON c.oid = i.inhrelid
            WHERE
                i.inhparent = 'public.tallies_minutes'::regclass
                AND c.relname ~ '^tallies_minutes_\d{8}$'
                AND to_date(right(c.relname, 8), 'YYYYMMDD')
                    >= (clock_timestamp() AT TIME ZONE 'UTC')::date"#
        )
        .fetch_one(self.conn)
        .await?;
        Ok(u32::try_from(days).unwrap_or(u32::MAX))
    }

    /// Deletes recorded checks that are past their retention or above their bound. Returns the number of deleted rows.
    pub async fn keep_samples(self, retention: &Retention) -> Result<u64, StoreError> {
        let dropped = sqlx::query_scalar!(
            r#"-- housekeeping.keep_samples
            SELECT weir_keep_samples($1, $2) AS "dropped!""#,
            i32::from(retention.samples_hours),
            signed(retention.samples_bytes_max),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(dropped))
    }
}
