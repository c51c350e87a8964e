//! Announces that the condition of an alert ended.
//!
//! It ended if an evaluation finds nothing and everything that was announced is over: the window of a share, or the periods of
//! quotas. A subject that was not checked in the last hour is not found, so a finding less is no end.

use weir_domain::alert::{Condition, Watched};
use weir_domain::webhook::WebhookKind;
use weir_store::{AlertRow, Scope, WebhookRow};

use crate::alerting::message::{AlertName, Resolved, RuleName, WebhookMessage};
use crate::alerting::{notice, outgoing};
use crate::error::ControlError;
use crate::state::ControlState;

/// Writes the end of a firing alert to the outbox, in the transaction that records it.
pub(super) async fn announce_end(
    control: &ControlState,
    alert: &AlertRow,
    webhooks: &[WebhookRow],
) -> Result<(), ControlError> {
    let now = control.clock.now();
    let tenant_id = alert.tenant_id;
    let mut tx = control.store.begin("alerts.end", Scope::Tenant(tenant_id)).await?;
    let Some(since) = tx.alerts().end(tenant_id, alert.id, now).await? else { return Ok(()) };
    let (rule_id, namespace) = match &alert.condition {
        Condition::Quota { rule_id, .. }
        | Condition::DenialShare { of: Watched::Rule(rule_id), .. } => (Some(*rule_id), None),
        Condition::DenialShare { of: Watched::Namespace(name), .. } => (None, Some(name.clone())),
        Condition::DenialShare { of: Watched::Everything, .. } => (None, None),
    };
    let rule = match rule_id {
        Some(id) => tx.rules().find(tenant_id, id).await?,
        None => None,
    };
    let alert_name = AlertName::of(alert);
    let key = notice::key(&alert_name);
    let message = WebhookMessage::Resolved(Resolved {
        alert: alert_name,
        rule: rule.as_ref().map(RuleName::of),
        namespace,
        since,
        at: now,
        disabled: !alert.enabled,
    });
    for webhook in webhooks.iter().filter(|webhook| webhook.kind == WebhookKind::Pagerduty) {
        // A retry after the end would open the incident again.
        tx.deliveries().supersede(tenant_id, webhook.id, &format!("\"{key}\"")).await?;
    }
    for delivery in outgoing::deliveries_of_all(control, webhooks, &[&message], now) {
        tx.deliveries().insert(&delivery).await?;
    }
    tx.commit().await?;
    Ok(())
}
