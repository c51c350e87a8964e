//! What is done to statistics with time: rolled up, and let go. The work is done by functions of the
//! schema, because the app's role owns no table.

use sqlx::PgConnection;

use crate::convert::{signed, unsigned};
use crate::error::StoreError;

/// How long statistics are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Days of minutes, and of the busiest subjects.
    pub minutes_days: u16,
    /// Days of hours.
    pub hours_days: u16,
    /// Days of days.
    pub days_days: u16,
    /// Entries of a tenant's log of refused checks; they are kept for a day at most.
    pub denials_max: u32,
    /// Hours of checks kept for what-if runs.
    pub samples_hours: u16,
    /// Bytes of them a tenant.
    pub samples_bytes_max: u64,
}

/// What is done with time.
#[derive(Debug)]
pub struct Housekeeping<'t> {
    conn: &'t mut PgConnection,
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
    pub(crate) fn new(conn: &'t mut PgConnection) -> Self {
        Self { conn }
    }

    /// Folds hours that are over; whether there was something to do.
    pub async fn roll_up(self, retention: &Retention) -> Result<bool, StoreError> {
        take_time(&mut *self.conn).await?;
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

    /// Opens the next days and lets go of what is too old; how many days of minutes went.
    pub async fn keep(self, retention: &Retention) -> Result<u64, StoreError> {
        take_time(&mut *self.conn).await?;
        let dropped = sqlx::query_scalar!(
            r#"-- housekeeping.keep
            SELECT weir_keep_statistics($1, $2, $3, $4) AS "dropped!""#,
            i32::from(retention.minutes_days),
            i32::from(retention.hours_days),
            i32::from(retention.days_days),
            i32::try_from(retention.denials_max).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(dropped.into()))
    }

    /// Lets go of checks kept for what-if runs that are too old or too many; how many pieces went.
    pub async fn keep_samples(self, retention: &Retention) -> Result<u64, StoreError> {
        take_time(&mut *self.conn).await?;
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

/// Nobody waits for this, and it may have a lot to do.
async fn take_time(conn: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!(
        "-- housekeeping.take_time
        SELECT set_config('statement_timeout', '300s', true)"
    )
    .fetch_one(conn)
    .await?;
    Ok(())
}
