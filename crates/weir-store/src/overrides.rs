//! Overrides: other limits, or another action, for single subjects of a rule.

mod body;
mod bulk;
mod reads;
mod row;
mod served;

use weir_domain::id::{OverrideId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, uuid};
use crate::error::StoreError;

pub use body::OverrideBody;
pub use bulk::OverrideBulk;
pub use reads::OverrideFilter;
pub(crate) use reads::{of_namespace, of_rule};
pub use row::OverrideRow;
use row::{Row, query_overrides};
pub use served::ServedOverride;
pub(crate) use served::{changed, changed_statement, of_tenants, remaining, remaining_statement};

/// An override to be inserted or updated.
#[derive(Debug, Clone)]
pub struct OverrideWrite {
    /// The tenant that owns the rule.
    pub tenant_id: TenantId,
    /// The override's id.
    pub id: OverrideId,
    /// The new content.
    pub body: OverrideBody,
    /// The set of rules as code that the override belongs to from then on. With `None`, an override stays where it is, and a
    /// new one belongs to no set.
    pub managed_by: Option<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The table of overrides.
#[derive(Debug)]
pub struct Overrides<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Overrides<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts an override.
    pub async fn insert(self, new: &OverrideWrite) -> Result<OverrideRow, StoreError> {
        let row = query_overrides!(
            "-- overrides.insert
            INSERT INTO overrides (
                tenant_id,
                id,
                rule_id,
                subject,
                subject_digest,
                spec,
                reason,
                expires_at,
                revision,
                created_at,
                updated_at,
                managed_by,
                applied_digest
            )
            VALUES (
                $1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9, $10,
                CASE WHEN $10::text IS NOT NULL THEN md5($6::jsonb::text) END
            )
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            uuid(new.body.rule_id.to_u128()),
            new.body.subject,
            &new.body.subject_digest,
            new.body.spec,
            new.body.reason,
            new.body.expires_at.map(stored),
            stored(new.now),
            new.managed_by.as_deref(),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(row.into())
    }

    /// Updates an override if it still has the revision that the caller read. `None` if it does not exist.
    pub async fn update(
        self,
        write: &OverrideWrite,
        expected_revision: u64,
    ) -> Result<Option<OverrideRow>, StoreError> {
        match lock(self.conn, write.tenant_id, write.id).await? {
            None => return Ok(None),
            Some(row) if row.revision != expected_revision => return Err(StoreError::Stale),
            Some(_) => {}
        }
        let row = query_overrides!(
            "-- overrides.update
            UPDATE overrides
            SET
                rule_id = $3,
                subject = $4,
                subject_digest = $5,
                spec = $6,
                reason = $7,
                expires_at = $8,
                revision = revision + 1,
                updated_at = $9,
                managed_by = coalesce($10, managed_by),
                applied_digest = CASE
                    WHEN $10::text IS NULL THEN applied_digest
                    ELSE md5($6::jsonb::text)
                END
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(write.tenant_id.to_u128()),
            uuid(write.id.to_u128()),
            uuid(write.body.rule_id.to_u128()),
            write.body.subject,
            &write.body.subject_digest,
            write.body.spec,
            write.body.reason,
            write.body.expires_at.map(stored),
            stored(write.now),
            write.managed_by.as_deref(),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(Some(row.into()))
    }

    /// Sets the digest of what the last apply wrote of an override of a set. `None` if there is no such override.
    pub async fn set_applied_digest(
        self,
        tenant_id: TenantId,
        id: OverrideId,
        digest: &str,
    ) -> Result<Option<OverrideRow>, StoreError> {
        let row = query_overrides!(
            "-- overrides.set_applied_digest
            UPDATE overrides
            SET applied_digest = $3
            WHERE tenant_id = $1 AND id = $2 AND managed_by IS NOT NULL
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
            digest,
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(OverrideRow::from))
    }

    /// Inserts many overrides at once. An existing override of the same rule and subject is replaced.
    pub async fn upsert_many(self, bulk: &OverrideBulk) -> Result<u64, StoreError> {
        bulk::upsert(self.conn, bulk).await
    }

    /// Deletes up to `most` overrides of a tenant that ended before `until` and belong to no set of rules as code. Returns their
    /// number.
    pub async fn delete_ended(
        self,
        tenant_id: TenantId,
        until: Timestamp,
        most: u32,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "-- overrides.delete_ended
            DELETE FROM overrides
            WHERE tenant_id = $1 AND id IN (
                SELECT o.id FROM overrides o
                WHERE o.tenant_id = $1 AND o.managed_by IS NULL AND o.expires_at < $2
                ORDER BY o.expires_at
                LIMIT $3
            )",
            uuid(tenant_id.to_u128()),
            stored(until),
            i64::from(most),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Deletes an override and returns its last content.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: OverrideId,
        expected_revision: Option<u64>,
    ) -> Result<Option<OverrideRow>, StoreError> {
        let Some(row) = lock(self.conn, tenant_id, id).await? else {
            return Ok(None);
        };
        if expected_revision.is_some_and(|expected| expected != row.revision) {
            return Err(StoreError::Stale);
        }
        sqlx::query!(
            "-- overrides.delete
            DELETE FROM overrides WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(Some(row))
    }
}

async fn lock(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    id: OverrideId,
) -> Result<Option<OverrideRow>, StoreError> {
    let row = query_overrides!(
        "-- overrides.lock
        SELECT",
        "FROM overrides
        WHERE tenant_id = $1 AND id = $2
        FOR UPDATE",
        uuid(tenant_id.to_u128()),
        uuid(id.to_u128()),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(OverrideRow::from))
}
