//! The outbox of webhooks. A transaction that has something to announce inserts a row. The sender leases due rows,
//! sends without holding a lock, and records the result.

mod row;

use weir_domain::id::{DeliveryId, TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;

use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::webhooks::PreviousSecret;

pub use row::{DeliveryRow, DeliveryState};
use row::{Row, count, query_deliveries};

/// A delivery to be inserted.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    /// The delivery's id.
    pub id: DeliveryId,
    /// The tenant that owns the webhook.
    pub tenant_id: TenantId,
    /// The webhook to deliver to.
    pub webhook_id: WebhookId,
    /// The kind of event.
    pub kind: &'static str,
    /// The body, as JSON.
    pub payload: String,
    /// The current time.
    pub now: Timestamp,
}

/// A delivery that was leased to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The tenant that owns the delivery.
    pub tenant_id: TenantId,
    /// The delivery's id.
    pub id: DeliveryId,
}

/// The data needed to send a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// The webhook to deliver to.
    pub webhook_id: WebhookId,
    /// The webhook's kind.
    pub webhook_kind: WebhookKind,
    /// The webhook's URL; `None` for e-mail.
    pub url: Option<String>,
    /// Whether the webhook is enabled.
    pub enabled: bool,
    /// The webhook's sealed secret.
    pub secret: Option<Vec<u8>>,
    /// The secret before the last rotation, while both sign.
    pub previous: Option<PreviousSecret>,
    /// The kind of event.
    pub kind: String,
    /// The body to send.
    pub payload: String,
    /// The number of attempts so far.
    pub attempts: u32,
}

/// The result of an attempt.
#[derive(Debug, Clone)]
pub struct Attempted {
    /// The state of the delivery after the attempt.
    pub state: DeliveryState,
    /// The time of the next attempt.
    pub next_at: Timestamp,
    /// The time of the attempt.
    pub now: Timestamp,
    /// The status of the response.
    pub response_status: Option<u16>,
    /// The beginning of the response's body.
    pub response: Option<String>,
    /// The reason why there was no response.
    pub error: Option<String>,
    /// The duration in milliseconds.
    pub took_ms: u64,
}

