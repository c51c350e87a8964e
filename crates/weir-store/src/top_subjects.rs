//! The busiest subjects. Each gate writes one sketch for every ten minutes; readers merge them.

use serde_json::Value;
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::tallies::{Counted, Flush};

mod history;
mod search;

pub use history::{HistoryFilter, SubjectSpan};
pub use search::{FoundSubject, SubjectSearch};

/// The span of one sketch in milliseconds.
pub const SKETCH_MS: i64 = 10 * 60 * 1000;

/// The start of the span that contains this time.
pub fn sketch_start(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(SKETCH_MS) * SKETCH_MS)
}

/// The busiest subjects of a tenant at one gate.
#[derive(Debug, Clone, PartialEq)]
pub struct SketchRow {
    /// The tenant that owns the rules.
    pub tenant_id: TenantId,
    /// The start of the sketch's span.
    pub at: Timestamp,
    /// The number of checks that the sketch summarises.
    pub checks: u64,
    /// The most checks that a subject outside of the sketch can have had.
    pub floor: u64,
    /// The entries of the sketch.
    pub entries: Vec<SketchEntry>,
}

/// A subject of a rule in a sketch.
#[derive(Debug, Clone, PartialEq)]
pub struct SketchEntry {
    /// The rule that counts the subject.
    pub rule_id: RuleId,
    /// The attributes that the rule counts by.
    pub subject: Value,
    /// The number of checks, too high by at most the sketch's floor.
    pub checks: u64,
    /// The number of denied checks, those of shadow mode included.
    pub denied: u64,
    /// Of `denied`, the number of those of shadow mode.
    pub shadow_denied: u64,
}

/// A subject with the name of its rule.
#[derive(Debug, Clone, PartialEq)]
pub struct TopSubject {
    /// The subject and its counts.
    pub entry: SketchEntry,
    /// The namespace and the name of the rule. `None` if the rule was deleted.
    pub name: Option<(String, String)>,
}

/// Restricts a list of subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopFilter {
    /// The tenant that owns the rules.
    pub tenant_id: TenantId,
    /// Only subjects of this rule.
    pub rule_id: Option<RuleId>,
    /// Only subjects of the rules that are in these namespaces now.
    pub namespaces: Option<Vec<String>>,
    /// Only subjects that have this attribute with this value.
    pub attribute: Option<(String, String)>,
    /// The start of the range.
    pub from: Timestamp,
    /// The end of the range.
    pub to: Timestamp,
    /// Whether to sort by the number of checks rather than by the number of denied checks.
    pub most_asked_first: bool,
    /// The most subjects to return.
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

    /// Writes sketches, and until when the sketches of the process run are complete. A sketch replaces an earlier one of the
    /// same run.
    pub async fn write(self, flush: &Flush, rows: &[SketchRow]) -> Result<(), StoreError> {
        let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
        let at: Vec<_> = rows.iter().map(|row| stored(row.at)).collect();
        let checks: Vec<i64> = rows.iter().map(|row| signed(row.checks)).collect();
        let floors: Vec<i64> = rows.iter().map(|row| signed(row.floor)).collect();
        let entries: Vec<Value> = rows.iter().map(|row| to_json(&row.entries)).collect();
        sqlx::query!(
            "-- top_subjects.write
            WITH noted AS (
                UPDATE gate_flushes
                SET subjects_at = clock_timestamp() - make_interval(secs => $8)
                WHERE boot_id = $1
            )
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
            flush.age.as_secs_f64(),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Lists the busiest subjects of a tenant, with the greatest possible error of their counts. Omits subjects that
    /// can be in a sketch by chance, as all of them are if all are equally busy. Checks that were denied in shadow mode count only
    /// among subjects without others. Earlier releases did not tell them apart; the present mode of the rule decides about theirs.
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
            subjects AS (
                SELECT
                    e.rule,
                    e.subject,
                    sum(e.checks)::bigint AS checks,
                    sum(e.denied)::bigint AS denied,
                    sum(
                        CASE
                            WHEN e.shadow IS NOT NULL THEN e.shadow
                            WHEN r.spec ->> 'mode' = 'shadow' THEN e.denied
                            ELSE 0
                        END
                    )::bigint AS shadow
                FROM sketches s CROSS JOIN LATERAL jsonb_to_recordset(s.entries)
                    AS e (rule uuid, subject jsonb, checks bigint, denied bigint, shadow bigint)
                LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = e.rule
                WHERE ($4::uuid IS NULL OR e.rule = $4)
                    AND ($7::text[] IS NULL OR r.namespace = ANY($7))
                    AND ($8::text IS NULL OR e.subject ->> $8 = $9)
                GROUP BY e.rule, e.subject
                HAVING sum(GREATEST(e.checks - s.floor, 0)) > 0 OR sum(e.denied) > 0
            ),
            top AS (
                SELECT * FROM subjects
                ORDER BY CASE WHEN NOT $5 THEN denied - shadow END DESC,
                    CASE WHEN NOT $5 THEN denied END DESC, checks DESC, rule, subject
                LIMIT $6
            )
            SELECT
                weir_subjects_freshness() AS "as_of!",
                f.dropped AS "dropped!",
                (SELECT coalesce(sum(s.floor), 0)::bigint FROM sketches s) AS "floor!",
                t.rule AS "rule_id?",
                t.subject AS "subject?",
                t.checks AS "checks?",
                t.denied AS "denied?",
                r.namespace AS "namespace?",
                r.name AS "name?",
                t.shadow AS "shadow?"
            FROM weir_freshness($2, $3) f
            LEFT JOIN top t ON true
            LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = t.rule
            ORDER BY CASE WHEN NOT $5 THEN t.denied - t.shadow END DESC,
                CASE WHEN NOT $5 THEN t.denied END DESC, t.checks DESC, t.rule, t.subject"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            filter.most_asked_first,
            i64::from(filter.limit),
            filter.namespaces.as_deref(),
            filter.attribute.as_ref().map(|(name, _)| name),
            filter.attribute.as_ref().map(|(_, value)| value),
        )
        .fetch_all(self.conn)
        .await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::corrupt("a list without freshness"));
        };
        let as_of = timestamp(first.as_of);
        let dropped = unsigned(first.dropped);
        let floor = unsigned(first.floor);
        let counts = rows.into_iter().filter_map(|row| {
            Some(TopSubject {
                entry: SketchEntry {
                    rule_id: RuleId::from_u128(row.rule_id?.as_u128()),
                    subject: row.subject?,
                    checks: unsigned(row.checks?),
                    denied: unsigned(row.denied?),
                    shadow_denied: unsigned(row.shadow?),
                },
                name: row.namespace.zip(row.name),
            })
        });
        Ok((Counted { counts: counts.collect(), as_of, dropped }, floor))
    }
}

fn to_json(entries: &[SketchEntry]) -> Value {
    let to_object = |entry: &SketchEntry| {
        serde_json::json!({
            "rule": uuid(entry.rule_id.to_u128()).to_string(),
            "subject": entry.subject,
            "checks": entry.checks,
            "denied": entry.denied,
            "shadow": entry.shadow_denied,
        })
    };
    entries.iter().map(to_object).collect()
}
