//! Writes the counts of gates. Counts are totals of one process run, so the greater of two values is correct.

use std::time::Duration;

use uuid::Uuid;
use weir_domain::id::{GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use super::{Tallies, TallyCounts, rule};
use crate::convert::{signed, stored, uuid};
use crate::error::StoreError;

/// A gate's counts of one minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyRow {
    /// The tenant of the decisions.
    pub tenant_id: TenantId,
    /// Decisions of this rule. `None` counts whole requests.
    pub rule_id: Option<RuleId>,
    /// The start of the minute.
    pub minute: Timestamp,
    /// The namespace of the requests.
    pub namespace: String,
    /// The totals of this run in that minute.
    pub counts: TallyCounts,
}

/// The number of decisions of one minute that could not be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropCount {
    /// The start of the minute.
    pub minute: Timestamp,
    /// The total of this run in that minute.
    pub dropped: u64,
}

/// The source and the age of reported counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flush {
    /// The gate.
    pub gate_id: GateId,
    /// The id of the gate's process, drawn at its start.
    pub boot_id: u128,
    /// The region of the gate, if it is in one.
    pub region: Option<String>,
    /// The oldest minute with counts, or the current minute without any.
    pub oldest_minute: Timestamp,
    /// The time since the counts were collected.
    pub age: Duration,
}

/// The most rows of one statement.
const ROWS_AT_ONCE: usize = 1_000;

impl Tallies<'_> {
    /// Records how far a gate has reported. Must be the first write of its flush: a roll-up waits for the row, and
    /// therefore includes all later writes of the flush.
    pub async fn report(self, flush: &Flush) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tallies.report
            INSERT INTO gate_flushes AS kept (boot_id, gate_id, flushed_at, oldest_minute)
            VALUES ($1, $2, clock_timestamp() - make_interval(secs => $4), $3)
            ON CONFLICT ON CONSTRAINT gate_flushes_boot_id_pkey
            DO UPDATE SET
                flushed_at = excluded.flushed_at,
                oldest_minute = LEAST(kept.oldest_minute, excluded.oldest_minute)",
            uuid(flush.boot_id),
            uuid(flush.gate_id.to_u128()),
            stored(flush.oldest_minute),
            flush.age.as_secs_f64(),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Writes counts. Existing counts are replaced only by greater ones.
    pub async fn write(self, flush: &Flush, rows: &[TallyRow]) -> Result<(), StoreError> {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let count = |of: fn(&TallyCounts) -> u64| -> Vec<i64> {
                rows.iter().map(|row| signed(of(&row.counts))).collect()
            };
            let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
            let rules: Vec<Uuid> = rows.iter().map(|row| uuid(rule(row.rule_id))).collect();
            let minutes: Vec<_> = rows.iter().map(|row| stored(row.minute)).collect();
            let namespaces: Vec<String> = rows.iter().map(|row| row.namespace.clone()).collect();
            sqlx::query!(
                "-- tallies.write
                INSERT INTO tallies_minutes AS kept (
                    boot_id,
                    gate_id,
                    tenant_id,
                    rule_id,
                    minute,
                    namespace,
                    allowed,
                    denied,
                    shadow_denied,
                    degraded,
                    refunded,
                    recorded,
                    region
                )
                SELECT $1, $2, n.*, $13
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
                    $12::bigint[]
                ) n
                ON CONFLICT ON CONSTRAINT tallies_minutes_tenant_id_pkey
                DO UPDATE SET
                    allowed = GREATEST(kept.allowed, excluded.allowed),
                    denied = GREATEST(kept.denied, excluded.denied),
                    shadow_denied = GREATEST(kept.shadow_denied, excluded.shadow_denied),
                    degraded = GREATEST(kept.degraded, excluded.degraded),
                    refunded = GREATEST(kept.refunded, excluded.refunded),
                    recorded = GREATEST(kept.recorded, excluded.recorded)",
                uuid(flush.boot_id),
                uuid(flush.gate_id.to_u128()),
                &tenants,
                &rules,
                &minutes,
                &namespaces,
                &count(|counts| counts.allowed),
                &count(|counts| counts.denied),
                &count(|counts| counts.shadow_denied),
                &count(|counts| counts.degraded),
                &count(|counts| counts.refunded),
                &count(|counts| counts.recorded),
                flush.region.as_deref().unwrap_or_default(),
            )
            .execute(&mut *self.conn)
            .await?;
        }
        Ok(())
    }

    /// Writes the numbers of decisions that could not be recorded.
    pub async fn write_dropped(self, flush: &Flush, rows: &[DropCount]) -> Result<(), StoreError> {
        let minutes: Vec<_> = rows.iter().map(|row| stored(row.minute)).collect();
        let dropped: Vec<i64> = rows.iter().map(|row| signed(row.dropped)).collect();
        sqlx::query!(
            "-- tallies.write_dropped
            INSERT INTO tallies_dropped AS kept (boot_id, gate_id, minute, dropped)
            SELECT $1, $2, n.* FROM unnest($3::timestamptz[], $4::bigint[]) n
            ON CONFLICT ON CONSTRAINT tallies_dropped_boot_id_minute_pkey
            DO UPDATE SET dropped = GREATEST(kept.dropped, excluded.dropped)",
            uuid(flush.boot_id),
            uuid(flush.gate_id.to_u128()),
            &minutes,
            &dropped,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }
}
