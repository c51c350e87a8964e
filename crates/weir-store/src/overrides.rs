//! Overrides: other limits, or another action, for single subjects of a rule.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{OverrideId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// An override.
#[derive(Debug, Clone, PartialEq)]
pub struct OverrideRow {
    /// Which.
    pub id: OverrideId,
    /// Whose.
    pub tenant_id: TenantId,
    /// Of which rule.
    pub rule_id: RuleId,
    /// For whom.
    pub subject: Value,
    /// The limits or the action, as the API writes them.
    pub spec: Value,
    /// Why.
    pub reason: String,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// How often it was written.
    pub revision: u64,
    /// The rulebook version from which it holds.
    pub rulebook_version: u64,
    /// Since when.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// What of an override its author decides.
#[derive(Debug, Clone, PartialEq)]
pub struct OverrideBody {
    /// Of which rule.
    pub rule_id: RuleId,
    /// For whom.
    pub subject: Value,
    /// SHA-256 of the subject in its one canonical form.
    pub subject_digest: [u8; 32],
    /// The limits or the action, as the API writes them.
    pub spec: Value,
    /// Why.
    pub reason: String,
    /// Until when.
    pub expires_at: Option<Timestamp>,
}

/// An override to be written.
#[derive(Debug, Clone)]
pub struct OverrideWrite {
    /// Whose.
    pub tenant_id: TenantId,
    /// Which.
    pub id: OverrideId,
    /// What.
    pub body: OverrideBody,
    /// What the bump of the rulebook answered.
    pub rulebook_version: u64,
    /// When.
    pub now: Timestamp,
}

/// Many overrides to be written at once. No subject of a rule may come twice.
#[derive(Debug, Clone)]
pub struct OverrideBulk {
    /// Whose.
    pub tenant_id: TenantId,
    /// The id each gets if it is new, and what it says.
    pub rows: Vec<(OverrideId, OverrideBody)>,
    /// What the bump of the rulebook answered.
    pub rulebook_version: u64,
    /// When.
    pub now: Timestamp,
}

/// The table of overrides.
#[derive(Debug)]
pub struct Overrides<'t> {
    conn: &'t mut PgConnection,
}

impl<'t> Overrides<'t> {
    pub(crate) fn new(conn: &'t mut PgConnection) -> Self {
        Self { conn }
    }

    /// Makes an override.
    pub async fn insert(self, new: &OverrideWrite) -> Result<OverrideRow, StoreError> {
        let row = sqlx::query_as!(
            Row,
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
                rulebook_version,
                created_at,
                updated_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10, $10)
            RETURNING
                tenant_id,
                id,
                rule_id,
                subject,
                spec,
                reason,
                expires_at,
                revision,
                rulebook_version,
                created_at,
                updated_at",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            uuid(new.body.rule_id.to_u128()),
            new.body.subject,
            &new.body.subject_digest,
            new.body.spec,
            new.body.reason,
            new.body.expires_at.map(stored),
            signed(new.rulebook_version),
            stored(new.now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(row.into())
    }

    /// Writes an override again, if nobody did since the caller read it.
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
        let row = sqlx::query_as!(
            Row,
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
                rulebook_version = $9,
                updated_at = $10
            WHERE tenant_id = $1 AND id = $2
            RETURNING
                tenant_id,
                id,
                rule_id,
                subject,
                spec,
                reason,
                expires_at,
                revision,
                rulebook_version,
                created_at,
                updated_at",
            uuid(write.tenant_id.to_u128()),
            uuid(write.id.to_u128()),
            uuid(write.body.rule_id.to_u128()),
            write.body.subject,
            &write.body.subject_digest,
            write.body.spec,
            write.body.reason,
            write.body.expires_at.map(stored),
            signed(write.rulebook_version),
            stored(write.now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(Some(row.into()))
    }

    /// Writes many at once: a subject that had an override of the rule gets the new one instead.
    pub async fn upsert_many(self, bulk: &OverrideBulk) -> Result<u64, StoreError> {
        let columns = Columns::of(&bulk.rows);
        let done = sqlx::query!(
            "-- overrides.upsert_many
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
                rulebook_version,
                created_at,
                updated_at
            )
            SELECT
                $1,
                new.id,
                new.rule_id,
                new.subject,
                new.subject_digest,
                new.spec,
                new.reason,
                new.expires_at,
                1,
                $9,
                $10,
                $10
            FROM unnest(
                $2::uuid[],
                $3::uuid[],
                $4::jsonb[],
                $5::bytea[],
                $6::jsonb[],
                $7::text[],
                $8::timestamptz[]
            ) AS new (id, rule_id, subject, subject_digest, spec, reason, expires_at)
            ON CONFLICT ON CONSTRAINT overrides_tenant_id_rule_id_subject_digest_key
            DO UPDATE SET
                spec = excluded.spec,
                reason = excluded.reason,
                expires_at = excluded.expires_at,
                revision = overrides.revision + 1,
                rulebook_version = excluded.rulebook_version,
                updated_at = excluded.updated_at
            WHERE overrides.tenant_id = $1",
            uuid(bulk.tenant_id.to_u128()),
            &columns.ids,
            &columns.rule_ids,
            &columns.subjects,
            &columns.digests,
            &columns.specs,
            &columns.reasons,
            &columns.expiries as _,
            signed(bulk.rulebook_version),
            stored(bulk.now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Deletes an override and answers what it was.
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

    /// The override with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: OverrideId,
    ) -> Result<Option<OverrideRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "-- overrides.find
            SELECT
                tenant_id,
                id,
                rule_id,
                subject,
                spec,
                reason,
                expires_at,
                revision,
                rulebook_version,
                created_at,
                updated_at
            FROM overrides
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(OverrideRow::from))
    }

    /// Overrides of a tenant or of one of its rules, oldest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        rule: Option<RuleId>,
        page: &Page<OverrideId>,
    ) -> Result<Listing<OverrideRow>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "-- overrides.list
            SELECT
                tenant_id,
                id,
                rule_id,
                subject,
                spec,
                reason,
                expires_at,
                revision,
                rulebook_version,
                created_at,
                updated_at
            FROM overrides
            WHERE tenant_id = $1
                AND ($2::uuid IS NULL OR rule_id = $2)
                AND ($3::uuid IS NULL OR id > $3)
            ORDER BY id
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            rule.map(|id| uuid(id.to_u128())),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows.into_iter().map(OverrideRow::from).collect()))
    }

    /// How many overrides a tenant has.
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

