//! Counts of steps of ten seconds, retained for two hours; those of an outage of Redis for three days (`degraded.rs`).

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::latency::Latencies;
use weir_domain::time::Timestamp;

use super::slots::SlotRow;
use super::{Counted, Flush, Tallies, TallyCounts, TallyFilter, rule, slots};
use crate::convert::{signed, stored, uuid};
use crate::error::StoreError;

/// The length of a step in milliseconds.
pub const STEP_MS: i64 = 10_000;
/// The time for which steps are retained, in milliseconds.
pub const STEPS_RETAINED_MS: i64 = 2 * 60 * 60_000;

/// A gate's counts of one step, which has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// The tenant of the decisions.
    pub tenant_id: TenantId,
    /// Only decisions of this rule. `None` counts whole requests.
    pub rule_id: Option<RuleId>,
    /// The start of the step.
    pub at: Timestamp,
    /// The namespace of the requests.
    pub namespace: String,
    /// The counts of this run in that step.
    pub counts: TallyCounts,
    /// The durations of whole requests.
    pub latencies: Option<Latencies>,
}

/// The columns of some rows, except the counts.
struct Columns {
    tenants: Vec<Uuid>,
    rules: Vec<Uuid>,
    starts: Vec<OffsetDateTime>,
    namespaces: Vec<String>,
    /// Postgres has no arrays of arrays of different lengths, so each list of bins is a text.
    latencies: Vec<Option<String>>,
}

/// The most rows of one statement.
const ROWS_AT_ONCE: usize = 1_000;

impl Columns {
    fn of(rows: &[StepRow]) -> Self {
        let latencies = |row: &StepRow| row.latencies.map(|latencies| array(&latencies));
        Self {
            tenants: rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect(),
            rules: rows.iter().map(|row| uuid(rule(row.rule_id))).collect(),
            starts: rows.iter().map(|row| stored(row.at)).collect(),
            namespaces: rows.iter().map(|row| row.namespace.clone()).collect(),
            latencies: rows.iter().map(latencies).collect(),
        }
    }
}

fn counts(rows: &[StepRow], of: fn(&TallyCounts) -> u64) -> Vec<i64> {
    rows.iter().map(|row| signed(of(&row.counts))).collect()
}

