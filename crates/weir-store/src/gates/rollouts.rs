//! The times at which gates reported the versions of the rulebook, by Postgres' clock.

use std::time::Duration;

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{GateId, TenantId};
use weir_domain::time::Timestamp;

use super::{GateBeat, Gates};
use crate::convert::{signed, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;

/// A version in which a tenant changed, and the gates that serve it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// The version of the rulebook.
    pub rulebook_version: u64,
    /// The time of the change. `None` for changes of old releases.
    pub published_at: Option<Timestamp>,
    /// The live gates that had started before the change, in the order of their starts.
    pub gates: Vec<GateReport>,
}

/// The first report of a version, or of a later one, by a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateReport {
    /// The gate.
    pub gate_id: GateId,
    /// The time of the report. `None` if the gate has not reported the version yet.
    pub reported_at: Option<Timestamp>,
}

/// The number of versions that are retained of each gate.
const VERSIONS_RETAINED: i64 = 1_000;

/// The statement that records the version of a heartbeat when it is new. The heartbeat must be written before.
pub(crate) fn report_statement(beat: &GateBeat) -> String {
    // Greater versions belong to a history that was abandoned. The new version is not among those that are deleted.
    statement!(
        "-- gates.report_version
        WITH reported AS (
            INSERT INTO gate_rollouts (gate_id, rulebook_version)
            SELECT $1, $2
            WHERE NOT EXISTS (
                SELECT FROM gate_rollouts r WHERE r.gate_id = $1 AND r.rulebook_version = $2
            )
            RETURNING gate_id
        )
        DELETE FROM gate_rollouts
        WHERE gate_id = (SELECT r.gate_id FROM reported r)
            AND (
                rulebook_version > $2
                OR rulebook_version <= (
                    SELECT r.rulebook_version FROM gate_rollouts r
                    WHERE r.gate_id = $1
                    ORDER BY r.rulebook_version DESC
                    OFFSET $3
                    LIMIT 1
                )
            )",
        uuid(beat.id.to_u128()),
        signed(beat.rulebook_version),
        VERSIONS_RETAINED - 1,
    )
}

impl Gates<'_> {
    /// Lists the newest changes of a tenant with the reports of the gates that are live, the newest change first.
    pub async fn rollouts(
        self,
        tenant_id: TenantId,
        live_within: Duration,
        most: u32,
    ) -> Result<Vec<Rollout>, StoreError> {
        // A gate without an earlier report has possibly lost the first report of the version.
        let rows = sqlx::query_as!(
            Row,
            r#"-- gates.rollouts
            SELECT
                c.rulebook_version,
                c.published_at,
                g.id AS "gate_id?",
                r.reported_at AS "reported_at?"
            FROM (
                SELECT * FROM tenant_changes
                WHERE tenant_id = $1
                ORDER BY sequence DESC
                LIMIT $3
            ) c
            LEFT JOIN gates g
                ON g.seen_at > clock_timestamp() - make_interval(secs => $2)
                AND g.started_at <= c.published_at
                AND EXISTS (
                    SELECT FROM gate_rollouts o
                    WHERE o.gate_id = g.id AND o.rulebook_version < c.rulebook_version
                )
            LEFT JOIN LATERAL (
                SELECT f.reported_at FROM gate_rollouts f
                WHERE f.gate_id = g.id AND f.rulebook_version >= c.rulebook_version
                ORDER BY f.rulebook_version
                LIMIT 1
            ) r ON true
            ORDER BY c.sequence DESC, g.started_at, g.id"#,
            uuid(tenant_id.to_u128()),
            live_within.as_secs_f64(),
            i64::from(most),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(grouped(rows))
    }

    /// Lists the newest changes of all tenants as [`Self::rollouts`] lists those of one. Only operators see them.
    pub async fn rollouts_of_all(
        self,
        live_within: Duration,
        most: u32,
    ) -> Result<Vec<Rollout>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            r#"-- gates.rollouts_of_all
            SELECT
                c.rulebook_version,
                c.published_at,
                g.id AS "gate_id?",
                r.reported_at AS "reported_at?"
            FROM (
                SELECT * FROM tenant_changes
                ORDER BY rulebook_version DESC
                LIMIT $2
            ) c
            LEFT JOIN gates g
                ON g.seen_at > clock_timestamp() - make_interval(secs => $1)
                AND g.started_at <= c.published_at
                AND EXISTS (
                    SELECT FROM gate_rollouts o
                    WHERE o.gate_id = g.id AND o.rulebook_version < c.rulebook_version
                )
            LEFT JOIN LATERAL (
                SELECT f.reported_at FROM gate_rollouts f
                WHERE f.gate_id = g.id AND f.rulebook_version >= c.rulebook_version
                ORDER BY f.rulebook_version
                LIMIT 1
            ) r ON true
            ORDER BY c.rulebook_version DESC, g.started_at, g.id"#,
            live_within.as_secs_f64(),
            i64::from(most),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(grouped(rows))
    }
}

/// A change, and the report of one gate, if there is a live gate.
struct Row {
    rulebook_version: i64,
    published_at: Option<OffsetDateTime>,
    gate_id: Option<Uuid>,
    reported_at: Option<OffsetDateTime>,
}

/// The rows of each change together.
fn grouped(rows: Vec<Row>) -> Vec<Rollout> {
    let mut rollouts: Vec<Rollout> = Vec::new();
    for row in rows {
        let rulebook_version = unsigned(row.rulebook_version);
        if rollouts.last().is_none_or(|last| last.rulebook_version != rulebook_version) {
            let published_at = row.published_at.map(timestamp);
            rollouts.push(Rollout { rulebook_version, published_at, gates: Vec::new() });
        }
        let (Some(rollout), Some(gate_id)) = (rollouts.last_mut(), row.gate_id) else {
            continue;
        };
        rollout.gates.push(GateReport {
            gate_id: GateId::from_u128(gate_id.as_u128()),
            reported_at: row.reported_at.map(timestamp),
        });
    }
    rollouts
}
