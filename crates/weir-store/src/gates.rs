//! Heartbeats of gates, with the version of the rulebook that each gate serves.

use std::time::Duration;

use weir_domain::id::GateId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;

mod rollouts;

pub(crate) use rollouts::report_statement;
pub use rollouts::{GateReport, Rollout};

/// A gate's heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateBeat {
    /// The gate's id.
    pub id: GateId,
    /// The id of the gate's process, drawn at its start.
    pub boot_id: u128,
    /// The address that the gate listens on.
    pub address: String,
    /// The version of the rulebook that the gate serves.
    pub rulebook_version: u64,
    /// The time when the gate applied that version.
    pub applied_at: Timestamp,
    /// The time in milliseconds from learning of that version to applying it.
    pub applied_after_ms: u64,
    /// The start of the process.
    pub started_at: Timestamp,
    /// The release of Weir that the gate runs.
    pub weir_version: String,
    /// The region of the gate, if it is in one.
    pub region: Option<String>,
    /// Whether the gate reaches Redis.
    pub redis_up: bool,
    /// The smoothed duration of the gate's calls of Redis in microseconds, with the wait for their turn. `None` before the
    /// first call.
    pub redis_round_trip_us: Option<u64>,
    /// The checks since the heartbeat before, and what the gate holds. `None` until a second has passed.
    pub load: Option<GateLoad>,
}

/// The checks of a gate in an interval, and the units and memory that it holds. It concerns all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateLoad {
    /// The length of the interval in milliseconds.
    pub interval_ms: u64,
    /// The number of checks in the interval.
    pub checks: u64,
    /// The number of those that were denied.
    pub denied: u64,
    /// The number of those that leased units or cached denials decided, without Redis.
    pub from_memory: u64,
    /// The duration in microseconds that half of the checks did not exceed. `None` without checks.
    pub latency_p50_us: Option<u64>,
    /// The duration in microseconds that 99 % of the checks did not exceed. `None` without checks.
    pub latency_p99_us: Option<u64>,
    /// The number of counters of which the gate holds leased units.
    pub leases: u64,
    /// The number of these units.
    pub leased_units: u64,
    /// The resident memory of the gate's process in bytes. `None` where the system does not tell it.
    pub memory_bytes: Option<u64>,
}

/// The last heartbeat of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRow {
    /// The gate's id.
    pub id: GateId,
    /// The id of the gate's process, drawn at its start.
    pub boot_id: u128,
    /// The address that the gate listens on.
    pub address: String,
    /// The version of the rulebook that the gate serves.
    pub rulebook_version: u64,
    /// The time when the gate applied that version.
    pub applied_at: Timestamp,
    /// The time in milliseconds from learning of that version to applying it.
    pub applied_after_ms: u64,
    /// The start of the process.
    pub started_at: Timestamp,
    /// The release of Weir that the gate runs.
    pub weir_version: Option<String>,
    /// The region of the gate, if it is in one.
    pub region: Option<String>,
    /// Whether the gate reaches Redis.
    pub redis_up: Option<bool>,
    /// The time since when the gate has not reached Redis, by Postgres' clock. `None` while it does.
    pub redis_away_since: Option<Timestamp>,
    /// The smoothed duration of the gate's calls of Redis in microseconds, with the wait for their turn. `None` before the
    /// first call.
    pub redis_round_trip_us: Option<u64>,
    /// The gate's last interval. `None` for releases that do not report it.
    pub load: Option<GateLoad>,
    /// The time of the heartbeat by Postgres' clock, which all gates share.
    pub seen_at: Timestamp,
    /// The age of the heartbeat in milliseconds.
    pub age_ms: u64,
}

