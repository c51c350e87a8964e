//! Writes and reads many overrides in one statement, with arrays as parameters.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{OverrideId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use super::body::OverrideBody;
use super::row::query_overrides;
use super::{OverrideRow, Overrides};
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;

/// Overrides to be written at once. No subject of a rule can occur twice.
#[derive(Debug, Clone)]
pub struct OverrideBulk {
    /// The tenant that owns the rules.
    pub tenant_id: TenantId,
    /// The overrides, each with the id that it gets if its subject has no override yet.
    pub rows: Vec<(OverrideId, OverrideBody)>,
    /// The current time.
    pub now: Timestamp,
}

impl Overrides<'_> {
    /// Inserts many overrides at once. An existing override of the same rule and subject is replaced.
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
                $9
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
            stored(bulk.now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Returns at most `most` existing overrides of the rules and subjects of `bodies`, in the order of their ids, each
    /// with its spec.
    pub async fn of_subjects(
        self,
        tenant_id: TenantId,
        bodies: &[OverrideBody],
        most: u32,
    ) -> Result<Vec<(OverrideId, Value)>, StoreError> {
        let rule_ids: Vec<Uuid> = bodies.iter().map(|body| uuid(body.rule_id.to_u128())).collect();
        let digests: Vec<Vec<u8>> =
            bodies.iter().map(|body| body.subject_digest.to_vec()).collect();
        let rows = sqlx::query!(
            "-- overrides.of_subjects
            SELECT o.id, o.spec
            FROM unnest($2::uuid[], $3::bytea[]) AS wanted (rule_id, subject_digest)
            JOIN overrides o
                ON o.tenant_id = $1
                AND o.rule_id = wanted.rule_id
                AND o.subject_digest = wanted.subject_digest
            ORDER BY o.id
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            &rule_ids,
            &digests,
            i64::from(most),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| (OverrideId::from_u128(row.id.as_u128()), row.spec))
            .collect())
    }

    /// Returns the sets of rules as code that own existing overrides of the rules and subjects of `bodies` with another content,
    /// each with the number of these overrides, in the order of their names.
    pub async fn changed_sets(
        self,
        tenant_id: TenantId,
        bodies: &[OverrideBody],
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let rule_ids: Vec<Uuid> = bodies.iter().map(|body| uuid(body.rule_id.to_u128())).collect();
        let digests: Vec<Vec<u8>> =
            bodies.iter().map(|body| body.subject_digest.to_vec()).collect();
        let specs: Vec<Value> = bodies.iter().map(|body| body.spec.clone()).collect();
        let rows = sqlx::query!(
            r#"-- overrides.changed_sets
            SELECT o.managed_by AS "set!", count(*) AS "count!"
            FROM unnest($2::uuid[], $3::bytea[], $4::jsonb[]) AS wanted (rule_id, subject_digest, spec)
            JOIN overrides o
                ON o.tenant_id = $1
                AND o.rule_id = wanted.rule_id
                AND o.subject_digest = wanted.subject_digest
            WHERE o.managed_by IS NOT NULL AND o.spec <> wanted.spec
            GROUP BY o.managed_by
            ORDER BY o.managed_by"#,
            uuid(tenant_id.to_u128()),
            &rule_ids,
            &digests,
            &specs,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(|row| (row.set, unsigned(row.count))).collect())
    }

    /// Returns the overrides with these rules and digests of subjects, in the order of their ids.
    pub async fn of_keys(
        self,
        tenant_id: TenantId,
        keys: &[(RuleId, [u8; 32])],
    ) -> Result<Vec<OverrideRow>, StoreError> {
        let rule_ids: Vec<Uuid> = keys.iter().map(|(rule_id, _)| uuid(rule_id.to_u128())).collect();
        let digests: Vec<Vec<u8>> = keys.iter().map(|(_, digest)| digest.to_vec()).collect();
        let rows = query_overrides!(
            "-- overrides.of_keys
            SELECT",
            "FROM overrides
            WHERE tenant_id = $1
                AND (rule_id, subject_digest) IN (
                    SELECT k.rule_id, k.digest FROM unnest($2::uuid[], $3::bytea[]) AS k (rule_id, digest)
                )
            ORDER BY id",
            uuid(tenant_id.to_u128()),
            &rule_ids,
            &digests,
        );
        Ok(rows.fetch_all(self.conn).await?)
    }
}

/// The columns of many overrides, each as one array.
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
