//! Overrides: other limits, or another action, for single subjects of a rule. They have no revisions.

mod body;
mod bulk;
mod reads;
mod row;
mod served;

use weir_domain::id::{OverrideId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, uuid};
use crate::error::StoreError;
use crate::specs::{Spec, SpecRow, SpecWrite, Specs, spec_statements};

pub use body::OverrideBody;
pub use bulk::OverrideBulk;
pub use reads::OverrideFilter;
pub(crate) use reads::{of_namespace, of_rule};
pub use row::OverrideColumns;
use row::query_overrides;
pub use served::ServedOverride;
pub(crate) use served::{changed, changed_statement, of_tenants, remaining, remaining_statement};

/// The kind of overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideSpec;

/// An override.
pub type OverrideRow = SpecRow<OverrideSpec>;
/// An override to be inserted or updated.
pub type OverrideWrite = SpecWrite<OverrideSpec>;
/// The table of overrides.
pub type Overrides<'t> = Specs<'t, OverrideSpec>;

/// A statement that writes an override and returns it.
macro_rules! write_override {
    ($write:ident, $sql:literal $(, $more:expr)?) => {
        query_overrides!(
            $sql,
            "",
            uuid($write.tenant_id.to_u128()),
            uuid($write.id.to_u128()),
            uuid($write.body.rule_id.to_u128()),
            $write.body.subject,
            &$write.body.subject_digest,
            $write.body.spec,
            $write.body.reason,
            $write.body.expires_at.map(stored),
            stored($write.now),
            $write.managed_by.as_deref()
            $(, $more)?
        )
    };
}

impl Spec for OverrideSpec {
    type Id = OverrideId;
    type Columns = OverrideColumns;
    type Body = OverrideBody;

    spec_statements!("overrides", query_overrides);

    async fn insert(
        conn: &mut PooledConnection,
        new: &OverrideWrite,
    ) -> Result<OverrideRow, StoreError> {
        let inserted = write_override!(
            new,
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
            RETURNING"
        );
        Ok(inserted.fetch_one(conn).await?)
    }

    async fn update(
        conn: &mut PooledConnection,
        write: &OverrideWrite,
        revision: u64,
    ) -> Result<Option<OverrideRow>, StoreError> {
        let updated = write_override!(
            write,
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
            WHERE tenant_id = $1 AND id = $2 AND revision = $11
            RETURNING",
            signed(revision)
        );
        Ok(updated.fetch_optional(conn).await?)
    }
}

impl Overrides<'_> {
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
        );
        Ok(row.fetch_optional(self.conn).await?)
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
}
