//! The log of denied checks: a sample of each second, retained for a day.

use serde_json::Value;
use uuid::Uuid;
use weir_domain::id::{DenialId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::tallies::{Counted, Flush};

/// The most denied checks of a tenant that a gate records for each second.
pub const DENIALS_PER_SECOND: u32 = 10;

/// A denied check.
#[derive(Debug, Clone, PartialEq)]
pub struct DenialRow {
    /// The entry's id.
    pub id: DenialId,
    /// The tenant that owns the rule.
    pub tenant_id: TenantId,
    /// The time of the check.
    pub at: Timestamp,
    /// The namespace of the check.
    pub namespace: String,
    /// The rule that denied the check.
    pub rule_id: RuleId,
    /// The rule's name at that time.
    pub rule: String,
    /// Whether the rule was in shadow mode.
    pub shadow: bool,
    /// The attributes that the rule counts by.
    pub subject: Value,
    /// The cost of the check.
    pub cost: u64,
    /// The time in milliseconds after which the same check could pass. `None` if it never can.
    pub retry_after_ms: Option<u64>,
    /// Whether the check was decided without Redis.
    pub degraded: bool,
    /// The number of denied checks that the entry represents.
    pub stands_for: u32,
}

/// A subject that a rule denied.
#[derive(Debug, Clone, PartialEq)]
pub struct DeniedSubject {
    /// The attributes that the rule counts by.
    pub subject: Value,
    /// Whether the rule would have denied it, in shadow mode.
    pub shadow: bool,
    /// Whether each of its entries represents one check.
    pub complete: bool,
}

/// Restricts a list of denied checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenialFilter {
    /// The tenant that owns the entries.
    pub tenant_id: TenantId,
    /// Only entries of this rule.
    pub rule_id: Option<RuleId>,
    /// Only entries after this one.
    pub newer_than: Option<DenialId>,
    /// Only entries whose subject consists of some of the attributes of one of these JSON objects.
    pub subject_of: Option<Vec<Value>>,
    /// Only entries of these namespaces.
    pub namespaces: Option<Vec<String>>,
}

impl DenialFilter {
    /// All denials of a tenant.
    pub const fn of(tenant_id: TenantId) -> Self {
        Self { tenant_id, rule_id: None, newer_than: None, subject_of: None, namespaces: None }
    }
}

