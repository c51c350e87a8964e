//! The columns of an alert.

use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::alert::{Condition, Watched};
use weir_domain::id::{AlertId, RuleId, TenantId, WebhookId};
use weir_domain::time::Timestamp;

use crate::convert::{signed, timestamp, unsigned, uuid};
use crate::error::StoreError;

/// An alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertRow {
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
    /// The set of rules as code to which the alert belongs.
    pub managed_by: Option<String>,
    /// Whether the alert differs from what the last apply of its set wrote.
    pub edited: bool,
    /// The time of the last firing.
    pub fired_at: Option<Timestamp>,
    /// The time of the first firing since the condition last ended. `None` if it does not hold.
    pub firing_since: Option<Timestamp>,
    /// The time until which the alert announces nothing.
    pub muted_until: Option<Timestamp>,
    /// The creator: an e-mail address, or `key` and the key's name.
    pub created_by: String,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last update.
    pub updated_at: Timestamp,
}

/// The columns as Postgres returns them.
pub(super) struct Row {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) webhook_id: Uuid,
    pub(super) more_webhook_ids: Vec<Uuid>,
    pub(super) enabled: bool,
    pub(super) kind: String,
    pub(super) rule_id: Option<Uuid>,
    pub(super) namespace: Option<String>,
    pub(super) customer: Option<String>,
    pub(super) thresholds_percent: Vec<i16>,
    pub(super) share_percent: Option<i16>,
    pub(super) window_s: Option<i32>,
    pub(super) checks_min: Option<i64>,
    pub(super) managed_by: Option<String>,
    pub(super) applied: Option<Value>,
    pub(super) fired_at: Option<OffsetDateTime>,
    pub(super) firing_since: Option<OffsetDateTime>,
    pub(super) muted_until: Option<OffsetDateTime>,
    pub(super) created_by: String,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_alerts {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                tenant_id,
                id,
                name,
                webhook_id,
                more_webhook_ids,
                enabled,
                kind,
                rule_id,
                namespace,
                customer,
                thresholds_percent,
                share_percent,
                window_s,
                checks_min,
                managed_by,
                applied,
                fired_at,
                firing_since,
                muted_until,
                created_by,
                created_at,
                updated_at
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(super) use query_alerts;

/// The columns that store a condition.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) kind: &'static str,
    pub(super) rule_id: Option<Uuid>,
    pub(super) namespace: Option<String>,
    pub(super) customer: Option<String>,
    pub(super) thresholds_percent: Vec<i16>,
    pub(super) share_percent: Option<i16>,
    pub(super) window_s: Option<i32>,
    pub(super) checks_min: Option<i64>,
}

impl Columns {
    pub(super) fn of(condition: &Condition) -> Self {
        let kind = condition.kind();
        match condition {
            Condition::Quota { rule_id, customer, thresholds_percent } => Self {
                kind,
                rule_id: Some(uuid(rule_id.to_u128())),
                customer: customer.clone(),
                thresholds_percent: thresholds_percent.iter().copied().map(i16::from).collect(),
                ..Self::default()
            },
            Condition::DenialShare { of, share_percent, window_s, checks_min } => {
                let (rule_id, namespace) = match of {
                    Watched::Everything => (None, None),
                    Watched::Namespace(name) => (None, Some(name.clone())),
                    Watched::Rule(id) => (Some(uuid(id.to_u128())), None),
                };
                Self {
                    kind,
                    rule_id,
                    namespace,
                    share_percent: Some(i16::from(*share_percent)),
                    window_s: Some(i32::try_from(*window_s).unwrap_or(i32::MAX)),
                    checks_min: Some(signed(*checks_min)),
                    ..Self::default()
                }
            }
        }
    }
}

/// The values that an apply writes and that a later edit can change.
pub(super) fn content(
    name: &str,
    webhook_ids: &[WebhookId],
    enabled: bool,
    columns: &Columns,
) -> Value {
    let (first, more) = webhook_ids.split_first().unzip();
    let mut content = json!({
        "name": name,
        "webhook_id": first.map(ToString::to_string),
        "enabled": enabled,
        "kind": columns.kind,
        "rule_id": columns.rule_id.map(|id| id.to_string()),
        "namespace": columns.namespace,
        "thresholds_percent": columns.thresholds_percent,
        "share_percent": columns.share_percent,
        "window_s": columns.window_s,
        "checks_min": columns.checks_min,
    });
    // An alert that was applied before there could be several is stored without them.
    let more: Vec<_> = more.unwrap_or_default().iter().map(ToString::to_string).collect();
    if !more.is_empty() {
        content["more_webhook_ids"] = json!(more);
    }
    if let Some(customer) = &columns.customer {
        content["customer"] = json!(customer);
    }
    content
}

/// The columns that store the webhooks.
pub(super) fn first_and_more(webhook_ids: &[WebhookId]) -> (Option<Uuid>, Vec<Uuid>) {
    let mut ids = webhook_ids.iter().map(|id| uuid(id.to_u128()));
    (ids.next(), ids.collect())
}

impl TryFrom<Row> for AlertRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let condition = condition(&row)
            .ok_or_else(|| StoreError::corrupt(format!("an alert of kind {}", row.kind)))?;
        let webhook_ids = std::iter::once(&row.webhook_id).chain(&row.more_webhook_ids);
        let webhook_ids: Vec<_> =
            webhook_ids.map(|id| WebhookId::from_u128(id.as_u128())).collect();
        let now = content(&row.name, &webhook_ids, row.enabled, &Columns::of(&condition));
        Ok(Self {
            id: AlertId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            name: row.name,
            webhook_ids,
            enabled: row.enabled,
            condition,
            edited: row.managed_by.is_some() && row.applied.is_some_and(|applied| applied != now),
            managed_by: row.managed_by,
            fired_at: row.fired_at.map(timestamp),
            firing_since: row.firing_since.map(timestamp),
            muted_until: row.muted_until.map(timestamp),
            created_by: row.created_by,
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        })
    }
}

fn condition(row: &Row) -> Option<Condition> {
    let rule_id = row.rule_id.map(|id| RuleId::from_u128(id.as_u128()));
    let percent = |value: &i16| u8::try_from(*value).ok();
    match row.kind.as_str() {
        "quota" => Some(Condition::Quota {
            rule_id: rule_id?,
            customer: row.customer.clone(),
            thresholds_percent: row
                .thresholds_percent
                .iter()
                .map(percent)
                .collect::<Option<Vec<u8>>>()?,
        }),
        "denial_share" => Some(Condition::DenialShare {
            of: match (rule_id, &row.namespace) {
                (Some(id), _) => Watched::Rule(id),
                (None, Some(name)) => Watched::Namespace(name.clone()),
                (None, None) => Watched::Everything,
            },
            share_percent: percent(&row.share_percent?)?,
            window_s: u32::try_from(row.window_s?).ok()?,
            checks_min: unsigned(row.checks_min?),
        }),
        _ => None,
    }
}
