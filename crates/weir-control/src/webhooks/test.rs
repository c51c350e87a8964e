//! `POST /tenants/{tenant}/webhooks/{webhook}/test`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::WebhookId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::webhooks::Delivery;

use crate::actor::{By, Editor};
use crate::alerting::{WebhookMessage, outgoing};
use crate::ceilings::too_often;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;
use crate::webhooks;

const MINUTE_MS: i64 = 60_000;

/// Send a test message, in the form of the webhook's kind. The deliveries show its result. E-mail goes to each recipient, and the answer
/// names the first delivery. An incident of PagerDuty is resolved once the test arrived.
#[utoipa::path(post, path = "/tenants/{tenant}/webhooks/{webhook}/test", operation_id = "webhooks_test", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("webhook" = String, Path, description = "`webhook_…`"),
    ),
    responses(
        (status = 202, description = "Queued for delivery", body = Delivery),
        (status = 429, description = "More tests in a minute than the tenant's ceiling permits; `Retry-After` states when to retry"),
    ))]
pub(crate) async fn test(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, webhook)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: WebhookId = webhook.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("webhooks.test", caller, Once::not_stored()).await?;
    let tenant_id = change.caller.tenant_id;
    let row = change.tx.webhooks().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let message = WebhookMessage::Test { webhook: row.name.clone() };
    let ceiling = change.ceilings.get(Ceiling::WebhookTestsPerMinute);
    let last = change.tx.deliveries().nth_newest(tenant_id, message.kind(), ceiling).await?;
    let wait_ms = last.map_or(0, |at| at.plus_ms(MINUTE_MS).as_millis() - change.now.as_millis());
    if wait_ms > 0 {
        let retry_after_s = u32::try_from(wait_ms / 1000 + 1).unwrap_or(60);
        return Err(too_often(Ceiling::WebhookTestsPerMinute, ceiling, retry_after_s).into());
    }
    let mut inserted = Vec::new();
    for new in outgoing::deliveries(&control, &row, &[&message], change.now) {
        inserted.push(change.tx.deliveries().insert(&new).await?);
    }
    // No test is about a customer.
    let reason = "sends to customers alone, so it has no test";
    let first = inserted.into_iter().next();
    let first = first.ok_or_else(|| Problem::invalid_field("webhook", reason))?;
    let delivery = webhooks::delivery(first);
    change.audit("webhook.test", Object::new("webhook", &id), None, None);
    change.answer(StatusCode::ACCEPTED, &delivery).await
}
