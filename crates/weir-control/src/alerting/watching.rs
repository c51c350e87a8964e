//! Evaluates alerts periodically.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_domain::alert::Condition;
use weir_domain::id::{AlertId, TenantId};
use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;
use weir_store::{AlertRow, NewFirings, Scope, StoreError, WebhookRow};

use crate::alerting::ending::announce_end;
use crate::alerting::finding::Finding;
use crate::alerting::message::WebhookMessage;
use crate::alerting::{outgoing, quota, share};
use crate::error::ControlError;
use crate::meters::BackgroundTask;
use crate::state::ControlState;

/// The interval between two queries for due alerts.
const EVERY: Duration = Duration::from_secs(5);
/// The time between two evaluations of an alert, in seconds.
const EVALUATE_EVERY_S: u32 = 30;
/// The most alerts that are taken at once. They are evaluated one after the other, so that they do not slow requests down.
const AT_ONCE: u32 = 50;
/// The most findings that one evaluation of an alert announces if it has a webhook that gets a message for each. The next evaluations
/// announce the rest.
pub(super) const FINDINGS_AT_ONCE: usize = 20;

/// Evaluates alerts until `stop`.
pub async fn watch(control: ControlState, stop: CancellationToken) {
    control.meters().succeeded(BackgroundTask::Alerts, control.clock.now());
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        while !stop.is_cancelled() {
            match evaluate_due(&control).await {
                Ok(evaluated) if evaluated == AT_ONCE as usize => {}
                Ok(_) => {
                    control.meters().succeeded(BackgroundTask::Alerts, control.clock.now());
                    break;
                }
                Err(error) => {
                    control.meters().evaluation_failed();
                    let reason = error.reason();
                    tracing::warn!(reason, "could not query due alerts; will retry");
                    break;
                }
            }
        }
    }
}

/// Evaluates some of the due alerts. Returns their number.
pub(crate) async fn evaluate_due(control: &ControlState) -> Result<usize, StoreError> {
    let mut tx = control.store.begin("alerts.take", Scope::Service).await?;
    let due = tx.alerts().take(control.clock.now(), EVALUATE_EVERY_S, AT_ONCE).await?;
    tx.commit().await?;
    for &(tenant_id, id) in &due {
        if let Err(error) = evaluate(control, tenant_id, id).await {
            control.meters().evaluation_failed();
            tracing::warn!(?error, alert = %id, "could not evaluate an alert; will retry");
        }
    }
    Ok(due.len())
}

async fn evaluate(
    control: &ControlState,
    tenant_id: TenantId,
    id: AlertId,
) -> Result<(), ControlError> {
    let mut tx = control.store.begin("alerts.evaluate", Scope::Tenant(tenant_id)).await?;
    let Some(alert) = tx.alerts().find(tenant_id, id).await? else { return Ok(()) };
    let mut webhooks = Vec::with_capacity(alert.webhook_ids.len());
    for id in &alert.webhook_ids {
        webhooks.extend(tx.webhooks().find(tenant_id, *id).await?);
    }
    drop(tx);
    let findings = match &alert.condition {
        _ if !alert.enabled => Vec::new(),
        Condition::Quota { rule_id, customer, thresholds_percent } => {
            let watched = (*rule_id, customer.as_deref());
            quota::findings(control, &alert, watched, thresholds_percent).await?
        }
        Condition::DenialShare { .. } => share::findings(control, &alert).await?,
    };
    if findings.is_empty() && alert.firing_since.is_some() {
        return announce_end(control, &alert, &webhooks).await;
    }
    if alert.muted_until.is_some_and(|until| until > control.clock.now()) {
        return Ok(());
    }
    let is_each =
        |kind: WebhookKind| matches!(kind, WebhookKind::Standard | WebhookKind::CustomerEmail);
    let has_each = webhooks.iter().any(|webhook| is_each(webhook.kind));
    let at_once = if has_each { FINDINGS_AT_ONCE } else { findings.len().max(1) };
    for findings in findings.chunks(at_once) {
        if announce(control, &alert, &webhooks, findings).await? > 0 {
            break;
        }
    }
    Ok(())
}

/// Writes new findings to the outbox, in the transaction that records them as announced. Returns their number.
///
/// People who read the messages get one message about all of them.
async fn announce(
    control: &ControlState,
    alert: &AlertRow,
    webhooks: &[WebhookRow],
    findings: &[Finding],
) -> Result<usize, ControlError> {
    let now = control.clock.now();
    let marks = |finding: &Finding| -> Vec<(String, Timestamp)> {
        finding.marks.iter().map(|mark| (mark.clone(), finding.expires_at)).collect()
    };
    let firings = NewFirings {
        tenant_id: alert.tenant_id,
        alert_id: alert.id,
        marks: findings.iter().flat_map(marks).collect(),
        now,
    };
    let mut tx = control.store.begin("alerts.announce", Scope::Tenant(alert.tenant_id)).await?;
    let fired = tx.alerts().fire(&firings).await?;
    // The last mark is announced; those before it are skipped.
    let is_new = |finding: &&Finding| finding.marks.last().is_some_and(|mark| fired.contains(mark));
    let new: Vec<&WebhookMessage> =
        findings.iter().filter(is_new).map(|finding| &finding.message).collect();
    let to_customers = outgoing::to_customers(control, &mut tx, webhooks, &new, now).await?;
    for delivery in
        outgoing::deliveries_of_all(control, webhooks, &new, now).iter().chain(&to_customers)
    {
        tx.deliveries().insert(delivery).await?;
    }
    tx.commit().await?;
    control.meters().alerted(alert.condition.kind(), new.len());
    Ok(new.len())
}
