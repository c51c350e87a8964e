//! Webhooks. The store receives their secrets sealed and cannot open them.

mod health;

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;

use crate::alerts::Alerts;
use crate::connection::PooledConnection;
use crate::convert::{all, stored, timestamp, unsigned, uuid};
use crate::error::{Constraint, StoreError};
use crate::page::{Listing, Page};

pub use health::WebhookHealth;

/// A webhook to be inserted.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    /// The id and the editable fields.
    pub write: WebhookWrite,
    /// The kind, which never changes.
    pub kind: WebhookKind,
    /// The creator: an e-mail address, or `key` and the key's name.
    pub created_by: String,
}

/// The editable fields of a webhook.
#[derive(Debug, Clone)]
pub struct WebhookWrite {
    /// The webhook's id.
    pub id: WebhookId,
    /// The tenant that owns the webhook.
    pub tenant_id: TenantId,
    /// The display name.
    pub name: String,
    /// The URL to send to; `None` for e-mail.
    pub url: Option<String>,
    /// The addresses of e-mail.
    pub addresses: Vec<String>,
    /// Whether deliveries are sent.
    pub enabled: bool,
    /// A sealed secret. With `None`, a stored one stays.
    pub secret: Option<Vec<u8>>,
    /// The current time.
    pub now: Timestamp,
}

/// A new secret for a webhook.
#[derive(Debug, Clone)]
pub struct WebhookRotation {
    /// The webhook's id.
    pub id: WebhookId,
    /// The tenant that owns the webhook.
    pub tenant_id: TenantId,
    /// The new secret, sealed.
    pub secret: Vec<u8>,
    /// The time until which the old secret signs as well.
    pub previous_expires_at: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    /// The webhook's id.
    pub id: WebhookId,
    /// The tenant that owns the webhook.
    pub tenant_id: TenantId,
    /// The display name.
    pub name: String,
    /// The kind.
    pub kind: WebhookKind,
    /// The URL to send to; `None` for e-mail.
    pub url: Option<String>,
    /// The addresses of e-mail.
    pub addresses: Vec<String>,
    /// Whether deliveries are sent.
    pub enabled: bool,
    /// The sealed secret: of signatures, or the routing key of PagerDuty.
    pub secret: Option<Vec<u8>>,
    /// The secret before the last rotation, while both sign.
    pub previous: Option<PreviousSecret>,
    /// The creator: an e-mail address, or `key` and the key's name.
    pub created_by: String,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last update.
    pub updated_at: Timestamp,
}

/// The part of a standard webhook that is needed to send to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTarget {
    /// The webhook's id.
    pub id: WebhookId,
    /// The URL to send to.
    pub url: String,
    /// Whether deliveries are sent.
    pub enabled: bool,
    /// The sealed secret.
    pub secret: Vec<u8>,
    /// The secret before the last rotation, while both sign.
    pub previous: Option<PreviousSecret>,
}

/// The secret before a rotation, which signs until the overlap ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousSecret {
    /// The sealed secret.
    pub secret: Vec<u8>,
    /// The time until which the secret signs.
    pub expires_at: Timestamp,
}

struct Row {
    tenant_id: Uuid,
    id: Uuid,
    name: String,
    kind: String,
    url: Option<String>,
    addresses: Vec<String>,
    enabled: bool,
    secret: Option<Vec<u8>>,
    previous_secret: Option<Vec<u8>>,
    previous_expires_at: Option<OffsetDateTime>,
    created_by: String,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_webhooks {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                tenant_id,
                id,
                name,
                kind,
                url,
                addresses,
                enabled,
                secret,
                previous_secret,
                previous_expires_at,
                created_by,
                created_at,
                updated_at
                "
                + $tail
            $(, $argument)*
        )
    };
}