/// The table of heartbeats.
#[derive(Debug)]
pub struct Gates<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Gates<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Lists the gates with a heartbeat in the last `window`, the longest running first.
    pub async fn list_live(self, window: Duration) -> Result<Vec<GateRow>, StoreError> {
        let rows = sqlx::query!(
            r#"-- gates.list_live
            SELECT
                id,
                boot_id,
                address,
                rulebook_version,
                applied_at,
                applied_after_ms,
                started_at,
                weir_version,
                region,
                redis_up,
                redis_round_trip_us,
                interval_ms,
                checks,
                denied,
                from_memory,
                latency_p50_us,
                latency_p99_us,
                leases,
                leased_units,
                memory_bytes,
                seen_at,
                redis_away_since,
                (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS "age_ms!"
            FROM gates
            WHERE seen_at > clock_timestamp() - make_interval(secs => $1)
            ORDER BY started_at, id"#,
            window.as_secs_f64(),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| GateRow {
            id: GateId::from_u128(row.id.as_u128()),
            boot_id: row.boot_id.as_u128(),
            address: row.address,
            rulebook_version: unsigned(row.rulebook_version),
            applied_at: timestamp(row.applied_at),
            applied_after_ms: unsigned(row.applied_after_ms),
            started_at: timestamp(row.started_at),
            weir_version: row.weir_version,
            region: row.region,
            redis_up: row.redis_up,
            redis_away_since: row.redis_away_since.map(timestamp),
            redis_round_trip_us: row.redis_round_trip_us.map(unsigned),
            load: row.interval_ms.map(|interval_ms| GateLoad {
                interval_ms: unsigned(interval_ms),
                checks: row.checks.map_or(0, unsigned),
                denied: row.denied.map_or(0, unsigned),
                from_memory: row.from_memory.map_or(0, unsigned),
                latency_p50_us: row.latency_p50_us.map(unsigned),
                latency_p99_us: row.latency_p99_us.map(unsigned),
                leases: row.leases.map_or(0, unsigned),
                leased_units: row.leased_units.map_or(0, unsigned),
                memory_bytes: row.memory_bytes.map(unsigned),
            }),
            seen_at: timestamp(row.seen_at),
            age_ms: unsigned(row.age_ms),
        });
        Ok(rows.collect())
    }

    /// Deletes gates without a heartbeat for `older_than`. Returns the number of deleted rows.
    pub async fn forget(self, older_than: Duration) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "-- gates.forget
            DELETE FROM gates WHERE seen_at < clock_timestamp() - make_interval(secs => $1)",
            older_than.as_secs_f64(),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }
}

/// The statement that writes a gate's heartbeat, in the gate's own scope.
pub(crate) fn beat_statement(beat: &GateBeat) -> String {
    let load = |of: fn(GateLoad) -> u64| beat.load.map(of).map(signed);
    let known = |of: fn(GateLoad) -> Option<u64>| beat.load.and_then(of).map(signed);
    statement!(
        "-- gates.beat
        INSERT INTO gates (
            id,
            boot_id,
            address,
            rulebook_version,
            applied_at,
            applied_after_ms,
            started_at,
            weir_version,
            redis_up,
            redis_round_trip_us,
            interval_ms,
            checks,
            denied,
            from_memory,
            latency_p50_us,
            latency_p99_us,
            leases,
            leased_units,
            memory_bytes,
            region,
            seen_at,
            redis_away_since
        )
        VALUES (
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
            clock_timestamp(),
            CASE WHEN NOT $9 THEN clock_timestamp() END
        )
        ON CONFLICT ON CONSTRAINT gates_id_pkey
        DO UPDATE SET
            boot_id = excluded.boot_id,
            address = excluded.address,
            rulebook_version = excluded.rulebook_version,
            applied_at = excluded.applied_at,
            applied_after_ms = excluded.applied_after_ms,
            started_at = excluded.started_at,
            weir_version = excluded.weir_version,
            redis_up = excluded.redis_up,
            redis_round_trip_us = excluded.redis_round_trip_us,
            interval_ms = excluded.interval_ms,
            checks = excluded.checks,
            denied = excluded.denied,
            from_memory = excluded.from_memory,
            latency_p50_us = excluded.latency_p50_us,
            latency_p99_us = excluded.latency_p99_us,
            leases = excluded.leases,
            leased_units = excluded.leased_units,
            memory_bytes = excluded.memory_bytes,
            region = excluded.region,
            seen_at = excluded.seen_at,
            redis_away_since = CASE
                WHEN gates.boot_id = excluded.boot_id AND NOT excluded.redis_up
                    THEN coalesce(gates.redis_away_since, excluded.redis_away_since)
                ELSE excluded.redis_away_since
            END",
        uuid(beat.id.to_u128()),
        uuid(beat.boot_id),
        beat.address,
        signed(beat.rulebook_version),
        stored(beat.applied_at),
        signed(beat.applied_after_ms),
        stored(beat.started_at),
        beat.weir_version,
        beat.redis_up,
        beat.redis_round_trip_us.map(signed),
        load(|load| load.interval_ms),
        load(|load| load.checks),
        load(|load| load.denied),
        load(|load| load.from_memory),
        known(|load| load.latency_p50_us),
        known(|load| load.latency_p99_us),
        load(|load| load.leases),
        load(|load| load.leased_units),
        known(|load| load.memory_bytes),
        beat.region,
    )
}

/// The numbers of live gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveGates {
    /// All gates.
    pub all: u64,
    /// Those of one region; all gates in an installation without regions.
    pub of_region: u64,
}

/// The statement that counts the gates with a heartbeat in the last `window`, and those of a region among them.
pub(crate) fn count_statement(window: Duration, region: Option<&str>) -> String {
    statement!(
        r#"-- gates.count_live
        SELECT
            count(*) AS "count!",
            count(*) FILTER (WHERE region IS NOT DISTINCT FROM $2) AS "of_region!"
        FROM gates
        WHERE seen_at > clock_timestamp() - make_interval(secs => $1)"#,
        window.as_secs_f64(),
        region,
    )
}
