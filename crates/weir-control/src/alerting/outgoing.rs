//! The rows of events in the outbox of a webhook, in the form of its kind.
//!
//! A standard webhook gets one delivery for each event. For other kinds, people read the messages, so the events of one
//! evaluation are one message.

mod customers;
mod mail;
mod pagerduty;
mod slack;

#[cfg(test)]
mod tests;

use serde_json::Value;
use weir_domain::id::DeliveryId;
use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;
use weir_store::{NewDelivery, WebhookRow};

use crate::alerting::message::WebhookMessage;
use crate::alerting::notice::{Notice, NoticeContext, Quoting};
use crate::state::ControlState;

pub(super) use customers::to_customers;
pub(super) use mail::mail_of;
pub(super) use pagerduty::{end_of_test, with_key};

/// The deliveries of messages of one alert to all of its webhooks.
pub(super) fn deliveries_of_all(
    control: &ControlState,
    webhooks: &[WebhookRow],
    messages: &[&WebhookMessage],
    now: Timestamp,
) -> Vec<NewDelivery> {
    webhooks.iter().flat_map(|webhook| deliveries(control, webhook, messages, now)).collect()
}

/// The deliveries of messages of one alert, or of a test.
pub(crate) fn deliveries(
    control: &ControlState,
    webhook: &WebhookRow,
    messages: &[&WebhookMessage],
    now: Timestamp,
) -> Vec<NewDelivery> {
    let Some(kind) = messages.first().map(|message| message.kind()) else { return Vec::new() };
    let delivery = |body: Value| NewDelivery {
        id: control.id(DeliveryId::new),
        tenant_id: webhook.tenant_id,
        webhook_id: webhook.id,
        kind,
        payload: body.to_string(),
        now,
    };
    let id = webhook.id.to_string();
    let context = NoticeContext {
        tenant_id: webhook.tenant_id,
        webhook: &id,
        dashboard_url: control.dashboard_url.as_deref(),
        at: now,
    };
    let notice = |quoting| Notice::of(messages, quoting, context);
    let bodies: Vec<Value> = match webhook.kind {
        WebhookKind::Standard => {
            messages.iter().map(|message| message.body(webhook.tenant_id, now)).collect()
        }
        WebhookKind::Slack => notice(Quoting::Slack).iter().map(slack::body).collect(),
        WebhookKind::Pagerduty => notice(Quoting::Plain).iter().map(pagerduty::body).collect(),
        WebhookKind::Email => {
            let notice = notice(Quoting::Mail);
            let all = webhook.addresses.iter();
            all.filter_map(|to| Some(mail::body(notice.as_ref()?, to))).collect()
        }
        // `customers` writes them.
        WebhookKind::CustomerEmail => Vec::new(),
    };
    bodies.into_iter().map(delivery).collect()
}
