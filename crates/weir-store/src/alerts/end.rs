//! The end of the condition of an alert.

use weir_domain::id::{AlertId, TenantId};
use weir_domain::time::Timestamp;

use super::Alerts;
use crate::convert::{stored, timestamp, uuid};
use crate::error::StoreError;

impl Alerts<'_> {
    /// Records that the condition of a firing alert no longer holds. Returns the time from which it held. `None` if the alert is
    /// not firing, or is enabled and announced something that lasts beyond `now`.
    pub async fn end(
        self,
        tenant_id: TenantId,
        id: AlertId,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let since = sqlx::query_scalar!(
            r#"-- alerts.end
            WITH ended AS (
                SELECT a.tenant_id, a.id, a.firing_since
                FROM alerts a
                WHERE a.tenant_id = $1
                    AND a.id = $2
                    AND a.firing_since IS NOT NULL
                    AND (
                        NOT a.enabled
                        OR NOT EXISTS (
                            SELECT FROM alert_firings f
                            WHERE f.tenant_id = a.tenant_id
                                AND f.alert_id = a.id
                                AND f.expires_at > $3
                        )
                    )
                FOR UPDATE OF a
            )
            UPDATE alerts a SET firing_since = NULL
            FROM ended e
            WHERE a.tenant_id = e.tenant_id AND a.id = e.id
            RETURNING e.firing_since AS "since!""#,
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(since.map(timestamp))
    }
}
