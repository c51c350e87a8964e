//! Alerts, webhooks and webhook deliveries.

use gloo_net::http::Method;
use weir_wire::alerts::{Alert, AlertBody, MuteBody};
use weir_wire::backtest::{BacktestAnswer, BacktestBody};
use weir_wire::deferred::{DeadLetter, DeferredUse};
use weir_wire::page::Page;
use weir_wire::webhooks::{Delivery, IssuedWebhook, RotateWebhook, Webhook, WebhookBody};

use super::request::Call;
use super::{Answer, Api};
use crate::browser::encode_component;

impl Api {
    /// All alerts of a tenant; 200 is the maximum that a tenant can have.
    pub fn alerts(self, tenant: &str) -> Answer<Vec<Alert>> {
        self.list(format!("/tenants/{tenant}/alerts?limit=200"))
    }

    /// All webhooks of a tenant; 200 is the maximum that a tenant can have.
    pub fn webhooks(self, tenant: &str) -> Answer<Vec<Webhook>> {
        self.list(format!("/tenants/{tenant}/webhooks?limit=200"))
    }

    /// Creates an alert, or replaces the alert with this id.
    pub fn save_alert(self, tenant: &str, id: Option<&str>, alert: &AlertBody) -> Answer<Alert> {
        match id {
            None => self.create(format!("/tenants/{tenant}/alerts"), alert),
            Some(id) => {
                let path = format!("/tenants/{tenant}/alerts/{id}");
                self.call(Call::new(Method::PUT, path).body(alert))
            }
        }
    }

    pub fn delete_alert(self, tenant: &str, id: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/alerts/{id}")))
    }

    /// Mutes an alert for a time; 0 ends that.
    pub fn mute_alert(self, tenant: &str, id: &str, for_s: u32) -> Answer<Alert> {
        self.create(format!("/tenants/{tenant}/alerts/{id}/mute"), &MuteBody { for_s })
    }

    /// When an alert would have fired. Nothing is sent or stored.
    pub fn backtest(self, tenant: &str, body: &BacktestBody) -> Answer<BacktestAnswer> {
        self.create(format!("/tenants/{tenant}/alerts/backtest"), body)
    }

    pub fn create_webhook(self, tenant: &str, webhook: &WebhookBody) -> Answer<IssuedWebhook> {
        self.create(format!("/tenants/{tenant}/webhooks"), webhook)
    }

    pub fn change_webhook(self, tenant: &str, id: &str, webhook: &WebhookBody) -> Answer<Webhook> {
        let path = format!("/tenants/{tenant}/webhooks/{id}");
        self.call(Call::new(Method::PUT, path).body(webhook))
    }

    /// Issues a new secret for a webhook; the previous one also signs for `overlap_s` seconds.
    pub fn rotate_webhook(self, tenant: &str, id: &str, overlap_s: u32) -> Answer<IssuedWebhook> {
        let path = format!("/tenants/{tenant}/webhooks/{id}/rotate");
        self.create(path, &RotateWebhook { overlap_s })
    }

    pub fn delete_webhook(self, tenant: &str, id: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/webhooks/{id}")))
    }

    pub fn test_webhook(self, tenant: &str, id: &str) -> Answer<Delivery> {
        let path = format!("/tenants/{tenant}/webhooks/{id}/test");
        self.call(Call::new(Method::POST, path))
    }

    /// One page of a webhook's deliveries, newest first.
    pub fn deliveries(
        self,
        tenant: &str,
        id: &str,
        cursor: Option<&str>,
    ) -> Answer<Page<Delivery>> {
        let from = cursor
            .map(|cursor| format!("&cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/webhooks/{id}/deliveries?limit=20{from}"))
    }

    pub fn resend_delivery(self, tenant: &str, id: &str, delivery: &str) -> Answer<Delivery> {
        let path = format!("/tenants/{tenant}/webhooks/{id}/deliveries/{delivery}/retry");
        self.call(Call::new(Method::POST, path))
    }

    /// The use of the queue of deferred jobs.
    pub fn deferred(self, tenant: &str) -> Answer<DeferredUse> {
        self.read(format!("/tenants/{tenant}/deferred"))
    }

    /// One page of the dead letters, newest first.
    pub fn dead_letters(self, tenant: &str, cursor: Option<&str>) -> Answer<Page<DeadLetter>> {
        let query = cursor.map_or_else(
            || "20".to_owned(),
            |cursor| format!("200&cursor={}", encode_component(cursor)),
        );
        self.read(format!("/tenants/{tenant}/deferred/failed?limit={query}"))
    }

    pub fn retry_deferred(self, tenant: &str, id: &str) -> Answer<()> {
        self.call(Call::new(Method::POST, format!("/tenants/{tenant}/deferred/{id}/retry")))
    }

    pub fn delete_deferred(self, tenant: &str, id: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/deferred/{id}")))
    }
}
