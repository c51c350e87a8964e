//! The busiest subjects: one sketch of each gate for each ten minutes, merged when they are read.

use serde_json::Value;
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::tallies::{Counted, Flush};

/// How long one sketch counts.
pub const SKETCH_MS: i64 = 10 * 60 * 1000;

/// One gate's busiest subjects of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct SketchRow {
    /// Whose.
    pub tenant_id: TenantId,
    /// Where its time begins.
    pub at: Timestamp,
    /// How many checks went into it.
    pub checks: u64,
    /// How often a subject that is not in it may have asked.
    pub floor: u64,
    /// What is in it.
    pub entries: Vec<SketchEntry>,
}

/// A subject of a rule in a sketch.
#[derive(Debug, Clone, PartialEq)]
pub struct SketchEntry {
    /// The rule that counts it.
    pub rule_id: RuleId,
    /// The attributes counted by.
    pub subject: Value,
    /// How often it asked; too high by the floor at most.
    pub checks: u64,
    /// How often it was refused.
    pub denied: u64,
}

/// A subject with what is known of its rule.
#[derive(Debug, Clone, PartialEq)]
pub struct TopSubject {
    /// The subject and its counts.
    pub entry: SketchEntry,
    /// Namespace and name of the rule, while it exists.
    pub name: Option<(String, String)>,
}

/// Which subjects to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopFilter {
    /// Whose.
    pub tenant_id: TenantId,
    /// Only those of this rule.
    pub rule_id: Option<RuleId>,
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
    /// By how often they asked, not by how often they were refused.
    pub most_asked_first: bool,
    /// At most so many.
    pub limit: u32,
}

/// The table of sketches.
#[derive(Debug)]
pub struct TopSubjects<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> TopSubjects<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Writes sketches of one run over what it wrote before.
    pub async fn write(self, flush: &Flush, rows: &[SketchRow]) -> Result<(), StoreError> {
        let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
        let at: Vec<_> = rows.iter().map(|row| stored(row.at)).collect();
        let checks: Vec<i64> = rows.iter().map(|row| signed(row.checks)).collect();
        let floors: Vec<i64> = rows.iter().map(|row| signed(row.floor)).collect();
        let entries: Vec<Value> = rows.iter().map(|row| to_json(&row.entries)).collect();
        sqlx::query!(
            "-- top_subjects.write
            INSERT INTO top_subjects AS kept (
                boot_id, gate_id, tenant_id, at, checks, floor, entries
            )
            SELECT $1, $2, n.*
            FROM unnest(
                $3::uuid[], $4::timestamptz[], $5::bigint[], $6::bigint[], $7::jsonb[]
            ) n
            ON CONFLICT ON CONSTRAINT top_subjects_tenant_id_at_boot_id_pkey
            DO UPDATE SET
                checks = excluded.checks,
                floor = excluded.floor,
                entries = excluded.entries
            WHERE excluded.checks >= kept.checks",
            uuid(flush.boot_id),
            uuid(flush.gate_id.to_u128()),
            &tenants,
            &at,
            &checks,
            &floors,
            &entries,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// The busiest subjects of a tenant, and by how much their counts may be wrong at most. Without
    /// those that may have come in by chance: were all equally busy, nobody would stand out.
    pub async fn list(
        self,
        filter: &TopFilter,
    ) -> Result<(Counted<Vec<TopSubject>>, u64), StoreError> {
        let rows = sqlx::query!(
            r#"-- top_subjects.list
            WITH sketches AS (
                SELECT floor, entries FROM top_subjects
                WHERE tenant_id = $1 AND at >= $2 AND at < $3
            ),
            top AS (
                SELECT
                    e.rule,
                    e.subject,
                    sum(e.checks)::bigint AS checks,
                    sum(e.denied)::bigint AS denied
                FROM sketches s CROSS JOIN LATERAL jsonb_to_recordset(s.entries)
                    AS e (rule uuid, subject jsonb, checks bigint, denied bigint)
                WHERE $4::uuid IS NULL OR e.rule = $4
                GROUP BY e.rule, e.subject
                HAVING sum(GREATEST(e.checks - s.floor, 0)) > 0 OR sum(e.denied) > 0
                ORDER BY CASE WHEN $5 THEN sum(e.checks) ELSE sum(e.denied) END DESC,
                    sum(e.checks) DESC, e.rule, e.subject
                LIMIT $6
            )
            SELECT
                f.as_of AS "as_of!",
                f.dropped AS "dropped!",
                (SELECT coalesce(sum(s.floor), 0)::bigint FROM sketches s) AS "floor!",
                t.rule AS "rule_id?",
                t.subject AS "subject?",
                t.checks AS "checks?",
                t.denied AS "denied?",
                r.namespace AS "namespace?",
                r.name AS "name?"
            FROM weir_freshness($2, $3) f
            LEFT JOIN top t ON true
            LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = t.rule"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            filter.most_asked_first,
            i64::from(filter.limit),
        )
        .fetch_all(self.conn)
        .await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::corrupt("a list without freshness"));
        };
        let (as_of, dropped) = (timestamp(first.as_of), unsigned(first.dropped));
        let floor = unsigned(first.floor);
        let counts = rows.into_iter().filter_map(|row| {
            Some(TopSubject {
                entry: SketchEntry {
                    rule_id: RuleId::from_u128(row.rule_id?.as_u128()),
                    subject: row.subject?,
                    checks: unsigned(row.checks?),
                    denied: unsigned(row.denied?),
                },
                name: row.namespace.zip(row.name),
            })
        });
        Ok((Counted { counts: counts.collect(), as_of, dropped }, floor))
    }
}

fn to_json(entries: &[SketchEntry]) -> Value {
    let entry = |it: &SketchEntry| {
        serde_json::json!({
            "rule": uuid(it.rule_id.to_u128()).to_string(),
            "subject": it.subject,
            "checks": it.checks,
            "denied": it.denied,
        })
    };
    entries.iter().map(entry).collect()
}
