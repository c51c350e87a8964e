//! The outbox: what is to be told, and what came of it. Rows are written in the transaction that has something to
//! tell; whoever sends takes them for a while, sends without holding anything, and writes down what came of it.

mod row;

use weir_domain::id::{DeliveryId, TenantId, WebhookId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::webhooks::PreviousSecret;

pub use row::{DeliveryRow, DeliveryState};
use row::{Row, count};

/// Something to tell.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    /// Which.
    pub id: DeliveryId,
    /// Whose.
    pub tenant_id: TenantId,
    /// Where to.
    pub webhook_id: WebhookId,
    /// What it tells.
    pub kind: &'static str,
    /// JSON.
    pub payload: String,
    /// Since when.
    pub now: Timestamp,
}

/// A delivery that was taken to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Whose.
    pub tenant_id: TenantId,
    /// Which.
    pub id: DeliveryId,
}

/// What is needed to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// Where to.
    pub webhook_id: WebhookId,
    /// Its URL.
    pub url: String,
    /// Whether anything is to be sent there.
    pub enabled: bool,
    /// Its secret, sealed.
    pub secret: Vec<u8>,
    /// The one before.
    pub previous: Option<PreviousSecret>,
    /// What to send.
    pub payload: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct Attempted {
    /// What becomes of the delivery.
    pub state: DeliveryState,
    /// When it is tried next.
    pub next_at: Timestamp,
    /// When it was tried.
    pub now: Timestamp,
    /// The status of the answer.
    pub response_status: Option<u16>,
    /// The beginning of the answer.
    pub response: Option<String>,
    /// Why there was none.
    pub error: Option<String>,
    /// How long it took.
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

    /// When the `nth` newest delivery of a kind was made for a tenant, counted from 1.
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

    /// Puts something into the outbox.
    pub async fn insert(self, new: &NewDelivery) -> Result<DeliveryRow, StoreError> {
        sqlx::query_as!(
            Row,
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
            RETURNING
                id,
                webhook_id,
                kind,
                payload,
                state,
                attempts,
                next_at,
                attempted_at,
                response_status,
                response,
                error,
                took_ms,
                created_at",
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

    /// What was to be told by a webhook, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        webhook_id: WebhookId,
        page: &Page<DeliveryId>,
    ) -> Result<Listing<DeliveryRow>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "-- deliveries.list
            SELECT
                id,
                webhook_id,
                kind,
                payload,
                state,
                attempts,
                next_at,
                attempted_at,
                response_status,
                response,
                error,
                took_ms,
                created_at
            FROM webhook_deliveries
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

    /// Has a delivery tried again from the beginning, now; one that is under way is left alone.
    pub async fn again(
        self,
        tenant_id: TenantId,
        (webhook_id, id): (WebhookId, DeliveryId),
        now: Timestamp,
    ) -> Result<Option<DeliveryRow>, StoreError> {
        sqlx::query_as!(
            Row,
            "-- deliveries.again
            UPDATE webhook_deliveries
            SET
                state = 'pending',
                attempts = CASE WHEN state = 'pending' THEN attempts ELSE 0 END,
                next_at = CASE
                    -- It may be on its way: the one who took it says what comes next.
                    WHEN state = 'pending' AND attempts = 0 THEN next_at
                    ELSE $4
                END
            WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3
            RETURNING
                id,
                webhook_id,
                kind,
                payload,
                state,
                attempts,
                next_at,
                attempted_at,
                response_status,
                response,
                error,
                took_ms,
                created_at",
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

    /// Takes up to `most` that are due, and leases each for `lease_s` seconds by Postgres' clock. At most
    /// `most_per_tenant` of one tenant are leased at a time. Every tenant's first comes before any tenant's second.
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

    /// What is needed to send one that was taken; none: it is gone, or done.
    pub async fn sending(self, due: Due) -> Result<Option<Sending>, StoreError> {
        let row = sqlx::query!(
            "-- deliveries.sending
            SELECT
                w.id,
                w.url,
                w.enabled,
                w.secret,
                w.previous_secret,
                w.previous_expires_at,
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
        Ok(row.map(|row| Sending {
            webhook_id: WebhookId::from_u128(row.id.as_u128()),
            url: row.url,
            enabled: row.enabled,
            secret: row.secret,
            previous: row
                .previous_secret
                .zip(row.previous_expires_at)
                .map(|(secret, at)| PreviousSecret { secret, expires_at: timestamp(at) }),
            payload: row.payload,
            attempts: count(row.attempts),
        }))
    }

    /// Writes down what came of an attempt.
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

    /// Lets go of what was told before `until`, whosever it is; how many it were.
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
