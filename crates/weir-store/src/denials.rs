//! The log of denied checks: a sample of each second, retained for 30 days.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{DenialId, OverrideId, RequestId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::tallies::{Counted, Flush};

/// The most denied checks of a tenant that a gate records for each second.
pub const DENIALS_PER_SECOND: u32 = 10;
/// The days for which an entry is retained. `weir_delete_old_statistics` has the same number.
pub const DENIALS_DAYS: u16 = 30;
/// The most other rules that an entry names.
pub const ALSO_DENIED_BY_MAX: usize = 8;

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
    /// The facts that explain the denial.
    pub detail: DenialDetail,
}

/// The facts that explain a denied check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DenialDetail {
    /// The request that the denial answered. `None` for a check of a deferred job.
    pub request_id: Option<RequestId>,
    /// The trace of the request, if it was traced.
    pub trace_id: Option<u128>,
    /// The revision of the rule that decided.
    pub rule_revision: Option<u64>,
    /// The override that applied to the subject.
    pub override_id: Option<OverrideId>,
    /// The names of other rules that denied the check, at most [`ALSO_DENIED_BY_MAX`].
    pub also_denied_by: Vec<String>,
    /// The answers of the rule's limits, as JSON.
    pub limits: Value,
}

/// The columns as Postgres returns them. All but the first are `None` in the only row of an empty list.
struct Row {
    as_of: OffsetDateTime,
    id: Option<Uuid>,
    at: Option<OffsetDateTime>,
    namespace: Option<String>,
    rule_id: Option<Uuid>,
    rule: Option<String>,
    shadow: Option<bool>,
    subject: Option<Value>,
    cost: Option<i64>,
    retry_after_ms: Option<i64>,
    degraded: Option<bool>,
    stands_for: Option<i32>,
    request_id: Option<Uuid>,
    trace_id: Option<Uuid>,
    rule_revision: Option<i64>,
    override_id: Option<Uuid>,
    also_denied_by: Option<Value>,
    limits: Option<Value>,
}

/// A statement that returns [`Row`]s, newest first: its name, and what selects the entries.
macro_rules! query_denials {
    ($name:literal, $selection:literal $(, $argument:expr)+ $(,)?) => {
        sqlx::query_as!(
            Row,
            "-- "
                + $name
                + r#"
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
                d.stands_for AS "stands_for?",
                d.request_id,
                d.trace_id,
                d.rule_revision,
                d.override_id,
                d.also_denied_by AS "also_denied_by?",
                d.limits AS "limits?"
            FROM weir_freshness(now(), now()) f
            LEFT JOIN (
                SELECT * FROM denials
                WHERE "#
                + $selection
                + "
            ) d ON true
            ORDER BY d.id DESC",
            $($argument),+
        )
    };
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
    /// Only entries whose subject has this attribute with this value.
    pub attribute: Option<(String, String)>,
}

