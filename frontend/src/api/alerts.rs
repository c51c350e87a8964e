//! Alerts, webhooks and webhook deliveries.

use gloo_net::http::Method;
use weir_wire::alerts::{Alert, AlertBody};
use weir_wire::backtest::{BacktestAnswer, BacktestBody};
use weir_wire::deferred::{DeadLetter, DeferredUse};
use weir_wire::page::Page;
use weir_wire::webhooks::{Delivery, IssuedWebhook, RotateWebhook, Webhook, WebhookBody};

use super::request::Call;
use super::{Api, Problem};
use crate::browser::encode_component;

impl Api {
    /// All alerts of a tenant; 200 is the maximum that a tenant can have.
    pub async fn alerts(self, tenant: &str) -> Result<Vec<Alert>, Problem> {
        let page: Page<Alert> = self.read(format!("/tenants/{tenant}/alerts?limit=200")).await?;
        Ok(page.data)
    }

    /// All webhooks of a tenant; 200 is the maximum that a tenant can have.
    pub async fn webhooks(self, tenant: &str) -> Result<Vec<Webhook>, Problem> {
        let page: Page<Webhook> =
            self.read(format!("/tenants/{tenant}/webhooks?limit=200")).await?;
        Ok(page.data)
    }

    /// Creates an alert, or replaces the alert with this id.
    pub async fn save_alert(
        self,
        tenant: &str,
        id: Option<&str>,
        alert: &AlertBody,
    ) -> Result<Alert, Problem> {
        match id {
            None => self.create(format!("/tenants/{tenant}/alerts"), alert).await,
            Some(id) => {
                let path = format!("/tenants/{tenant}/alerts/{id}");
                self.call(Call::new(Method::PUT, path).body(alert)).await
            }
        }
    }

    pub async fn delete_alert(self, tenant: &str, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/alerts/{id}"))).await
    }

    /// When an alert would have fired. Nothing is sent or stored.
    pub async fn backtest(
        self,
        tenant: &str,
        body: &BacktestBody,
    ) -> Result<BacktestAnswer, Problem> {
        self.create(format!("/tenants/{tenant}/alerts/backtest"), body).await
    }

    pub async fn create_webhook(
        self,
        tenant: &str,
        webhook: &WebhookBody,
    ) -> Result<IssuedWebhook, Problem> {
        self.create(format!("/tenants/{tenant}/webhooks"), webhook).await
    }

    pub async fn change_webhook(
        self,
        tenant: &str,
        id: &str,
        webhook: &WebhookBody,
    ) -> Result<Webhook, Problem> {
        let path = format!("/tenants/{tenant}/webhooks/{id}");
        self.call(Call::new(Method::PUT, path).body(webhook)).await
    }

    /// Issues a new secret for a webhook; the previous one also signs for `overlap_s` seconds.
    pub async fn rotate_webhook(
        self,
        tenant: &str,
        id: &str,
        overlap_s: u32,
    ) -> Result<IssuedWebhook, Problem> {
        let path = format!("/tenants/{tenant}/webhooks/{id}/rotate");
        self.create(path, &RotateWebhook { overlap_s }).await
    }

    pub async fn delete_webhook(self, tenant: &str, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/webhooks/{id}"))).await
    }

    pub async fn test_webhook(self, tenant: &str, id: &str) -> Result<Delivery, Problem> {
        let path = format!("/tenants/{tenant}/webhooks/{id}/test");
        self.call(Call::new(Method::POST, path)).await
    }

    /// One page of a webhook's deliveries, newest first.
    pub async fn deliveries(
        self,
        tenant: &str,
        id: &str,
        cursor: Option<&str>,
    ) -> Result<Page<Delivery>, Problem> {
        let from = cursor
            .map(|cursor| format!("&cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/webhooks/{id}/deliveries?limit=20{from}")).await
    }

    pub async fn resend_delivery(
        self,
        tenant: &str,
        id: &str,
        delivery: &str,
    ) -> Result<Delivery, Problem> {
        let path = format!("/tenants/{tenant}/webhooks/{id}/deliveries/{delivery}/retry");
        self.call(Call::new(Method::POST, path)).await
    }

    /// The use of the queue of deferred jobs.
    pub async fn deferred(self, tenant: &str) -> Result<DeferredUse, Problem> {
        self.read(format!("/tenants/{tenant}/deferred")).await
    }

    /// One page of the dead letters, newest first.
    pub async fn dead_letters(
        self,
        tenant: &str,
        cursor: Option<&str>,
    ) -> Result<Page<DeadLetter>, Problem> {
        let from = cursor
            .map(|cursor| format!("&cursor={}", encode_component(cursor)))
            .unwrap_or_default();
        self.read(format!("/tenants/{tenant}/deferred/failed?limit=20{from}")).await
    }

    pub async fn retry_deferred(self, tenant: &str, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::POST, format!("/tenants/{tenant}/deferred/{id}/retry"))).await
    }

    pub async fn delete_deferred(self, tenant: &str, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/deferred/{id}"))).await
    }
}
