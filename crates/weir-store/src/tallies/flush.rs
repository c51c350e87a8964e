//! Counts as a gate writes them: absolute for one run, the greater kept.

use std::time::Duration;

use uuid::Uuid;
use weir_domain::id::{GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use super::{Tallies, TallyCounts, rule};
use crate::convert::{signed, stored, uuid};
use crate::error::StoreError;

/// One gate's counts of one minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyRow {
    /// Whose.
    pub tenant_id: TenantId,
    /// Decisions of this rule; none: whole requests.
    pub rule_id: Option<RuleId>,
    /// Where it begins.
    pub minute: Timestamp,
    /// Where the requests asked.
    pub namespace: String,
    /// Everything counted in that minute by this run.
    pub counts: TallyCounts,
}

/// What could not be recorded in one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropCount {
    /// Where it begins.
    pub minute: Timestamp,
    /// Everything this run could not record in it.
    pub dropped: u64,
}

/// Who reports, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush {
    /// Which gate.
    pub gate_id: GateId,
    /// Which run of it.
    pub boot_id: u128,
    /// The oldest minute in it; without counts the present one.
    pub oldest_minute: Timestamp,
    /// How long ago the counts were gathered.
    pub age: Duration,
}

/// Rows of one statement.
const ROWS_AT_ONCE: usize = 1_000;

impl Tallies<'_> {
    /// Says how far a gate has reported. To be the first write of its flush: a roll-up waits for the
    /// row, and so does not miss what follows.
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

    /// Writes counts; those already there stay where they are greater.
    pub async fn write(self, flush: &Flush, rows: &[TallyRow]) -> Result<(), StoreError> {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let count = |of: fn(&TallyCounts) -> u64| -> Vec<i64> {
                rows.iter().map(|row| signed(of(&row.counts))).collect()
            };
            let tenants: Vec<Uuid> = rows.iter().map(|it| uuid(it.tenant_id.to_u128())).collect();
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
                    refunded
                )
                SELECT $1, $2, n.*
                FROM unnest(
                    $3::uuid[],
                    $4::uuid[],
                    $5::timestamptz[],
                    $6::text[],
                    $7::bigint[],
                    $8::bigint[],
                    $9::bigint[],
                    $10::bigint[],
                    $11::bigint[]
                ) n
                ON CONFLICT ON CONSTRAINT tallies_minutes_tenant_id_pkey
                DO UPDATE SET
                    allowed = GREATEST(kept.allowed, excluded.allowed),
                    denied = GREATEST(kept.denied, excluded.denied),
                    shadow_denied = GREATEST(kept.shadow_denied, excluded.shadow_denied),
                    degraded = GREATEST(kept.degraded, excluded.degraded),
                    refunded = GREATEST(kept.refunded, excluded.refunded)",
                uuid(flush.boot_id),
                uuid(flush.gate_id.to_u128()),
                &tenants,
                &rules,
                &minutes,
                &namespaces,
                &count(|it| it.allowed),
                &count(|it| it.denied),
                &count(|it| it.shadow_denied),
                &count(|it| it.degraded),
                &count(|it| it.refunded),
            )
            .execute(&mut *self.conn)
            .await?;
        }
        Ok(())
    }

    /// Writes how much could not be recorded.
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