/// Overrides of every tenant changed after `since`, or of one tenant.
pub(crate) async fn of_rulebook(
    conn: &mut PgConnection,
    since: i64,
    tenant: Option<Uuid>,
) -> Result<Vec<OverrideRow>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "-- overrides.of_rulebook
        SELECT
            o.tenant_id,
            o.id,
            o.rule_id,
            o.subject,
            o.spec,
            o.reason,
            o.expires_at,
            o.revision,
            o.rulebook_version,
            o.created_at,
            o.updated_at
        FROM overrides o
        JOIN tenants t ON t.id = o.tenant_id
        WHERE t.version > $1 AND ($2::uuid IS NULL OR o.tenant_id = $2)
        ORDER BY o.tenant_id, o.id",
        since,
        tenant,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(OverrideRow::from).collect())
}

async fn lock(
    conn: &mut PgConnection,
    tenant_id: TenantId,
    id: OverrideId,
) -> Result<Option<OverrideRow>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        "-- overrides.lock
        SELECT
            tenant_id,
            id,
            rule_id,
            subject,
            spec,
            reason,
            expires_at,
            revision,
            rulebook_version,
            created_at,
            updated_at
        FROM overrides
        WHERE tenant_id = $1 AND id = $2
        FOR UPDATE",
        uuid(tenant_id.to_u128()),
        uuid(id.to_u128()),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(OverrideRow::from))
}

/// Many overrides turned on their side: one array a column.
struct Columns {
    ids: Vec<Uuid>,
    rule_ids: Vec<Uuid>,
    subjects: Vec<Value>,
    digests: Vec<Vec<u8>>,
    specs: Vec<Value>,
    reasons: Vec<String>,
    expiries: Vec<Option<OffsetDateTime>>,
}

impl Columns {
    fn of(rows: &[(OverrideId, OverrideBody)]) -> Self {
        let bodies = || rows.iter().map(|(_, body)| body);
        Self {
            ids: rows.iter().map(|(id, _)| uuid(id.to_u128())).collect(),
            rule_ids: bodies().map(|body| uuid(body.rule_id.to_u128())).collect(),
            subjects: bodies().map(|body| body.subject.clone()).collect(),
            digests: bodies().map(|body| body.subject_digest.to_vec()).collect(),
            specs: bodies().map(|body| body.spec.clone()).collect(),
            reasons: bodies().map(|body| body.reason.clone()).collect(),
            expiries: bodies().map(|body| body.expires_at.map(stored)).collect(),
        }
    }
}

struct Row {
    tenant_id: Uuid,
    id: Uuid,
    rule_id: Uuid,
    subject: Value,
    spec: Value,
    reason: String,
    expires_at: Option<OffsetDateTime>,
    revision: i64,
    rulebook_version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
}

impl From<Row> for OverrideRow {
    fn from(row: Row) -> Self {
        Self {
            id: OverrideId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            rule_id: RuleId::from_u128(row.rule_id.as_u128()),
            subject: row.subject,
            spec: row.spec,
            reason: row.reason,
            expires_at: row.expires_at.map(timestamp),
            revision: unsigned(row.revision),
            rulebook_version: unsigned(row.rulebook_version),
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        }
    }
}
