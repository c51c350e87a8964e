//! `POST /tenants/{tenant}/webhooks/{webhook}/test`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::WebhookId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::webhooks::Delivery;

use crate::actor::{By, Editor};
use crate::alerting::Told;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;
use crate::webhooks;

/// Send something that tells nothing, to see it arrive. Look into the deliveries for what came of it.
#[utoipa::path(post, path = "/tenants/{tenant}/webhooks/{webhook}/test", operation_id = "webhooks_test", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
    ),
    responses((status = 202, description = "It is sent in a moment", body = Delivery)))]
pub(crate) async fn test(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, webhook)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("webhooks.test", caller, Once::unkept()).await?;
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.webhooks().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let told = Told::Test { webhook: row.name };
    let new = told.delivery(&control, tenant_id, id, change.now);
    let delivery = webhooks::delivery(change.tx.deliveries().insert(&new).await?);
    change.audit("webhook.test", Object::new("webhook", &id), None, None).await?;
    change.answer(StatusCode::ACCEPTED, &delivery).await
}
