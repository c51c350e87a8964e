//! Checks that gates record for what-if runs, in batches of some seconds.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::tallies::Flush;

/// A batch of checks that one gate recorded of a namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRow {
    /// The tenant of the checks.
    pub tenant_id: TenantId,
    /// Distinguishes the batches of one flush and namespace.
    pub part: i16,
    /// The size and the span of the batch.
    pub head: SampleHead,
    /// The checks as JSON.
    pub checks: String,
}

/// The size and the span of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleHead {
    /// The namespace of the checks.
    pub namespace: String,
    /// The start of the span.
    pub since: Timestamp,
    /// The end of the span.
    pub until: Timestamp,
    /// The greatest mark of a recorded subject, where a mark is a hash of the subject's values.
    pub threshold: u32,
    /// The number of checks in the span.
    pub seen: u64,
    /// The number of recorded checks.
    pub recorded: u64,
    /// The number of checks of earlier batches that could not be written.
    pub lost: u64,
    /// The recorded attributes, and the attributes whose values make up the subjects.
    pub plan: Value,
}

/// The checks of one batch.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplePiece {
    /// The start of the span.
    pub since: Timestamp,
    /// The recorded attributes, and the attributes whose values make up the subjects.
    pub plan: Value,
    /// The checks as JSON.
    pub checks: String,
}

/// The batches to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleSpan {
    /// The tenant of the checks.
    pub tenant_id: TenantId,
    /// The namespace of the checks.
    pub namespace: String,
    /// Only batches that end after this time.
    pub from: Timestamp,
    /// Only batches that start before this time.
    pub to: Timestamp,
}

/// The recorded checks of a namespace in total.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleExtent {
    /// The namespace.
    pub namespace: String,
    /// The start of the oldest batch.
    pub since: Timestamp,
    /// The end of the newest batch.
    pub until: Timestamp,
    /// The number of checks in all spans.
    pub seen: u64,
    /// The number of recorded checks.
    pub recorded: u64,
    /// The lowest threshold of any batch.
    pub threshold: u32,
}

/// The table of recorded checks.
#[derive(Debug)]
pub struct Samples<'t> {
    conn: &'t mut PooledConnection,
}

/// The most batches that one statement reads.
pub const PIECES_AT_ONCE: u32 = 200;

impl<'t> Samples<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts batches. Existing batches are left unchanged.
    pub async fn write(self, flush: &Flush, rows: &[SampleRow]) -> Result<(), StoreError> {
        let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
        let namespaces: Vec<String> = rows.iter().map(|row| row.head.namespace.clone()).collect();
        let until: Vec<_> = rows.iter().map(|row| stored(row.head.until)).collect();
        let parts: Vec<i16> = rows.iter().map(|row| row.part).collect();
        let since: Vec<_> = rows.iter().map(|row| stored(row.head.since)).collect();
        let thresholds: Vec<i64> = rows.iter().map(|row| row.head.threshold.into()).collect();
        let seen: Vec<i64> = rows.iter().map(|row| signed(row.head.seen)).collect();
        let recorded: Vec<i64> = rows.iter().map(|row| signed(row.head.recorded)).collect();
        let lost: Vec<i64> = rows.iter().map(|row| signed(row.head.lost)).collect();
        let plans: Vec<Value> = rows.iter().map(|row| row.head.plan.clone()).collect();
        let checks: Vec<String> = rows.iter().map(|row| row.checks.clone()).collect();
        sqlx::query!(
            "-- samples.write
            INSERT INTO samples (
                gate_id, boot_id, tenant_id, namespace, until, part, since, threshold, seen, kept,
                lost, plan, checks, bytes
            )
            SELECT $1, $2, n.*, octet_length(n.checks)
            FROM unnest(
                $3::uuid[], $4::text[], $5::timestamptz[], $6::smallint[], $7::timestamptz[],
                $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::jsonb[], $13::text[]
            ) n (
                tenant_id, namespace, until, part, since, threshold, seen, kept, lost, plan, checks
            )
            ON CONFLICT ON CONSTRAINT samples_tenant_id_pkey DO NOTHING",
            uuid(flush.gate_id.to_u128()),
            uuid(flush.boot_id),
            &tenants,
            &namespaces,
            &until,
            &parts,
            &since,
            &thresholds,
            &seen,
            &recorded,
            &lost,
            &plans,
            &checks,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Returns the totals of each namespace.
    pub async fn extents(self, tenant_id: TenantId) -> Result<Vec<SampleExtent>, StoreError> {
        let rows = sqlx::query!(
            r#"-- samples.extents
            SELECT
                namespace,
                min(since) AS "since!",
                max(until) AS "until!",
                sum(seen)::bigint AS "seen!",
                sum(kept)::bigint AS "recorded!",
                min(threshold) AS "threshold!"
            FROM samples
            WHERE tenant_id = $1
            GROUP BY namespace
            ORDER BY namespace"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_all(self.conn)
        .await?;
        let extents = rows.into_iter().map(|row| SampleExtent {
            namespace: row.namespace,
            since: timestamp(row.since),
            until: timestamp(row.until),
            seen: unsigned(row.seen),
            recorded: unsigned(row.recorded),
            threshold: threshold(row.threshold),
        });
        Ok(extents.collect())
    }

    /// Returns the sizes of the batches of a span, oldest first.
    pub async fn heads(self, span: &SampleSpan) -> Result<Vec<SampleHead>, StoreError> {
        let rows = sqlx::query!(
            "-- samples.heads
            SELECT
                since,
                until,
                threshold,
                seen,
                kept AS recorded,
                lost,
                plan
            FROM samples
            WHERE tenant_id = $1 AND namespace = $2 AND until > $3 AND since < $4
            ORDER BY until, boot_id, part",
            uuid(span.tenant_id.to_u128()),
            span.namespace,
            stored(span.from),
            stored(span.to),
        )
        .fetch_all(self.conn)
        .await?;
        let heads = rows.into_iter().map(|row| SampleHead {
            namespace: span.namespace.clone(),
            since: timestamp(row.since),
            until: timestamp(row.until),
            threshold: threshold(row.threshold),
            seen: unsigned(row.seen),
            recorded: unsigned(row.recorded),
            lost: unsigned(row.lost),
            plan: row.plan,
        });
        Ok(heads.collect())
    }

    /// Returns the checks of the batches of a span, oldest first: at most [`PIECES_AT_ONCE`], after `skip` others.
    pub async fn pieces(
        self,
        span: &SampleSpan,
        skip: usize,
    ) -> Result<Vec<SamplePiece>, StoreError> {
        let rows = sqlx::query_as!(
            PieceRow,
            "-- samples.pieces
            SELECT
                since,
                plan,
                checks
            FROM samples
            WHERE tenant_id = $1 AND namespace = $2 AND until > $3 AND since < $4
            ORDER BY until, boot_id, part
            OFFSET $5
            LIMIT $6",
            uuid(span.tenant_id.to_u128()),
            span.namespace,
            stored(span.from),
            stored(span.to),
            i64::try_from(skip).unwrap_or(i64::MAX),
            i64::from(PIECES_AT_ONCE),
        )
        .fetch_all(self.conn)
        .await?;
        let piece = |row: PieceRow| SamplePiece {
            since: timestamp(row.since),
            plan: row.plan,
            checks: row.checks,
        };
        Ok(rows.into_iter().map(piece).collect())
    }
}

struct PieceRow {
    since: OffsetDateTime,
    plan: Value,
    checks: String,
}

fn threshold(stored: i64) -> u32 {
    u32::try_from(stored).unwrap_or(u32::MAX)
}
