//! Alerts of a tenant. They are evaluated in `alerting`.

use axum::extract::State;
use axum::response::Response;
use weir_domain::alert::{Condition, distinct_webhooks};
use weir_domain::id::{AlertId, WebhookId};
use weir_domain::webhook::WebhookKind;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{AlertRow, AlertWrite};
use weir_wire::alerts::{Alert, AlertBody};
use weir_wire::page::Page;

use crate::actor::{By, Editor, Viewer};
use crate::answers::to_value;
use crate::api_keys::maker;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Once;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::state::ControlState;

pub(crate) mod backtest;
pub(crate) mod mute;
pub(crate) mod quotas;
pub(crate) mod write;

/// The tenant's alerts, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/alerts", operation_id = "alerts_list", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The alerts", body = Page<Alert>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Alert>>, ControlError> {
    let list = List::new(&["alerts", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("alerts.list", &caller).await?;
    let listing = tx.alerts().list(caller.tenant_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), alert)))
}

/// Delete an alert.
#[utoipa::path(delete, path = "/tenants/{tenant}/alerts/{alert}", operation_id = "alerts_delete", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("alert" = String, Path, description = "`alert_…`"),
    ),
    responses((status = 204, description = "Deleted")))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, alert)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: AlertId = alert.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("alerts.delete", caller, Once::not_stored()).await?;
    delete_stored(&mut change, id).await?;
    change.done().await
}

/// Deletes an alert and records it in the audit log.
pub(crate) async fn delete_stored(change: &mut Change, id: AlertId) -> Result<(), ControlError> {
    let row = change.tx.alerts().delete(change.caller.tenant_id, id).await?;
    let before = to_value(&alert(row.ok_or_else(Problem::not_found)?))?;
    change.audit("alert.delete", Object::new("alert", &id), Some(before), None);
    Ok(())
}

/// An alert in JSON.
fn alert(row: AlertRow) -> Alert {
    let webhook_ids = row.webhook_ids.iter().map(ToString::to_string).collect();
    Alert {
        id: row.id.to_string(),
        body: AlertBody::of(row.name, webhook_ids, row.enabled, &row.condition),
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
    pub(crate) webhook_ids: Vec<WebhookId>,
    pub(crate) enabled: bool,
    pub(crate) condition: Condition,
}

impl CheckedAlert {
    /// A stored alert.
    pub(crate) fn stored(row: &AlertRow) -> Self {
        let AlertRow { name, webhook_ids, enabled, condition, .. } = row.clone();
        Self { name, webhook_ids, enabled, condition }
    }
}

/// Checks a body. All checks that need no database come first.
async fn checked(change: &mut Change, body: AlertBody) -> Result<CheckedAlert, ControlError> {
    names::name("name", &body.name)?;
    let condition = body.condition().map_err(Problem::invalid)?;
    let invalid = |reason: String| Problem::invalid_field("webhook_ids", reason);
    distinct_webhooks(&body.webhook_ids).map_err(invalid)?;
    let tenant_id = change.caller.tenant_id;
    let mut webhook_ids = Vec::with_capacity(body.webhook_ids.len());
    for id in &body.webhook_ids {
        let missing = || invalid(format!("`{id}` is not a webhook of this tenant"));
        let id = id.parse().map_err(|_| missing())?;
        let webhook = change.tx.webhooks().find(tenant_id, id).await?.ok_or_else(missing)?;
        let is_quota = matches!(condition, Condition::Quota { .. });
        if webhook.kind == WebhookKind::CustomerEmail && !is_quota {
            return Err(invalid(format!("`{id}` sends to customers, which is for quotas")).into());
        }
        webhook_ids.push(id);
    }
    quotas::must_be_there(&mut change.tx, tenant_id, &condition).await?;
    Ok(CheckedAlert { name: body.name, webhook_ids, enabled: body.enabled, condition })
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
        webhook_ids: alert.webhook_ids,
        enabled: alert.enabled,
        condition: alert.condition,
        managed_by: managed_by.map(str::to_owned),
        created_by: maker(&change.caller.actor),
        now: change.now,
    }
}
