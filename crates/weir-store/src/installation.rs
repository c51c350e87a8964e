//! Settings that hold for all tenants: one row, which only operators change.

use crate::connection::PooledConnection;
use crate::error::StoreError;

/// The table of the installation, which has one row.
#[derive(Debug)]
pub struct Installation<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Installation<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Whether rules are enforced, for all tenants.
    pub async fn enforced(self) -> Result<bool, StoreError> {
        let enforced = sqlx::query_scalar!(
            "-- installation.enforced
            SELECT enforced FROM installation"
        )
        .fetch_one(self.conn)
        .await?;
        Ok(enforced)
    }

    /// Enforces the rules of all tenants, or stops enforcing them. Returns whether the caller's scope permitted it.
    pub async fn set_enforced(self, enforced: bool) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- installation.set_enforced
            UPDATE installation SET enforced = $1",
            enforced,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// The regions, in their JSON form, locked until the transaction ends.
    pub async fn regions(self) -> Result<String, StoreError> {
        let regions = sqlx::query_scalar!(
            "-- installation.regions
            SELECT regions::text AS \"regions!\" FROM installation FOR UPDATE"
        )
        .fetch_one(self.conn)
        .await?;
        Ok(regions)
    }

    /// Replaces the regions. Returns whether the caller's scope permitted it.
    pub async fn set_regions(self, regions: &serde_json::Value) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- installation.set_regions
            UPDATE installation SET regions = $1",
            regions,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }
}