/// The table of denied checks.
#[derive(Debug)]
pub struct Denials<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Denials<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts entries. Existing entries are left unchanged.
    pub async fn write(self, flush: &Flush, rows: &[DenialRow]) -> Result<(), StoreError> {
        let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
        let ids: Vec<Uuid> = rows.iter().map(|row| uuid(row.id.to_u128())).collect();
        let at: Vec<_> = rows.iter().map(|row| stored(row.at)).collect();
        let namespaces: Vec<String> = rows.iter().map(|row| row.namespace.clone()).collect();
        let rule_ids: Vec<Uuid> = rows.iter().map(|row| uuid(row.rule_id.to_u128())).collect();
        let rules: Vec<String> = rows.iter().map(|row| row.rule.clone()).collect();
        let shadows: Vec<bool> = rows.iter().map(|row| row.shadow).collect();
        let subjects: Vec<Value> = rows.iter().map(|row| row.subject.clone()).collect();
        let costs: Vec<i64> = rows.iter().map(|row| signed(row.cost)).collect();
        let retries: Vec<Option<i64>> =
            rows.iter().map(|row| row.retry_after_ms.map(signed)).collect();
        let degraded: Vec<bool> = rows.iter().map(|row| row.degraded).collect();
        let stand_for: Vec<i32> =
            rows.iter().map(|row| i32::try_from(row.stands_for).unwrap_or(i32::MAX)).collect();
        sqlx::query!(
            "-- denials.write
            INSERT INTO denials (
                gate_id, tenant_id, id, at, namespace, rule_id, rule, shadow, subject, cost,
                retry_after_ms, degraded, stands_for
            )
            SELECT $1, n.*
            FROM unnest(
                $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::uuid[], $7::text[],
                $8::boolean[], $9::jsonb[], $10::bigint[], $11::bigint[], $12::boolean[],
                $13::integer[]
            ) n
            ON CONFLICT ON CONSTRAINT denials_tenant_id_id_pkey DO NOTHING",
            uuid(flush.gate_id.to_u128()),
            &tenants,
            &ids,
            &at,
            &namespaces,
            &rule_ids,
            &rules,
            &shadows,
            &subjects,
            &costs,
            &retries as &[Option<i64>],
            &degraded,
            &stand_for,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Returns the time of the oldest entry of a tenant.
    pub async fn oldest(self, tenant_id: TenantId) -> Result<Option<Timestamp>, StoreError> {
        let found = sqlx::query_scalar!(
            "-- denials.oldest
            SELECT at FROM denials WHERE tenant_id = $1 ORDER BY id LIMIT 1",
            uuid(tenant_id.to_u128()),
        );
        Ok(found.fetch_optional(self.conn).await?.map(timestamp))
    }

    /// Lists the different subjects that a rule denied between two times, at most `limit`.
    pub async fn subjects(
        self,
        tenant_id: TenantId,
        rule_id: RuleId,
        (from, to): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeniedSubject>, StoreError> {
        let rows = sqlx::query!(
            r#"-- denials.subjects
            SELECT subject AS "subject!", shadow AS "shadow!", bool_and(stands_for = 1) AS "complete!"
            FROM denials
            WHERE tenant_id = $1 AND rule_id = $2 AND id >= $3 AND id < $4
            GROUP BY subject, shadow
            LIMIT $5"#,
            uuid(tenant_id.to_u128()),
            uuid(rule_id.to_u128()),
            uuid(DenialId::new(from, 0).to_u128()),
            uuid(DenialId::new(to, 0).to_u128()),
            i64::from(limit),
        )
        .fetch_all(self.conn)
        .await?;
        let subjects = rows.into_iter().map(|row| DeniedSubject {
            subject: row.subject,
            shadow: row.shadow,
            complete: row.complete,
        });
        Ok(subjects.collect())
    }

    /// Lists the denied checks of a tenant, newest first.
    pub async fn list(
        self,
        filter: &DenialFilter,
        page: &Page<DenialId>,
    ) -> Result<Counted<Listing<DenialRow>>, StoreError> {
        let rows = sqlx::query!(
            r#"-- denials.list
            SELECT
                f.as_of AS "as_of!",
                d.id AS "id?",
                d.at AS "at?",
                d.namespace AS "namespace?",
                d.rule_id AS "rule_id?",
                d.rule AS "rule?",
                d.shadow AS "shadow?",
                d.subject AS "subject?",
                d.cost AS "cost?",
                d.retry_after_ms,
                d.degraded AS "degraded?",
                d.stands_for AS "stands_for?"
            FROM weir_freshness(now(), now()) f
            LEFT JOIN (
                SELECT * FROM denials
                WHERE tenant_id = $1
                    AND ($2::uuid IS NULL OR rule_id = $2)
                    AND ($3::uuid IS NULL OR id < $3)
                    AND ($4::uuid IS NULL OR id > $4)
                    AND ($6::jsonb[] IS NULL OR (subject <> '{}' AND subject <@ ANY($6)))
                    AND ($7::text[] IS NULL OR namespace = ANY($7))
                ORDER BY id DESC
                LIMIT $5
            ) d ON true
            ORDER BY d.id DESC"#,
            uuid(filter.tenant_id.to_u128()),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            page.after.map(|id| uuid(id.to_u128())),
            filter.newer_than.map(|id| uuid(id.to_u128())),
            page.fetch(),
            filter.subject_of.as_deref(),
            filter.namespaces.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::corrupt("a list without freshness"));
        };
        let as_of = timestamp(first.as_of);
        let rows = rows.into_iter().filter_map(|row| {
            Some(DenialRow {
                id: DenialId::from_u128(row.id?.as_u128()),
                tenant_id: filter.tenant_id,
                at: timestamp(row.at?),
                namespace: row.namespace?,
                rule_id: RuleId::from_u128(row.rule_id?.as_u128()),
                rule: row.rule?,
                shadow: row.shadow?,
                subject: row.subject?,
                cost: unsigned(row.cost?),
                retry_after_ms: row.retry_after_ms.map(unsigned),
                degraded: row.degraded?,
                stands_for: row
                    .stands_for
                    .and_then(|checks| u32::try_from(checks).ok())
                    .unwrap_or(1),
            })
        });
        let listing = page.listing(rows.collect());
        Ok(Counted { counts: listing, as_of, dropped: 0 })
    }
}
