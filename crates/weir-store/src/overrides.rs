//! Overrides: other limits, or another action, for single subjects of a rule.

mod body;
mod bulk;
mod row;
mod served;

use serde_json::Value;
use weir_domain::id::{OverrideId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

pub use body::OverrideBody;
pub use bulk::OverrideBulk;
pub use row::OverrideRow;
use row::{Row, query_overrides};
pub use served::ServedOverride;
pub(crate) use served::{of_rulebook, remaining};

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

/// Restricts a list of overrides. A field that is `None` does not restrict it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverrideFilter {
    /// Only overrides of this rule.
    pub rule_id: Option<RuleId>,
    /// Only overrides of the rules in these namespaces.
    pub namespaces: Option<Vec<String>>,
    /// Only overrides with this text in a value of their subject, in any case.
    pub subject: Option<String>,
}

impl OverrideFilter {
    /// The overrides of a rule.
    pub fn of_rule(rule_id: RuleId) -> Self {
        Self { rule_id: Some(rule_id), ..Self::default() }
    }
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

    /// Returns the override with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: OverrideId,
    ) -> Result<Option<OverrideRow>, StoreError> {
        let row = query_overrides!(
            "-- overrides.find
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(OverrideRow::from))
    }

    /// Returns at most `most` existing overrides of the rules and subjects of `bodies`, in the order of their ids, each
    /// with its spec.
    pub async fn of_subjects(
        self,
        tenant_id: TenantId,
        bodies: &[OverrideBody],
        most: u32,
    ) -> Result<Vec<(OverrideId, Value)>, StoreError> {
        bulk::of_subjects(self.conn, tenant_id, bodies, most).await
    }

    /// Returns the sets of rules as code that own existing overrides of the rules and subjects of `bodies` with another content,
    /// each with the number of these overrides, in the order of their names.
    pub async fn changed_sets(
        self,
        tenant_id: TenantId,
        bodies: &[OverrideBody],
    ) -> Result<Vec<(String, u64)>, StoreError> {
        bulk::changed_sets(self.conn, tenant_id, bodies).await
    }

    /// Returns the overrides with these rules and digests of subjects, in the order of their ids.
    pub async fn of_keys(
        self,
        tenant_id: TenantId,
        keys: &[(RuleId, [u8; 32])],
    ) -> Result<Vec<OverrideRow>, StoreError> {
        bulk::of_keys(self.conn, tenant_id, keys).await
    }

    /// Lists the overrides of a tenant, oldest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        filter: &OverrideFilter,
        page: &Page<OverrideId>,
    ) -> Result<Listing<OverrideRow>, StoreError> {
        let rows = query_overrides!(
            "-- overrides.list
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1
                AND ($2::uuid IS NULL OR rule_id = $2)
                AND ($3::uuid IS NULL OR id > $3)
                AND (
                    $5::text IS NULL
                    OR EXISTS (
                        SELECT FROM jsonb_each_text(subject) AS attribute
                        WHERE strpos(lower(attribute.value), lower($5)) > 0
                    )
                )
                AND (
                    $6::text[] IS NULL
                    OR rule_id IN (
                        SELECT id FROM rules WHERE tenant_id = $1 AND namespace = ANY($6)
                    )
                )
            ORDER BY id
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
            filter.subject,
            filter.namespaces.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows.into_iter().map(OverrideRow::from).collect()))
    }

    /// Returns the overrides of a rule for these subjects.
    pub async fn for_subjects(
        self,
        tenant_id: TenantId,
        rule_id: RuleId,
        subject_digests: &[[u8; 32]],
    ) -> Result<Vec<OverrideRow>, StoreError> {
        let digests: Vec<Vec<u8>> = subject_digests.iter().map(|digest| digest.to_vec()).collect();
        let rows = query_overrides!(
            "-- overrides.for_subjects
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1 AND rule_id = $2 AND subject_digest = ANY ($3)
            ORDER BY id",
            uuid(tenant_id.to_u128()),
            uuid(rule_id.to_u128()),
            &digests,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(OverrideRow::from).collect())
    }

    /// Returns the overrides of a set of rules as code.
    pub async fn of_set(
        self,
        tenant_id: TenantId,
        set: &str,
    ) -> Result<Vec<OverrideRow>, StoreError> {
        let rows = query_overrides!(
            "-- overrides.of_set
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1 AND managed_by = $2
            ORDER BY id",
            uuid(tenant_id.to_u128()),
            set,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(OverrideRow::from).collect())
    }

    /// Returns the number of overrides of a rule.
    pub async fn count_of_rule(
        self,
        tenant_id: TenantId,
        rule_id: RuleId,
    ) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- overrides.count_of_rule
            SELECT count(*) AS "count!" FROM overrides WHERE tenant_id = $1 AND rule_id = $2"#,
            uuid(tenant_id.to_u128()),
            uuid(rule_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Returns the number of overrides of a tenant.
    pub async fn count(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- overrides.count
            SELECT count(*) AS "count!" FROM overrides WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }
}

/// All overrides of a rule, including expired ones.
pub(crate) async fn of_rule(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    rule_id: RuleId,
) -> Result<Vec<OverrideRow>, StoreError> {
    let rows = query_overrides!(
        "-- overrides.of_rule
        SELECT",
        "FROM overrides
        WHERE tenant_id = $1 AND rule_id = $2
        ORDER BY id",
        uuid(tenant_id.to_u128()),
        uuid(rule_id.to_u128()),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(OverrideRow::from).collect())
}

/// All overrides of a namespace's rules, including expired ones.
pub(crate) async fn of_namespace(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    namespace: &str,
) -> Result<Vec<OverrideRow>, StoreError> {
    let rows = query_overrides!(
        "-- overrides.of_namespace
        SELECT",
        "FROM overrides
        WHERE
            tenant_id = $1
            AND rule_id IN (SELECT r.id FROM rules r WHERE r.tenant_id = $1 AND r.namespace = $2)
        ORDER BY id",
        uuid(tenant_id.to_u128()),
        namespace,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(OverrideRow::from).collect())
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
