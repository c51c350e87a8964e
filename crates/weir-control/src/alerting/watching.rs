//! Looks at each alert now and then.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_domain::alert::Condition;
use weir_domain::id::{AlertId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{AlertRow, NewFirings, Scope, StoreError};

use crate::alerting::finding::Finding;
use crate::alerting::{quota, share};
use crate::error::ControlError;
use crate::meters::BackgroundTask;
use crate::state::ControlState;

/// How often it is asked which alerts are due.
const EVERY: Duration = Duration::from_secs(5);
/// How long an alert is left alone.
const LOOK_EVERY_S: u32 = 30;
/// So many are taken at once; one after the other, so that they do not keep people waiting.
const AT_ONCE: u32 = 50;
/// Told at most so much by one alert in one look; the rest is told in the next ones.
pub(super) const TOLD_AT_ONCE: usize = 20;

/// Looks until told to stop.
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
            match look_at_due(&control).await {
                Ok(looked) if looked == AT_ONCE as usize => {}
                Ok(_) => {
                    control.meters().succeeded(BackgroundTask::Alerts, control.clock.now());
                    break;
                }
                Err(error) => {
                    control.meters().look_failed();
                    let reason = error.reason();
                    tracing::warn!(
                        reason,
                        "could not look which alerts are due; it is tried again"
                    );
                    break;
                }
            }
        }
    }
}

/// Looks at some of the alerts that are due; how many.
pub(crate) async fn look_at_due(control: &ControlState) -> Result<usize, StoreError> {
    let mut tx = control.store.begin("alerts.take", Scope::Service).await?;
    let due = tx.alerts().take(control.clock.now(), LOOK_EVERY_S, AT_ONCE).await?;
    tx.commit().await?;
    for &(tenant_id, id) in &due {
        if let Err(error) = look(control, tenant_id, id).await {
            control.meters().look_failed();
            tracing::warn!(?error, alert = %id, "could not look at an alert; it is tried again");
        }
    }
    Ok(due.len())
}

async fn look(
    control: &ControlState,
    tenant_id: TenantId,
    id: AlertId,
) -> Result<(), ControlError> {
    let mut tx = control.store.begin("alerts.look", Scope::Tenant(tenant_id)).await?;
    let Some(alert) = tx.alerts().find(tenant_id, id).await?.filter(|it| it.enabled) else {
        return Ok(());
    };
    drop(tx);
    let findings = match &alert.condition {
        Condition::Quota { rule_id, thresholds_percent } => {
            quota::findings(control, &alert, *rule_id, thresholds_percent).await?
        }
        Condition::DenialShare { .. } => share::findings(control, &alert).await?,
    };
    for findings in findings.chunks(TOLD_AT_ONCE) {
        if tell(control, &alert, findings).await? > 0 {
            break;
        }
    }
    Ok(())
}

/// Puts into the outbox what was not told yet, in the transaction that remembers it; how much.
async fn tell(
    control: &ControlState,
    alert: &AlertRow,
    findings: &[Finding],
) -> Result<usize, ControlError> {
    let now = control.clock.now();
    let marks = |it: &Finding| -> Vec<(String, Timestamp)> {
        it.marks.iter().map(|mark| (mark.clone(), it.expires_at)).collect()
    };
    let firings = NewFirings {
        tenant_id: alert.tenant_id,
        alert_id: alert.id,
        marks: findings.iter().flat_map(marks).collect(),
        now,
    };
    let mut tx = control.store.begin("alerts.tell", Scope::Tenant(alert.tenant_id)).await?;
    let fired = tx.alerts().fire(&firings).await?;
    let mut told = 0;
    // The last mark is what is told; those before it are passed over.
    for finding in findings.iter().filter(|it| it.marks.last().is_some_and(|it| fired.contains(it)))
    {
        let new = finding.told.delivery(control, alert.tenant_id, alert.webhook_id, now);
        tx.deliveries().insert(&new).await?;
        told += 1;
    }
    tx.commit().await?;
    control.meters().alerted(alert.condition.kind(), told);
    Ok(told)
}