/// The table of deliveries.
#[derive(Debug)]
pub struct Deliveries<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Deliveries<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the creation time of the `nth` newest delivery of a kind of a tenant, counted from 1.
    pub async fn nth_newest(
        self,
        tenant_id: TenantId,
        kind: &str,
        nth: u64,
    ) -> Result<Option<Timestamp>, StoreError> {
        let at = sqlx::query_scalar!(
            "-- deliveries.nth_newest
            SELECT created_at
            FROM webhook_deliveries
            WHERE tenant_id = $1 AND kind = $2
            ORDER BY created_at DESC
            OFFSET $3
            LIMIT 1",
            uuid(tenant_id.to_u128()),
            kind,
            signed(nth.saturating_sub(1)),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(at.map(timestamp))
    }

    /// Inserts a delivery into the outbox.
    pub async fn insert(self, new: &NewDelivery) -> Result<DeliveryRow, StoreError> {
        query_deliveries!(
            "-- deliveries.insert
            INSERT INTO webhook_deliveries (
                tenant_id,
                id,
                webhook_id,
                kind,
                payload,
                state,
                attempts,
                next_at,
                created_at
            )
            VALUES ($1, $2, $3, $4, $5, 'pending', 0, $6, $6)
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            uuid(new.webhook_id.to_u128()),
            new.kind,
            new.payload,
            stored(new.now),
        )
        .fetch_one(self.conn)
        .await?
        .try_into()
    }

    /// Lists the deliveries of a webhook, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        webhook_id: WebhookId,
        page: &Page<DeliveryId>,
    ) -> Result<Listing<DeliveryRow>, StoreError> {
        let rows = query_deliveries!(
            "-- deliveries.list
            SELECT",
            "FROM webhook_deliveries
            WHERE tenant_id = $1 AND webhook_id = $2 AND ($3::uuid IS NULL OR id < $3)
            ORDER BY id DESC
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            uuid(webhook_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Retries a delivery from its first attempt, now. The due time of a new delivery without an attempt is left
    /// unchanged, because a sender can hold it.
    pub async fn again(
        self,
        tenant_id: TenantId,
        webhook_id: WebhookId,
        id: DeliveryId,
        now: Timestamp,
    ) -> Result<Option<DeliveryRow>, StoreError> {
        query_deliveries!(
            "-- deliveries.again
            UPDATE webhook_deliveries
            SET
                state = 'pending',
                attempts = CASE WHEN state = 'pending' THEN attempts ELSE 0 END,
                next_at = CASE
                    -- A sender can hold it, and records the time of the next attempt.
                    WHEN state = 'pending' AND attempts = 0 THEN next_at
                    ELSE $4
                END
            WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(webhook_id.to_u128()),
            uuid(id.to_u128()),
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?
        .map(DeliveryRow::try_from)
        .transpose()
    }

    /// Leases up to `most` due deliveries for `lease_s` seconds each, by Postgres' clock. At most `most_per_tenant` of
    /// one tenant are leased at a time. Each tenant's first delivery comes before any tenant's second.
    pub async fn take(
        self,
        now: Timestamp,
        lease_s: u32,
        most: u32,
        most_per_tenant: u32,
    ) -> Result<Vec<Due>, StoreError> {
        let rows = sqlx::query!(
            r#"-- deliveries.take
            SELECT tenant AS "tenant!", delivery AS "delivery!"
            FROM weir_take_deliveries($1, make_interval(secs => $2), $3, $4)"#,
            stored(now),
            f64::from(lease_s),
            i32::try_from(most).unwrap_or(i32::MAX),
            i32::try_from(most_per_tenant).unwrap_or(i32::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        let due = rows.into_iter().map(|row| Due {
            tenant_id: TenantId::from_u128(row.tenant.as_u128()),
            id: DeliveryId::from_u128(row.delivery.as_u128()),
        });
        Ok(due.collect())
    }

    /// Returns the data needed to send a leased delivery. `None` if it was deleted or is no longer pending.
    pub async fn sending(self, due: Due) -> Result<Option<Sending>, StoreError> {
        let row = sqlx::query!(
            "-- deliveries.sending
            SELECT
                w.id,
                w.kind AS webhook_kind,
                w.url,
                w.enabled,
                w.secret,
                w.previous_secret,
                w.previous_expires_at,
                d.kind,
                d.payload,
                d.attempts
            FROM webhook_deliveries d
            JOIN webhooks w ON w.tenant_id = d.tenant_id AND w.id = d.webhook_id
            WHERE d.tenant_id = $1 AND d.id = $2 AND d.state = 'pending'",
            uuid(due.tenant_id.to_u128()),
            uuid(due.id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let webhook_kind = WebhookKind::parse(&row.webhook_kind).ok_or_else(|| {
            StoreError::corrupt(format!("a webhook of kind {}", row.webhook_kind))
        })?;
        Ok(Some(Sending {
            webhook_id: WebhookId::from_u128(row.id.as_u128()),
            webhook_kind,
            url: row.url,
            enabled: row.enabled,
            secret: row.secret,
            previous: row
                .previous_secret
                .zip(row.previous_expires_at)
                .map(|(secret, at)| PreviousSecret { secret, expires_at: timestamp(at) }),
            kind: row.kind,
            payload: row.payload,
            attempts: count(row.attempts),
        }))
    }

    /// Gives up the pending deliveries of a webhook whose body contains `text`, because a later message says that they no longer
    /// hold. An attempt in progress changes them no more.
    pub async fn supersede(
        self,
        tenant_id: TenantId,
        webhook_id: WebhookId,
        text: &str,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "-- deliveries.supersede
            UPDATE webhook_deliveries
            SET
                state = 'failed',
                leased_until = NULL,
                error = 'not sent: the condition ended before an attempt succeeded'
            WHERE tenant_id = $1
                AND webhook_id = $2
                AND state = 'pending'
                AND strpos(payload, $3) > 0",
            uuid(tenant_id.to_u128()),
            uuid(webhook_id.to_u128()),
            text,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Records the result of an attempt.
    pub async fn attempted(self, due: Due, attempted: &Attempted) -> Result<(), StoreError> {
        sqlx::query!(
            "-- deliveries.attempted
            UPDATE webhook_deliveries
            SET
                state = $3,
                attempts = attempts + 1,
                next_at = $4,
                leased_until = NULL,
                attempted_at = $5,
                response_status = $6,
                response = $7,
                error = $8,
                took_ms = $9
            WHERE tenant_id = $1 AND id = $2 AND state = 'pending'",
            uuid(due.tenant_id.to_u128()),
            uuid(due.id.to_u128()),
            attempted.state.as_str(),
            stored(attempted.next_at),
            stored(attempted.now),
            attempted.response_status.map(i32::from),
            attempted.response,
            attempted.error,
            signed(attempted.took_ms),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Deletes up to `most` deliveries of all tenants that were created before `until` and are not pending. Returns the
    /// number of deleted rows.
    pub async fn forget(self, until: Timestamp, most: u32) -> Result<u64, StoreError> {
        let gone = sqlx::query_scalar!(
            r#"-- deliveries.forget
            SELECT weir_forget_deliveries($1, $2) AS "gone!""#,
            stored(until),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(gone))
    }
}