impl DenialFilter {
    /// All denials of a tenant.
    pub const fn of(tenant_id: TenantId) -> Self {
        Self {
            tenant_id,
            rule_id: None,
            newer_than: None,
            subject_of: None,
            namespaces: None,
            attribute: None,
        }
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
        let detail = |of: fn(&DenialDetail) -> Option<u128>| -> Vec<Option<Uuid>> {
            rows.iter().map(|row| of(&row.detail).map(uuid)).collect()
        };
        let request_ids = detail(|detail| detail.request_id.map(RequestId::to_u128));
        let trace_ids = detail(|detail| detail.trace_id);
        let override_ids = detail(|detail| detail.override_id.map(OverrideId::to_u128));
        let revisions: Vec<Option<i64>> =
            rows.iter().map(|row| row.detail.rule_revision.map(signed)).collect();
        let others: Vec<Value> =
            rows.iter().map(|row| row.detail.also_denied_by.clone().into()).collect();
        let limits: Vec<Value> = rows.iter().map(|row| row.detail.limits.clone()).collect();
        sqlx::query!(
            "-- denials.write
            INSERT INTO denials (
                gate_id, tenant_id, id, at, namespace, rule_id, rule, shadow, subject, cost,
                retry_after_ms, degraded, stands_for, request_id, trace_id, rule_revision,
                override_id, also_denied_by, limits
            )
            SELECT $1, n.*
            FROM unnest(
                $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::uuid[], $7::text[],
                $8::boolean[], $9::jsonb[], $10::bigint[], $11::bigint[], $12::boolean[],
                $13::integer[], $14::uuid[], $15::uuid[], $16::bigint[], $17::uuid[],
                $18::jsonb[], $19::jsonb[]
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
            &request_ids as &[Option<Uuid>],
            &trace_ids as &[Option<Uuid>],
            &revisions as &[Option<i64>],
            &override_ids as &[Option<Uuid>],
            &others,
            &limits,
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
        let rows = query_denials!(
            "denials.list",
            "tenant_id = $1
                    AND ($2::uuid IS NULL OR rule_id = $2)
                    AND ($3::uuid IS NULL OR id < $3)
                    AND ($4::uuid IS NULL OR id > $4)
                    AND ($6::jsonb[] IS NULL OR (subject <> '{}' AND subject <@ ANY($6)))
                    AND ($7::text[] IS NULL OR namespace = ANY($7))
                    AND ($8::text IS NULL OR subject ->> $8 = $9)
                ORDER BY id DESC
                LIMIT $5",
            uuid(filter.tenant_id.to_u128()),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            page.after.map(|id| uuid(id.to_u128())),
            filter.newer_than.map(|id| uuid(id.to_u128())),
            page.fetch(),
            filter.subject_of.as_deref(),
            filter.namespaces.as_deref(),
            filter.attribute.as_ref().map(|(name, _)| name),
            filter.attribute.as_ref().map(|(_, value)| value),
        )
        .fetch_all(self.conn)
        .await?;
        let counted = counted(filter.tenant_id, rows)?;
        Ok(Counted { counts: page.listing(counted.counts), as_of: counted.as_of, dropped: 0 })
    }

    /// Returns the newest `most` entries of a request. A batch can have several.
    pub async fn of_request(
        self,
        tenant_id: TenantId,
        request_id: RequestId,
        namespaces: Option<&[String]>,
        most: u32,
    ) -> Result<Vec<DenialRow>, StoreError> {
        let rows = query_denials!(
            "denials.of_request",
            "tenant_id = $1
                    AND request_id = $2
                    AND ($3::text[] IS NULL OR namespace = ANY($3))
                ORDER BY id DESC
                LIMIT $4",
            uuid(tenant_id.to_u128()),
            uuid(request_id.to_u128()),
            namespaces,
            i64::from(most),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(counted(tenant_id, rows)?.counts)
    }
}

fn counted(tenant_id: TenantId, rows: Vec<Row>) -> Result<Counted<Vec<DenialRow>>, StoreError> {
    let Some(first) = rows.first() else {
        return Err(StoreError::corrupt("a list without freshness"));
    };
    let as_of = timestamp(first.as_of);
    let counts = rows.into_iter().filter_map(|row| denial(tenant_id, row)).collect();
    Ok(Counted { counts, as_of, dropped: 0 })
}

/// The entry of a row; `None` for the row of an empty list.
fn denial(tenant_id: TenantId, row: Row) -> Option<DenialRow> {
    let also = row.also_denied_by.and_then(|names| serde_json::from_value(names).ok());
    let detail = DenialDetail {
        request_id: row.request_id.map(|id| RequestId::from_u128(id.as_u128())),
        trace_id: row.trace_id.map(|id| id.as_u128()),
        rule_revision: row.rule_revision.map(unsigned),
        override_id: row.override_id.map(|id| OverrideId::from_u128(id.as_u128())),
        also_denied_by: also.unwrap_or_default(),
        limits: row.limits.unwrap_or_default(),
    };
    Some(DenialRow {
        id: DenialId::from_u128(row.id?.as_u128()),
        tenant_id,
        at: timestamp(row.at?),
        namespace: row.namespace?,
        rule_id: RuleId::from_u128(row.rule_id?.as_u128()),
        rule: row.rule?,
        shadow: row.shadow?,
        subject: row.subject?,
        cost: unsigned(row.cost?),
        retry_after_ms: row.retry_after_ms.map(unsigned),
        degraded: row.degraded?,
        stands_for: row.stands_for.and_then(|checks| u32::try_from(checks).ok()).unwrap_or(1),
        detail,
    })
}
