//! Alerts of a tenant. They are evaluated in `alerting`.

use weir_domain::alert::Condition;
use weir_domain::id::{AlertId, WebhookId};
use weir_http::problem::Problem;
use weir_store::{AlertRow, AlertWrite};
use weir_wire::alerts::{Alert, AlertBody};

use crate::api_keys::maker;
use crate::change::Change;
use crate::error::ControlError;
use crate::names;

pub(crate) mod backtest;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod mute;
pub(crate) mod quotas;
pub(crate) mod update;

/// An alert in JSON.
fn alert(row: AlertRow) -> Alert {
    let webhook_id = row.webhook_id.to_string();
    Alert {
        id: row.id.to_string(),
        body: AlertBody::of(row.name, webhook_id, row.enabled, &row.condition),
        managed_by: row.managed_by,
        edited: row.edited,
        fired_at: row.fired_at.map(Into::into),
        firing_since: row.firing_since.map(Into::into),
        muted_until: row.muted_until.map(Into::into),
        created_by: row.created_by,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
    }
}

/// A checked alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckedAlert {
    pub(crate) name: String,
    pub(crate) webhook_id: WebhookId,
    pub(crate) enabled: bool,
    pub(crate) condition: Condition,
}

impl CheckedAlert {
    /// A stored alert.
    pub(crate) fn stored(row: &AlertRow) -> Self {
        let AlertRow { name, webhook_id, enabled, condition, .. } = row.clone();
        Self { name, webhook_id, enabled, condition }
    }
}

/// Checks a body. All checks that need no database come first.
async fn checked(change: &mut Change, body: AlertBody) -> Result<CheckedAlert, ControlError> {
    names::name("name", &body.name)?;
    let condition = body.condition().map_err(Problem::invalid)?;
    let missing = || Problem::invalid_field("webhook_id", "is not a webhook of this tenant");
    let webhook_id = body.webhook_id.parse().map_err(|_| missing())?;
    let tenant_id = change.caller.tenant_id;
    change.tx.webhooks().find(tenant_id, webhook_id).await?.ok_or_else(missing)?;
    quotas::must_be_there(&mut change.tx, tenant_id, &condition).await?;
    Ok(CheckedAlert { name: body.name, webhook_id, enabled: body.enabled, condition })
}

/// The columns of an alert, which belongs to a set of rules as code if one is given.
fn write(
    change: &Change,
    id: AlertId,
    alert: CheckedAlert,
    managed_by: Option<&str>,
) -> AlertWrite {
    AlertWrite {
        id,
        tenant_id: change.caller.tenant_id,
        name: alert.name,
        webhook_id: alert.webhook_id,
        enabled: alert.enabled,
        condition: alert.condition,
        managed_by: managed_by.map(str::to_owned),
        created_by: maker(&change.caller.actor),
        now: change.now,
    }
}
