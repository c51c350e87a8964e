//! Events of a tenant that explain its statistics: changes of rules, overrides and enforcement, and alerts that fired.

use std::time::Duration;

use serde_json::Value;
use weir_domain::id::{AuditId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, timestamp, unsigned, uuid};
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
    /// The object before the change. `None` for a new object, and for imports.
    pub before: Option<Value>,
    /// The object after the change. `None` for a deleted object.
    pub after: Option<Value>,
}

/// The objects of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOf {
    /// Rules, and the enforcement.
    Rules,
    /// Overrides.
    Overrides,
}

/// Announcements of one alert, each soon after the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertEvent {
    /// The time of the first.
    pub at: Timestamp,
    /// The time of the last.
    pub until: Timestamp,
    /// The number of announcements.
    pub firings: u64,
    /// The number of different subjects in them.
    pub subjects: u64,
    /// The data of the last.
    pub data: Value,
}

/// Alerts that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertEvents {
    /// The announcements, those that ended last first.
    pub events: Vec<AlertEvent>,
    /// Whether older announcements were not read.
    pub truncated: bool,
}

/// The most announcements that are read.
const ANNOUNCEMENTS_MAX: i64 = 10_000;

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
    pub async fn changes(
        self,
        filter: &EventFilter,
        of: ChangeOf,
    ) -> Result<Vec<ChangeEvent>, StoreError> {
        let first_id = AuditId::new(filter.from.plus_ms(-CLOCKS_DIFFER_MS), 0);
        let rows = sqlx::query!(
            r#"-- events.changes
            SELECT
                at,
                action,
                actor_label,
                object_id,
                CASE WHEN action <> 'override.bulk' THEN before END AS before,
                after
            FROM audit_entries
            WHERE tenant_id = $1
                AND id >= $2
                AND at >= $3
                AND at < $4
                AND action = ANY($7)
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
            &of.actions().iter().map(|&action| action.to_owned()).collect::<Vec<_>>(),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| ChangeEvent {
            at: timestamp(row.at),
            action: row.action,
            actor: row.actor_label,
            object_id: row.object_id,
            before: row.before,
            after: row.after,
        });
        Ok(rows.collect())
    }

    /// Lists alerts that fired. Announcements of an alert are one event while each follows within `apart` of the one before.
    pub async fn alerts(
        self,
        filter: &EventFilter,
        apart: Duration,
    ) -> Result<AlertEvents, StoreError> {
        let rows = sqlx::query!(
            r#"-- events.alerts
            WITH fired AS (
                SELECT
                    created_at,
                    (payload::jsonb) -> 'data' AS data,
                    (payload::jsonb) #>> '{data,alert,id}' AS alert_id
                FROM webhook_deliveries
                WHERE tenant_id = $1
                    AND kind IN ('alert.quota', 'alert.denial_share')
                    AND created_at >= $2
                    AND created_at < $3
                    AND ($4::text IS NULL OR (payload::jsonb) #>> '{data,rule,id}' = $4)
                ORDER BY created_at DESC
                LIMIT $6
            ),
            followed AS (
                SELECT
                    *,
                    created_at - lag(created_at) OVER (PARTITION BY alert_id ORDER BY created_at)
                        > make_interval(secs => $7) AS is_first
                FROM fired
            ),
            numbered AS (
                SELECT
                    *,
                    count(*) FILTER (WHERE is_first) OVER (PARTITION BY alert_id ORDER BY created_at) AS run
                FROM followed
            )
            SELECT
                min(created_at) AS "at!",
                max(created_at) AS "until!",
                count(*) AS "firings!",
                count(DISTINCT data -> 'subject') AS "subjects!",
                (array_agg(data ORDER BY created_at DESC))[1] AS "data!",
                (SELECT count(*) FROM fired) AS "fired!"
            FROM numbered
            GROUP BY alert_id, run
            ORDER BY max(created_at) DESC
            LIMIT $5"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            stored(filter.to),
            filter.rule_id.map(|id| id.to_string()),
            i64::from(filter.most),
            ANNOUNCEMENTS_MAX,
            apart.as_secs_f64(),
        )
        .fetch_all(self.conn)
        .await?;
        let truncated = rows.first().is_some_and(|row| row.fired == ANNOUNCEMENTS_MAX);
        let events = rows.into_iter().map(|row| AlertEvent {
            at: timestamp(row.at),
            until: timestamp(row.until),
            firings: unsigned(row.firings),
            subjects: unsigned(row.subjects),
            data: row.data,
        });
        Ok(AlertEvents { events: events.collect(), truncated })
    }
}

impl ChangeOf {
    /// The actions in the audit log.
    fn actions(self) -> &'static [&'static str] {
        match self {
            Self::Rules => {
                &["rule.create", "rule.update", "rule.revert", "rule.delete", "tenant.enforcement"]
            }
            Self::Overrides => {
                &["override.create", "override.update", "override.delete", "override.bulk"]
            }
        }
    }
}
