//! `POST /tenants/{tenant}/webhooks/{webhook}/deliveries/{delivery}/retry`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::{DeliveryId, WebhookId};
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::webhooks::Delivery;

use crate::actor::{By, Editor};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;
use crate::webhooks;

/// Send a delivery again, starting at the first attempt, with the same `webhook-id`.
#[utoipa::path(post, path = "/tenants/{tenant}/webhooks/{webhook}/deliveries/{delivery}/retry",
    operation_id = "deliveries_retry", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
        ("delivery" = String, Path, description = "`delivery_…`"),
    ),
    responses((status = 202, description = "Queued for delivery", body = Delivery)))]
pub(crate) async fn again(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, webhook, delivery)): Path<(String, String, String)>,
) -> Result<Response, ControlError> {
    let webhook_id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    let id: DeliveryId = delivery.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("deliveries.retry", caller, Once::not_stored()).await?;
    let tenant_id = change.caller.tenant_id;
    let now = change.now;
    let row = change.tx.deliveries().again(tenant_id, webhook_id, id, now).await?;
    let delivery = webhooks::delivery(row.ok_or_else(Problem::not_found)?);
    change.audit("delivery.retry", Object::new("delivery", &id), None, None);
    change.answer(StatusCode::ACCEPTED, &delivery).await
}
