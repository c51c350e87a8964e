//! Events of a tenant that explain its statistics: changes of rules, overrides and enforcement, and alerts that fired.

use serde_json::Value;
use weir_domain::id::{AuditId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, timestamp, uuid};
use crate::error::StoreError;

/// Restricts a list of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    /// The tenant.
    pub tenant_id: TenantId,
    /// Only events of this rule, and changes of enforcement.
    pub rule_id: Option<RuleId>,
    /// The start, inclusive.
    pub from: Timestamp,
    /// The end, exclusive.
    pub to: Timestamp,
    /// The most events. The newest are listed.
    pub most: u32,
}

/// A change of a rule, an override or the enforcement.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeEvent {
    /// The time of the change.
    pub at: Timestamp,
    /// The action in the audit log, such as `rule.update`.
    pub action: String,
    /// The name of the person, key or system that acted.
    pub actor: String,
    /// The id of the changed object.
    pub object_id: String,
    /// The object after the change, or before a deletion.
    pub object: Option<Value>,
}

/// An alert that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertEvent {
    /// The time of the announcement.
    pub at: Timestamp,
    /// The data of the announcement.
    pub data: Value,
}

/// The events of tenants, in several tables.
#[derive(Debug)]
pub struct Events<'t> {
    conn: &'t mut PooledConnection,
}

/// The greatest difference between the clock of a control plane, which ids contain, and that of Postgres.
const CLOCKS_DIFFER_MS: i64 = 10 * 60_000;

impl<'t> Events<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Lists changes, the newest first.
    pub async fn changes(self, filter: &EventFilter) -> Result<Vec<ChangeEvent>, StoreError> {
        let first_id = AuditId::new(filter.from.plus_ms(-CLOCKS_DIFFER_MS), 0);
        let rows = sqlx::query!(
            r#"-- events.changes
            SELECT
                at,
                action,
                actor_label,
                object_id,
                coalesce(after, before) AS object
            FROM audit_entries
            WHERE tenant_id = $1
                AND id >= $2
                AND at >= $3
                AND at < $4
                AND (
                    action IN ('rule.create', 'rule.update', 'rule.revert', 'rule.delete')
                    OR action IN ('override.create', 'override.update', 'override.delete', 'override.bulk')
                    OR action = 'tenant.enforcement'
                )
                AND (
                    $5::text IS NULL
                    OR object_id = $5
                    OR coalesce(after, before) ->> 'rule_id' = $5
                    OR action = 'tenant.enforcement'
                )
            ORDER BY id DESC
            LIMIT $6"#,
            uuid(filter.tenant_id.to_u128()),
            uuid(first_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            filter.rule_id.map(|id| id.to_string()),
            i64::from(filter.most),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| ChangeEvent {
            at: timestamp(row.at),
            action: row.action,
            actor: row.actor_label,
            object_id: row.object_id,
            object: row.object,
        });
        Ok(rows.collect())
    }

    /// Lists alerts that fired, the newest first.
    pub async fn alerts(self, filter: &EventFilter) -> Result<Vec<AlertEvent>, StoreError> {
        let rows = sqlx::query!(
            r#"-- events.alerts
            SELECT created_at, (payload::jsonb) -> 'data' AS "data!"
            FROM webhook_deliveries
            WHERE tenant_id = $1
                AND kind IN ('alert.quota', 'alert.denial_share')
                AND created_at >= $2
                AND created_at < $3
                AND ($4::text IS NULL OR (payload::jsonb) #>> '{data,rule,id}' = $4)
            ORDER BY created_at DESC
            LIMIT $5"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            filter.rule_id.map(|id| id.to_string()),
            i64::from(filter.most),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter();
        let rows = rows.map(|row| AlertEvent { at: timestamp(row.created_at), data: row.data });
        Ok(rows.collect())
    }
}
