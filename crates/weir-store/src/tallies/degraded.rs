//! The times in which gates answered checks without Redis: steps of ten seconds, and minutes of which no steps are retained.

use weir_domain::time::Timestamp;

use super::{STEP_MS, STEPS_RETAINED_MS, Tallies, TallyFilter, rule};
use crate::convert::{stored, timestamp, unsigned, uuid};
use crate::error::StoreError;

/// The length of a minute in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// A step or a minute with checks that were answered without Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegradedStep {
    /// The start.
    pub at: Timestamp,
    /// The length: ten seconds, or a minute where no steps are retained.
    pub length_ms: i64,
    /// The checks that were answered without Redis.
    pub degraded: u64,
    /// All checks of the gates and namespaces that answered some of them without Redis.
    pub checks: u64,
    /// The share of `degraded` in the checks of the gate at which it was greatest, in percent.
    pub most_percent: u64,
}

impl Tallies<'_> {
    /// Lists the steps, and minutes of more than two hours before `now`, in which checks were answered without Redis; ascending.
    pub async fn degraded(
        self,
        filter: &TallyFilter,
        (from, to): (Timestamp, Timestamp),
        now: Timestamp,
    ) -> Result<Vec<DegradedStep>, StoreError> {
        let rows = sqlx::query!(
            r#"-- tallies.degraded
            SELECT
                g.at AS "at!",
                g.is_step AS "is_step!",
                sum(g.degraded)::bigint AS "degraded!",
                sum(g.checks)::bigint AS "checks!",
                max(g.degraded * 100 / GREATEST(g.checks, 1))::bigint AS "most_percent!"
            FROM (
                SELECT
                    t.at,
                    t.is_step,
                    t.boot_id,
                    sum(t.degraded) AS degraded,
                    sum(t.allowed + t.denied) AS checks
                FROM (
                    SELECT s.at, true AS is_step, s.boot_id, s.namespace, s.region, s.degraded, s.allowed, s.denied
                    FROM tallies_steps s
                    WHERE s.tenant_id = $1 AND s.rule_id = $2 AND s.at >= $3 AND s.at < $4
                    UNION ALL
                    SELECT m.minute, false, m.boot_id, m.namespace, m.region, m.degraded, m.allowed, m.denied
                    FROM tallies_minutes m
                    WHERE m.tenant_id = $1
                        AND m.rule_id = $2
                        AND m.minute >= $3
                        AND m.minute < LEAST($4, $5)
                        AND NOT EXISTS (
                            SELECT FROM tallies_steps s
                            WHERE s.tenant_id = m.tenant_id
                                AND s.rule_id = m.rule_id
                                AND s.at >= m.minute
                                AND s.at < m.minute + interval '1 minute'
                        )
                ) t
                WHERE t.degraded > 0
                    AND ($6::text[] IS NULL OR t.namespace = ANY($6))
                    AND ($7::text IS NULL OR t.region = $7)
                GROUP BY t.at, t.is_step, t.boot_id
            ) g
            GROUP BY g.at, g.is_step
            ORDER BY g.at"#,
            uuid(filter.tenant_id.to_u128()),
            uuid(rule(filter.rule_id)),
            stored(from),
            stored(to),
            stored(now.plus_ms(-STEPS_RETAINED_MS)),
            filter.namespaces.as_deref(),
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| DegradedStep {
            at: timestamp(row.at),
            length_ms: if row.is_step { STEP_MS } else { MINUTE_MS },
            degraded: unsigned(row.degraded),
            checks: unsigned(row.checks),
            most_percent: unsigned(row.most_percent),
        });
        Ok(rows.collect())
    }
}
