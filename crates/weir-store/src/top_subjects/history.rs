//! The denials of one subject over time, as far as the sketches know them.

use serde_json::Value;
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;

use super::TopSubjects;
use crate::convert::{stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::tallies::Counted;

/// The denials to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryFilter {
    /// The tenant that owns the rules.
    pub tenant_id: TenantId,
    /// The rules that count the subject.
    pub rule_ids: Vec<RuleId>,
    /// The attributes of the subject, as JSON objects: one for each spelling. Each rule counts by some of them.
    pub subjects: Vec<Value>,
    /// The start of the range.
    pub from: Timestamp,
    /// The end of the range.
    pub to: Timestamp,
}

/// The denials of a subject in one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectSpan {
    /// The start of the span, whose length is [`SKETCH_MS`](super::SKETCH_MS).
    pub at: Timestamp,
    /// The number of denied checks, at least.
    pub denied: u64,
    /// The number of checks that were denied in shadow mode, at least.
    pub shadow_denied: u64,
    /// The most denials of both kinds that can be missing; 0 if the numbers are exact.
    pub unknown: u64,
}

impl TopSubjects<'_> {
    /// Returns the spans with denials of a subject, and those in which denials of it can be missing. The counts of whole rules are
    /// exact, so what they have more than all subjects of the sketches together is the most that can be missing. If the sketch
    /// of a process run is complete, at most its floor is missing for each rule.
    pub async fn history(
        self,
        filter: &HistoryFilter,
    ) -> Result<Counted<Vec<SubjectSpan>>, StoreError> {
        let rule_ids: Vec<Uuid> = filter.rule_ids.iter().map(|id| uuid(id.to_u128())).collect();
        let rows = sqlx::query!(
            r#"-- top_subjects.history
            WITH sketches AS (
                SELECT
                    s.at,
                    s.boot_id,
                    s.entries,
                    CASE
                        WHEN f.subjects_at >= s.at + interval '10 minutes'
                            THEN s.floor * cardinality($4::uuid[])
                    END AS missing
                FROM top_subjects s LEFT JOIN gate_flushes f ON f.boot_id = s.boot_id
                WHERE s.tenant_id = $1 AND s.at >= $2 AND s.at < $3
            ),
            named AS (
                SELECT
                    s.at,
                    s.boot_id,
                    min(s.missing) AS missing,
                    sum(e.denied) AS denied,
                    sum(e.denied) FILTER (WHERE e.subject <@ ANY($5)) AS own,
                    sum(
                        CASE
                            WHEN e.shadow IS NOT NULL THEN e.shadow
                            WHEN r.spec ->> 'mode' = 'shadow' THEN e.denied
                            ELSE 0
                        END
                    ) FILTER (WHERE e.subject <@ ANY($5)) AS shadow
                FROM sketches s
                LEFT JOIN LATERAL jsonb_to_recordset(s.entries)
                    AS e (rule uuid, subject jsonb, denied bigint, shadow bigint)
                    ON e.rule = ANY($4)
                LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = e.rule
                GROUP BY s.at, s.boot_id
            ),
            counted AS (
                SELECT
                    date_bin('10 minutes', t.minute, 'epoch') AS at,
                    t.boot_id,
                    sum(t.denied + t.shadow_denied) AS denied
                FROM tallies_minutes t
                WHERE t.tenant_id = $1 AND t.rule_id = ANY($4)
                    AND t.minute >= $2 AND t.minute < $3
                GROUP BY 1, 2
            ),
            spans AS (
                SELECT
                    at,
                    coalesce(n.own, 0) - coalesce(n.shadow, 0) AS denied,
                    coalesce(n.shadow, 0) AS shadow,
                    LEAST(
                        GREATEST(coalesce(c.denied, 0) - coalesce(n.denied, 0), 0), n.missing
                    ) AS unknown
                FROM named n FULL JOIN counted c USING (at, boot_id)
                UNION ALL
                SELECT date_bin('10 minutes', d.minute, 'epoch'), 0, 0, d.dropped
                FROM tallies_dropped d
                WHERE d.minute >= $2 AND d.minute < $3
            )
            SELECT
                weir_subjects_freshness() AS "as_of!",
                s.at AS "at?",
                s.denied AS "denied?",
                s.shadow AS "shadow?",
                s.unknown AS "unknown?"
            FROM (SELECT) f LEFT JOIN (
                SELECT
                    at,
                    sum(denied)::bigint AS denied,
                    sum(shadow)::bigint AS shadow,
                    sum(unknown)::bigint AS unknown
                FROM spans GROUP BY at
                HAVING sum(denied + shadow + unknown) > 0
            ) s ON true
            ORDER BY s.at"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            &rule_ids,
            &filter.subjects,
        )
        .fetch_all(self.conn)
        .await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::corrupt("a history without freshness"));
        };
        let as_of = timestamp(first.as_of);
        let spans = rows.into_iter().filter_map(|row| {
            Some(SubjectSpan {
                at: timestamp(row.at?),
                denied: unsigned(row.denied?),
                shadow_denied: unsigned(row.shadow?),
                unknown: unsigned(row.unknown?),
            })
        });
        Ok(Counted { counts: spans.collect(), as_of, dropped: 0 })
    }

    /// Returns the rules that denied a subject, with the denied checks and those of shadow mode, the most denials first.
    pub async fn denied_by(
        self,
        filter: &HistoryFilter,
    ) -> Result<Vec<(RuleId, u64, u64)>, StoreError> {
        let rule_ids: Vec<Uuid> = filter.rule_ids.iter().map(|id| uuid(id.to_u128())).collect();
        let rows = sqlx::query!(
            r#"-- top_subjects.denied_by
            SELECT
                n.rule AS "rule_id!",
                (n.denied - n.shadow)::bigint AS "denied!",
                n.shadow::bigint AS "shadow!"
            FROM (
                SELECT
                    e.rule,
                    sum(e.denied) AS denied,
                    sum(
                        CASE
                            WHEN e.shadow IS NOT NULL THEN e.shadow
                            WHEN r.spec ->> 'mode' = 'shadow' THEN e.denied
                            ELSE 0
                        END
                    ) AS shadow
                FROM top_subjects s
                CROSS JOIN LATERAL jsonb_to_recordset(s.entries)
                    AS e (rule uuid, subject jsonb, denied bigint, shadow bigint)
                LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = e.rule
                WHERE s.tenant_id = $1 AND s.at >= $2 AND s.at < $3
                    AND e.rule = ANY($4) AND e.subject <@ ANY($5)
                GROUP BY e.rule
                HAVING sum(e.denied) > 0
            ) n
            ORDER BY n.denied - n.shadow DESC, n.shadow DESC, n.rule"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            &rule_ids,
            &filter.subjects,
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| {
            let rule_id = RuleId::from_u128(row.rule_id.as_u128());
            (rule_id, unsigned(row.denied), unsigned(row.shadow))
        });
        Ok(rows.collect())
    }
}
