//! The requests of API keys by the hour. Counts are totals of one run of a gate, so the greater of two values is correct.

use uuid::Uuid;
use weir_domain::id::{GateId, KeyId, TenantId};
use weir_domain::time::Timestamp;

use super::Keys;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::tallies::Flush;

/// A gate's count of the requests of a key in one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHourRow {
    /// The tenant that owns the key.
    pub tenant_id: TenantId,
    /// The key.
    pub key_id: KeyId,
    /// The start of the hour.
    pub hour: Timestamp,
    /// The total of this run in that hour.
    pub requests: u64,
    /// The last use in that hour.
    pub used_at: Timestamp,
}

/// The requests of a key in one hour at all gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHour {
    /// The key.
    pub key_id: KeyId,
    /// The start of the hour.
    pub hour: Timestamp,
    /// The number of requests.
    pub requests: u64,
    /// The gate of the last request.
    pub gate_id: GateId,
    /// The address of that gate. `None` if the gate stopped more than a day ago.
    pub gate_address: Option<String>,
}

/// The most rows of one statement.
const ROWS_AT_ONCE: usize = 1_000;

impl Keys<'_> {
    /// Writes counts of requests. Existing counts are replaced only by greater ones, and those of deleted keys are left out.
    pub async fn count_requests(
        self,
        flush: &Flush,
        rows: &[KeyHourRow],
    ) -> Result<(), StoreError> {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
            let keys: Vec<Uuid> = rows.iter().map(|row| uuid(row.key_id.to_u128())).collect();
            let hours: Vec<_> = rows.iter().map(|row| stored(row.hour)).collect();
            let requests: Vec<i64> = rows.iter().map(|row| signed(row.requests)).collect();
            let used_at: Vec<_> = rows.iter().map(|row| stored(row.used_at)).collect();
            sqlx::query!(
                "-- keys.count_requests
                INSERT INTO api_key_hours AS kept (
                    boot_id,
                    gate_id,
                    tenant_id,
                    key_id,
                    hour,
                    requests,
                    used_at
                )
                SELECT $1, $2, n.*
                FROM unnest(
                    $3::uuid[],
                    $4::uuid[],
                    $5::timestamptz[],
                    $6::bigint[],
                    $7::timestamptz[]
                ) n (tenant_id, key_id, hour, requests, used_at)
                JOIN api_keys k ON k.tenant_id = n.tenant_id AND k.id = n.key_id
                ON CONFLICT ON CONSTRAINT api_key_hours_tenant_id_pkey
                DO UPDATE SET
                    requests = GREATEST(kept.requests, excluded.requests),
                    used_at = GREATEST(kept.used_at, excluded.used_at)",
                uuid(flush.boot_id),
                uuid(flush.gate_id.to_u128()),
                &tenants,
                &keys,
                &hours,
                &requests,
                &used_at,
            )
            .execute(&mut *self.conn)
            .await?;
        }
        Ok(())
    }

    /// Returns the requests of these keys from `since`, by hour, each with the gate of the last one.
    pub async fn hours(
        self,
        tenant_id: TenantId,
        keys: &[KeyId],
        since: Timestamp,
    ) -> Result<Vec<KeyHour>, StoreError> {
        let keys: Vec<Uuid> = keys.iter().map(|key| uuid(key.to_u128())).collect();
        let rows = sqlx::query!(
            r#"-- keys.hours
            SELECT
                h.key_id,
                h.hour,
                sum(h.requests)::bigint AS "requests!",
                (array_agg(h.gate_id ORDER BY h.used_at DESC))[1] AS "gate_id!",
                (array_agg(g.address ORDER BY h.used_at DESC))[1] AS gate_address
            FROM api_key_hours h
            LEFT JOIN gates g ON g.id = h.gate_id
            WHERE h.tenant_id = $1 AND h.key_id = ANY($2) AND h.hour >= $3
            GROUP BY h.key_id, h.hour
            ORDER BY h.key_id, h.hour"#,
            uuid(tenant_id.to_u128()),
            &keys,
            stored(since),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| KeyHour {
            key_id: KeyId::from_u128(row.key_id.as_u128()),
            hour: timestamp(row.hour),
            requests: unsigned(row.requests),
            gate_id: GateId::from_u128(row.gate_id.as_u128()),
            gate_address: row.gate_address,
        });
        Ok(rows.collect())
    }
}