impl Tallies<'_> {
    /// Writes steps that have ended. A step that was written before is left unchanged.
    pub async fn write_steps(self, flush: &Flush, rows: &[StepRow]) -> Result<(), StoreError> {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let Columns { tenants, rules, starts, namespaces, latencies } = Columns::of(rows);
            sqlx::query!(
                "-- tallies.write_steps
                INSERT INTO tallies_steps (
                    boot_id,
                    gate_id,
                    tenant_id,
                    rule_id,
                    at,
                    namespace,
                    allowed,
                    denied,
                    shadow_denied,
                    degraded,
                    refunded,
                    recorded,
                    latencies,
                    region
                )
                SELECT
                    $1,
                    $2,
                    n.tenant_id,
                    n.rule_id,
                    n.at,
                    n.namespace,
                    n.allowed,
                    n.denied,
                    n.shadow_denied,
                    n.degraded,
                    n.refunded,
                    n.recorded,
                    n.latencies::integer[],
                    $14
                FROM unnest(
                    $3::uuid[],
                    $4::uuid[],
                    $5::timestamptz[],
                    $6::text[],
                    $7::bigint[],
                    $8::bigint[],
                    $9::bigint[],
                    $10::bigint[],
                    $11::bigint[],
                    $12::bigint[],
                    $13::text[]
                ) AS n (
                    tenant_id, rule_id, at, namespace, allowed, denied, shadow_denied, degraded, refunded, recorded,
                    latencies
                )
                ON CONFLICT ON CONSTRAINT tallies_steps_tenant_id_pkey DO NOTHING",
                uuid(flush.boot_id),
                uuid(flush.gate_id.to_u128()),
                &tenants,
                &rules,
                &starts,
                &namespaces,
                &counts(rows, |counts| counts.allowed),
                &counts(rows, |counts| counts.denied),
                &counts(rows, |counts| counts.shadow_denied),
                &counts(rows, |counts| counts.degraded),
                &counts(rows, |counts| counts.refunded),
                &counts(rows, |counts| counts.recorded),
                &latencies as &[Option<String>],
                flush.region.as_deref().unwrap_or_default(),
            )
            .execute(&mut *self.conn)
            .await?;
        }
        Ok(())
    }

    /// Returns the counts between each two neighbours of `bounds`, which are multiples of [`STEP_MS`].
    pub async fn steps(
        self,
        filter: &TallyFilter,
        bounds: &[Timestamp],
    ) -> Result<Counted<Vec<TallyCounts>>, StoreError> {
        let bounds: Vec<OffsetDateTime> = bounds.iter().map(|&at| stored(at)).collect();
        let (Some(from), Some(to)) = (bounds.first(), bounds.last()) else {
            return Err(StoreError::corrupt("a series without bounds"));
        };
        let rows = sqlx::query_as!(
            SlotRow,
            r#"-- tallies.steps
            SELECT
                f.as_of AS "as_of!",
                f.dropped AS "dropped!",
                s.slot AS "slot?",
                s.allowed AS "allowed?",
                s.denied AS "denied?",
                s.shadow_denied AS "shadow_denied?",
                s.degraded AS "degraded?",
                s.refunded AS "refunded?",
                s.recorded AS "recorded?"
            FROM weir_freshness($3, $4) f
            LEFT JOIN (
                SELECT
                    width_bucket(t.at, $6::timestamptz[]) AS slot,
                    sum(t.allowed)::bigint AS allowed,
                    sum(t.denied)::bigint AS denied,
                    sum(t.shadow_denied)::bigint AS shadow_denied,
                    sum(t.degraded)::bigint AS degraded,
                    sum(t.refunded)::bigint AS refunded,
                    sum(t.recorded)::bigint AS recorded
                FROM tallies_steps t
                WHERE t.tenant_id = $1
                    AND t.rule_id = $2
                    AND t.at >= $3
                    AND t.at < $4
                    AND ($5::text[] IS NULL OR t.namespace = ANY($5))
                    AND ($7::text IS NULL OR t.region = $7)
                GROUP BY 1
            ) s ON true"#,
            uuid(filter.tenant_id.to_u128()),
            uuid(rule(filter.rule_id)),
            *from,
            *to,
            filter.namespaces.as_deref(),
            &bounds,
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let series = slots::series(&rows, bounds.len() - 1)?;
        // A gate writes a step after its end.
        let as_of_ms = series.as_of.as_millis().div_euclid(STEP_MS) * STEP_MS;
        Ok(Counted { as_of: Timestamp::from_millis(as_of_ms), ..series })
    }

    /// Returns the durations between each two neighbours of `bounds`, which are multiples of [`STEP_MS`]. Only whole requests have any.
    pub async fn latencies(
        self,
        filter: &TallyFilter,
        bounds: &[Timestamp],
    ) -> Result<Vec<Latencies>, StoreError> {
        let bounds: Vec<OffsetDateTime> = bounds.iter().map(|&at| stored(at)).collect();
        let (Some(from), Some(to)) = (bounds.first(), bounds.last()) else {
            return Err(StoreError::corrupt("a series without bounds"));
        };
        let rows = sqlx::query!(
            r#"-- tallies.latencies
            SELECT
                width_bucket(t.at, $5::timestamptz[]) AS "slot!",
                b.place AS "place!",
                sum(b.count)::bigint AS "count!"
            FROM tallies_steps t
            CROSS JOIN LATERAL unnest(t.latencies) WITH ORDINALITY AS b (count, place)
            WHERE t.tenant_id = $1
                AND t.rule_id = $6
                AND t.at >= $2
                AND t.at < $3
                AND ($4::text[] IS NULL OR t.namespace = ANY($4))
                AND ($7::text IS NULL OR t.region = $7)
                AND b.count > 0
            GROUP BY 1, 2"#,
            uuid(filter.tenant_id.to_u128()),
            *from,
            *to,
            filter.namespaces.as_deref(),
            &bounds,
            uuid(rule(filter.rule_id)),
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let mut bins: Vec<Vec<u32>> = vec![Vec::new(); bounds.len() - 1];
        for row in rows {
            let slot = usize::try_from(row.slot - 1).ok();
            let place = usize::try_from(row.place - 1).ok();
            let (Some(bins), Some(place)) = (slot.and_then(|slot| bins.get_mut(slot)), place)
            else {
                continue;
            };
            if bins.len() <= place {
                bins.resize(place + 1, 0);
            }
            bins[place] = u32::try_from(row.count).unwrap_or(u32::MAX);
        }
        Ok(bins.into_iter().map(Latencies::from_counts).collect())
    }
}

/// An array of Postgres as a text.
fn array(latencies: &Latencies) -> String {
    let counts: Vec<String> = latencies.counts().iter().map(u32::to_string).collect();
    format!("{{{}}}", counts.join(","))
}
