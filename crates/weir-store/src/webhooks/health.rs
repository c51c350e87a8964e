//! Whether the receiver of a webhook accepts deliveries, read from the log.

use uuid::Uuid;
use weir_domain::id::{TenantId, WebhookId};
use weir_domain::time::Timestamp;

use super::Webhooks;
use crate::convert::{timestamp, unsigned, uuid};
use crate::error::StoreError;

/// The results of a webhook's deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookHealth {
    /// The webhook's id.
    pub id: WebhookId,
    /// The time of the newest delivery that succeeded.
    pub delivered_at: Option<Timestamp>,
    /// The deliveries after that one that were attempted in vain, at most 100.
    pub failing: u64,
    /// The time of the first of them.
    pub failing_since: Option<Timestamp>,
    /// The error of the last of them.
    pub error: Option<String>,
}

impl Webhooks<'_> {
    /// Returns the results of the deliveries of these webhooks of a tenant.
    pub async fn health(
        self,
        tenant_id: TenantId,
        ids: &[WebhookId],
    ) -> Result<Vec<WebhookHealth>, StoreError> {
        let ids: Vec<Uuid> = ids.iter().map(|id| uuid(id.to_u128())).collect();
        let rows = sqlx::query!(
            r#"-- webhooks.health
            SELECT
                w.id AS "id!",
                good.attempted_at AS "delivered_at?",
                bad.failing AS "failing!",
                bad.failing_since AS "failing_since?",
                bad.error AS "error?"
            FROM unnest($2::uuid[]) AS w (id)
            LEFT JOIN LATERAL (
                SELECT d.id, d.attempted_at
                FROM webhook_deliveries d
                WHERE d.tenant_id = $1 AND d.webhook_id = w.id AND d.state = 'delivered'
                ORDER BY d.id DESC
                LIMIT 1
            ) good ON true
            CROSS JOIN LATERAL (
                SELECT
                    count(*) AS failing,
                    min(n.created_at) AS failing_since,
                    (array_agg(n.error ORDER BY n.id DESC))[1] AS error
                FROM (
                    SELECT d.id, d.created_at, d.error
                    FROM webhook_deliveries d
                    WHERE d.tenant_id = $1
                        AND d.webhook_id = w.id
                        AND (good.id IS NULL OR d.id > good.id)
                        AND d.state <> 'delivered'
                        AND d.attempted_at IS NOT NULL
                    ORDER BY d.id DESC
                    LIMIT 100
                ) n
            ) bad"#,
            uuid(tenant_id.to_u128()),
            &ids,
        )
        .fetch_all(self.conn)
        .await?;
        let health = rows.into_iter().map(|row| WebhookHealth {
            id: WebhookId::from_u128(row.id.as_u128()),
            delivered_at: row.delivered_at.map(timestamp),
            failing: unsigned(row.failing),
            failing_since: row.failing_since.map(timestamp),
            error: row.error,
        });
        Ok(health.collect())
    }
}