/// The table of webhooks.
#[derive(Debug)]
pub struct Webhooks<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Webhooks<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts a webhook.
    pub async fn insert(self, new: &NewWebhook) -> Result<WebhookRow, StoreError> {
        query_webhooks!(
            "-- webhooks.insert
            INSERT INTO webhooks (
                tenant_id,
                id,
                name,
                kind,
                url,
                addresses,
                enabled,
                secret,
                created_by,
                created_at,
                updated_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
            RETURNING",
            "",
            uuid(new.write.tenant_id.to_u128()),
            uuid(new.write.id.to_u128()),
            new.write.name,
            new.kind.as_str(),
            new.write.url.as_deref(),
            &new.write.addresses,
            new.write.enabled,
            new.write.secret.as_deref(),
            new.created_by,
            stored(new.write.now),
        )
        .fetch_one(self.conn)
        .await?
        .try_into()
    }

    /// Returns the webhook with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: WebhookId,
    ) -> Result<Option<WebhookRow>, StoreError> {
        let row = query_webhooks!(
            "-- webhooks.find
            SELECT",
            "FROM webhooks
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        row.map(WebhookRow::try_from).transpose()
    }

    /// Returns the number of webhooks of a tenant.
    pub async fn count(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- webhooks.count
            SELECT count(*) AS "count!" FROM webhooks WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Lists a tenant's webhooks, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        page: &Page<WebhookId>,
    ) -> Result<Listing<WebhookRow>, StoreError> {
        let rows = query_webhooks!(
            "-- webhooks.list
            SELECT",
            "FROM webhooks
            WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2)
            ORDER BY id DESC
            LIMIT $3",
            uuid(tenant_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Returns what a gate needs to send to the standard webhooks of a tenant.
    pub async fn targets(self, tenant_id: TenantId) -> Result<Vec<WebhookTarget>, StoreError> {
        let rows = sqlx::query!(
            r#"-- webhooks.targets
            SELECT
                id,
                url AS "url!",
                enabled,
                secret AS "secret!",
                previous_secret,
                previous_expires_at
            FROM webhooks
            WHERE tenant_id = $1 AND kind = 'standard'"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| WebhookTarget {
            id: WebhookId::from_u128(row.id.as_u128()),
            url: row.url,
            enabled: row.enabled,
            secret: row.secret,
            previous: row
                .previous_secret
                .zip(row.previous_expires_at)
                .map(|(secret, at)| PreviousSecret { secret, expires_at: timestamp(at) }),
        });
        Ok(rows.collect())
    }

    /// Updates a webhook. `None` if the tenant has no such webhook.
    pub async fn update(self, write: &WebhookWrite) -> Result<Option<WebhookRow>, StoreError> {
        let row = query_webhooks!(
            "-- webhooks.update
            UPDATE webhooks
            SET
                name = $3,
                url = $4,
                addresses = $5,
                enabled = $6,
                secret = coalesce($7, secret),
                updated_at = $8
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(write.tenant_id.to_u128()),
            uuid(write.id.to_u128()),
            write.name,
            write.url.as_deref(),
            &write.addresses,
            write.enabled,
            write.secret.as_deref(),
            stored(write.now),
        )
        .fetch_optional(self.conn)
        .await?;
        row.map(WebhookRow::try_from).transpose()
    }

    /// Gives a standard webhook a new secret. The old one signs as well until the overlap ends.
    pub async fn rotate(
        self,
        rotation: &WebhookRotation,
    ) -> Result<Option<WebhookRow>, StoreError> {
        let row = query_webhooks!(
            "-- webhooks.rotate
            UPDATE webhooks
            SET
                previous_secret = secret,
                previous_expires_at = $4,
                secret = $3,
                updated_at = $5
            WHERE tenant_id = $1 AND id = $2 AND kind = 'standard'
            RETURNING",
            "",
            uuid(rotation.tenant_id.to_u128()),
            uuid(rotation.id.to_u128()),
            rotation.secret,
            stored(rotation.previous_expires_at),
            stored(rotation.now),
        )
        .fetch_optional(self.conn)
        .await?;
        row.map(WebhookRow::try_from).transpose()
    }

    /// Deletes a webhook and its deliveries. Refused while alerts use it.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: WebhookId,
    ) -> Result<Option<WebhookRow>, StoreError> {
        // The constraint knows the first webhook of an alert only.
        if Alerts::new(&mut *self.conn).use_webhook(tenant_id, id).await? {
            return Err(StoreError::Conflict(Constraint::AlertWebhook));
        }
        let row = query_webhooks!(
            "-- webhooks.delete
            DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        row.map(WebhookRow::try_from).transpose()
    }
}

impl TryFrom<Row> for WebhookRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let kind = WebhookKind::parse(&row.kind)
            .ok_or_else(|| StoreError::corrupt(format!("a webhook of kind {}", row.kind)))?;
        let previous = row.previous_secret.zip(row.previous_expires_at);
        Ok(Self {
            id: WebhookId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            name: row.name,
            kind,
            url: row.url,
            addresses: row.addresses,
            enabled: row.enabled,
            secret: row.secret,
            previous: previous
                .map(|(secret, at)| PreviousSecret { secret, expires_at: timestamp(at) }),
            created_by: row.created_by,
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        })
    }
}
