//! Alerts of a tenant. They are evaluated in `alerting`.

use weir_domain::id::AlertId;
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
pub(crate) mod quotas;
pub(crate) mod update;

/// An alert in JSON.
fn alert(row: AlertRow) -> Alert {
    let webhook_id = row.webhook_id.to_string();
    Alert {
        id: row.id.to_string(),
        body: AlertBody::of(row.name, webhook_id, row.enabled, &row.condition),
        fired_at: row.fired_at.map(Into::into),
        created_by: row.created_by,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
    }
}

/// The columns of a body. All checks that need no database come first.
async fn write(
    change: &mut Change,
    id: AlertId,
    body: AlertBody,
) -> Result<AlertWrite, ControlError> {
    names::name("name", &body.name)?;
    let condition = body.condition().map_err(Problem::invalid)?;
    let missing = || Problem::invalid_field("webhook_id", "is not a webhook of this tenant");
    let webhook_id = body.webhook_id.parse().map_err(|_| missing())?;
    let tenant_id = change.caller.tenant_id;
    change.tx.webhooks().find(tenant_id, webhook_id).await?.ok_or_else(missing)?;
    quotas::must_be_there(&mut change.tx, tenant_id, &condition).await?;
    Ok(AlertWrite {
        id,
        tenant_id,
        name: body.name,
        webhook_id,
        enabled: body.enabled,
        condition,
        created_by: maker(&change.caller.actor),
        now: change.now,
    })
}
