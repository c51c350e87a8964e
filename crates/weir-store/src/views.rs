//! The views of lists that the members of a tenant share.

use serde_json::Value;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;

/// The views of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewsRow {
    /// The views as JSON.
    pub views: Value,
    /// The number of writes so far.
    pub revision: u64,
}

/// The table of views.
#[derive(Debug)]
pub struct Views<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Views<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the views of a tenant. If nobody wrote them, there are none, and the revision is 0.
    pub async fn find(self, tenant_id: TenantId) -> Result<ViewsRow, StoreError> {
        let row = sqlx::query!(
            "-- views.find
            SELECT views, revision FROM shared_views WHERE tenant_id = $1",
            uuid(tenant_id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map_or_else(
            || ViewsRow { views: Value::Array(Vec::new()), revision: 0 },
            |row| ViewsRow { views: row.views, revision: unsigned(row.revision) },
        ))
    }

    /// Writes the views of a tenant. Changes of a tenant wait for each other, so a caller that has read the revision can rely on
    /// it.
    pub async fn set(
        self,
        tenant_id: TenantId,
        views: &Value,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let revision = sqlx::query_scalar!(
            "-- views.set
            INSERT INTO shared_views AS kept (tenant_id, views, revision, updated_at)
            VALUES ($1, $2, 1, $3)
            ON CONFLICT ON CONSTRAINT shared_views_tenant_id_pkey DO UPDATE
            SET
                views = excluded.views,
                revision = kept.revision + 1,
                updated_at = excluded.updated_at
            RETURNING revision",
            uuid(tenant_id.to_u128()),
            views,
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(revision))
    }
}
