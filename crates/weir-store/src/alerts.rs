//! Alerts, and the firings already sent in their periods.

mod end;
mod row;

use serde_json::Value;
use weir_domain::alert::Condition;
use weir_domain::id::{AlertId, RuleId, TenantId, WebhookId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

pub use row::AlertRow;
use row::{Columns, Row, content, first_and_more, query_alerts};

/// The values of an alert to be inserted or updated.
#[derive(Debug, Clone)]
pub struct AlertWrite {
    /// The alert's id.
    pub id: AlertId,
    /// The tenant that owns the alert.
    pub tenant_id: TenantId,
    /// The display name.
    pub name: String,
    /// The webhooks that deliver the notifications; at least one.
    pub webhook_ids: Vec<WebhookId>,
    /// Whether the alert can fire.
    pub enabled: bool,
    /// The condition under which the alert fires.
    pub condition: Condition,
    /// The set of rules as code that the alert belongs to from then on. With `None`, an alert stays where it is, and a new one
    /// belongs to no set.
    pub managed_by: Option<String>,
    /// The creator: an e-mail address, or `key` and the key's name.
    pub created_by: String,
    /// The current time.
    pub now: Timestamp,
}

impl AlertWrite {
    /// The content to be compared with later edits, if the alert is written for a set.
    fn applied(&self) -> Option<Value> {
        let columns = Columns::of(&self.condition);
        let content = content(&self.name, &self.webhook_ids, self.enabled, &columns);
        self.managed_by.as_ref().map(|_| content)
    }
}

/// Firings of an alert to be claimed, so that each is sent once.
#[derive(Debug, Clone)]
pub struct NewFirings {
    /// The tenant that owns the alert.
    pub tenant_id: TenantId,
    /// The alert.
    pub alert_id: AlertId,
    /// The mark that identifies each firing, and the time after which the same mark can fire again. No mark can occur
    /// twice.
    pub marks: Vec<(String, Timestamp)>,
    /// The current time.
    pub now: Timestamp,
}

/// A statement that writes an alert and returns it.
macro_rules! write_alert {
    ($write:ident, $sql:literal $(, $more:expr)?) => {{
        let columns = Columns::of(&$write.condition);
        let (first, more) = first_and_more(&$write.webhook_ids);
        query_alerts!(
            $sql,
            "",
            uuid($write.tenant_id.to_u128()),
            uuid($write.id.to_u128()),
            $write.name,
            first,
            $write.enabled,
            columns.kind,
            columns.rule_id,
            columns.namespace,
            &columns.thresholds_percent,
            columns.share_percent,
            columns.window_s,
            columns.checks_min,
            stored($write.now),
            $write.managed_by.as_deref(),
            $write.applied(),
            &more,
            columns.customer
            $(, $more)?
        )
    }};
}

/// The table of alerts.
#[derive(Debug)]
pub struct Alerts<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Alerts<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts an alert.
    pub async fn insert(self, write: &AlertWrite) -> Result<AlertRow, StoreError> {
        let inserted = write_alert!(
            write,
            "-- alerts.insert
            INSERT INTO alerts (
                tenant_id,
                id,
                name,
                webhook_id,
                enabled,
                kind,
                rule_id,
                namespace,
                thresholds_percent,
                share_percent,
                window_s,
                checks_min,
                checked_at,
                created_by,
                created_at,
                updated_at,
                managed_by,
                applied,
                more_webhook_ids,
                customer
            )
            VALUES (
                $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'epoch', $18, $13, $13, $14, $15, $16,
                $17
            )
            RETURNING",
            write.created_by
        );
        inserted.fetch_one(self.conn).await?.try_into()
    }

    /// Updates an alert. `None` if the tenant has no such alert.
    pub async fn update(self, write: &AlertWrite) -> Result<Option<AlertRow>, StoreError> {
        let updated = write_alert!(
            write,
            "-- alerts.update
            UPDATE alerts
            SET
                name = $3,
                webhook_id = $4,
                enabled = $5,
                kind = $6,
                rule_id = $7,
                namespace = $8,
                thresholds_percent = $9,
                share_percent = $10,
                window_s = $11,
                checks_min = $12,
                checked_at = 'epoch',
                updated_at = $13,
                managed_by = coalesce($14, managed_by),
                applied = coalesce($15, applied),
                more_webhook_ids = $16,
                customer = $17
            WHERE tenant_id = $1 AND id = $2
            RETURNING"
        );
        updated.fetch_optional(self.conn).await?.map(AlertRow::try_from).transpose()
    }

    /// Returns the alert with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: AlertId,
    ) -> Result<Option<AlertRow>, StoreError> {
        query_alerts!(
            "-- alerts.find
            SELECT",
            "FROM alerts
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?
        .map(AlertRow::try_from)
        .transpose()
    }

    /// Whether an alert is sent to this webhook after its first one.
    pub(crate) async fn use_webhook(
        self,
        tenant_id: TenantId,
        id: WebhookId,
    ) -> Result<bool, StoreError> {
        let is_used = sqlx::query_scalar!(
            r#"-- alerts.use_webhook
            SELECT EXISTS (
                SELECT 1 FROM alerts WHERE tenant_id = $1 AND $2 = ANY (more_webhook_ids)
            ) AS "is_used!""#,
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(is_used)
    }

    /// Whether an alert of a tenant watches a customer.
    pub async fn name_customers(self, tenant_id: TenantId) -> Result<bool, StoreError> {
        let named = sqlx::query_scalar!(
            r#"-- alerts.name_customers
            SELECT EXISTS (
                SELECT FROM alerts WHERE tenant_id = $1 AND customer IS NOT NULL
            ) AS "named!""#,
            uuid(tenant_id.to_u128()),
        );
        Ok(named.fetch_one(self.conn).await?)
    }

    /// Returns the number of alerts of a tenant.
    pub async fn count(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- alerts.count
            SELECT count(*) AS "count!" FROM alerts WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Lists a tenant's alerts, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        page: &Page<AlertId>,
    ) -> Result<Listing<AlertRow>, StoreError> {
        let rows = query_alerts!(
            "-- alerts.list
            SELECT",
            "FROM alerts
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

    /// Returns the ids and names of the alerts about a rule, also of those whose condition this release does not know.
    pub async fn of_rule(
        self,
        tenant_id: TenantId,
        rule_id: RuleId,
    ) -> Result<Vec<(AlertId, String)>, StoreError> {
        let rows = sqlx::query!(
            "-- alerts.of_rule
            SELECT id, name FROM alerts WHERE tenant_id = $1 AND rule_id = $2 ORDER BY id",
            uuid(tenant_id.to_u128()),
            uuid(rule_id.to_u128()),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(|row| (AlertId::from_u128(row.id.as_u128()), row.name)).collect())
    }

    /// Deletes an alert.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: AlertId,
    ) -> Result<Option<AlertRow>, StoreError> {
        query_alerts!(
            "-- alerts.delete
            DELETE FROM alerts WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?
        .map(AlertRow::try_from)
        .transpose()
    }

    /// Takes up to `most` alerts of any tenant that were not evaluated in the last `every_s` seconds.
    pub async fn take(
        self,
        now: Timestamp,
        every_s: u32,
        most: u32,
    ) -> Result<Vec<(TenantId, AlertId)>, StoreError> {
        let rows = sqlx::query!(
            r#"-- alerts.take
            SELECT tenant AS "tenant!", alert AS "alert!"
            FROM weir_take_alerts($1, make_interval(secs => $2), $3)"#,
            stored(now),
            f64::from(every_s),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        let taken = rows.into_iter().map(|row| {
            (TenantId::from_u128(row.tenant.as_u128()), AlertId::from_u128(row.alert.as_u128()))
        });
        Ok(taken.collect())
    }

    /// Claims firings. Returns the marks that had not fired yet or whose earlier firing has expired.
    pub async fn fire(self, new: &NewFirings) -> Result<Vec<String>, StoreError> {
        let marks: Vec<String> = new.marks.iter().map(|(mark, _)| mark.clone()).collect();
        let ends: Vec<_> = new.marks.iter().map(|(_, expires_at)| stored(*expires_at)).collect();
        let fired = sqlx::query_scalar!(
            "-- alerts.fire
            WITH fired AS (
                INSERT INTO alert_firings AS kept (tenant_id, alert_id, mark, fired_at, expires_at)
                SELECT $1, $2, n.mark, $5, n.expires_at
                FROM unnest($3::text[], $4::timestamptz[]) n (mark, expires_at)
                ON CONFLICT ON CONSTRAINT alert_firings_tenant_id_alert_id_mark_pkey
                DO UPDATE SET fired_at = excluded.fired_at, expires_at = excluded.expires_at
                WHERE kept.expires_at <= excluded.fired_at
                RETURNING mark
            ),
            noted AS (
                UPDATE alerts SET fired_at = $5, firing_since = coalesce(firing_since, $5)
                WHERE tenant_id = $1 AND id = $2 AND EXISTS (SELECT FROM fired)
            )
            SELECT mark FROM fired",
            uuid(new.tenant_id.to_u128()),
            uuid(new.alert_id.to_u128()),
            &marks,
            &ends,
            stored(new.now),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(fired)
    }

    /// Mutes an alert until a time, or ends that. `None` if the tenant has no such alert.
    pub async fn mute(
        self,
        tenant_id: TenantId,
        id: AlertId,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<AlertRow>, StoreError> {
        query_alerts!(
            "-- alerts.mute
            UPDATE alerts SET muted_until = $3, updated_at = $4
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
            until.map(stored),
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?
        .map(AlertRow::try_from)
        .transpose()
    }

    /// Deletes up to `most` firings of all tenants that expired before `until`. Returns the number of deleted rows.
    pub async fn forget_firings(self, until: Timestamp, most: u32) -> Result<u64, StoreError> {
        let gone = sqlx::query_scalar!(
            r#"-- alerts.forget_firings
            SELECT weir_forget_firings($1, $2) AS "gone!""#,
            stored(until),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(gone))
    }
}
