//! Expired rows of all tenants: stored responses, sessions, invitations, sign-ups, password resets, keys, and assignments that
//! ended long ago.

use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, unsigned};
use crate::error::StoreError;

/// The functions that delete expired rows of all tenants.
#[derive(Debug)]
pub struct Sweep<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Sweep<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Deletes up to `most` rows of each kind that expired before `at`. Returns the number of deleted rows.
    pub async fn expired(self, at: Timestamp, most: u32) -> Result<u64, StoreError> {
        let swept = sqlx::query_scalar!(
            r#"-- sweep.expired
            SELECT
                weir_sweep($1, $2)
                + weir_sweep_signups($1, $2)
                + weir_sweep_password_resets($1, $2)
                + weir_sweep_assignments($1, $2) AS "swept!""#,
            stored(at),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(swept))
    }

    /// Returns the tenants of up to `most` overrides that ended before `until` and belong to no set of rules as code. Delete
    /// them with [`Overrides::delete_ended`](crate::Overrides::delete_ended).
    pub async fn tenants_with_ended_overrides(
        self,
        until: Timestamp,
        most: u32,
    ) -> Result<Vec<TenantId>, StoreError> {
        let tenants = sqlx::query_scalar!(
            r#"-- sweep.tenants_with_ended_overrides
            SELECT weir_tenants_with_ended_overrides($1, $2) AS "tenant!""#,
            stored(until),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(tenants.into_iter().map(|id| TenantId::from_u128(id.as_u128())).collect())
    }

    /// Deletes up to `most` keys of all tenants that were revoked or expired before `until`. A revoked key stays until no gate
    /// can hold a rulebook in which it works. Returns the number of deleted rows.
    pub async fn unusable_keys(self, until: Timestamp, most: u32) -> Result<u64, StoreError> {
        let deleted = sqlx::query_scalar!(
            r#"-- sweep.unusable_keys
            SELECT weir_delete_unusable_keys($1, $2) AS "deleted!""#,
            stored(until),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(deleted))
    }
}
