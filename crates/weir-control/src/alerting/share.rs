//! The share of denied checks over whole minutes until now.

use weir_store::{AlertRow, Resolution, Scope};

use crate::alerting::denial_share::DenialShare;
use crate::alerting::finding::Finding;
use crate::alerting::message::{AlertName, RuleName, ShareReached, WebhookMessage};
use crate::error::ControlError;
use crate::state::ControlState;

/// The finding, if the share is reached. It is announced once per window.
pub(super) async fn findings(
    control: &ControlState,
    alert: &AlertRow,
) -> Result<Vec<Finding>, ControlError> {
    let Some(share) = DenialShare::of(&alert.condition) else { return Ok(Vec::new()) };
    let now = control.clock.now();
    let (from, to) = share.window(now);
    let filter = share.filter(alert.tenant_id);
    let mut tx = control.store.begin("alerts.share", Scope::Tenant(alert.tenant_id)).await?;
    let counted = tx.tallies().series(&filter, &[from, to], Resolution::Minute).await?;
    let rule = match filter.rule_id {
        Some(id) => tx.rules().find(alert.tenant_id, id).await?,
        None => None,
    };
    let Some(counts) = counted.counts.first() else { return Ok(Vec::new()) };
    let checks = share.checks(counts);
    if !share.is_reached(checks) {
        return Ok(Vec::new());
    }
    let message = WebhookMessage::DenialShare(ShareReached {
        alert: AlertName::of(alert),
        rule: rule.as_ref().map(RuleName::of),
        namespace: filter.namespaces.into_iter().flatten().next(),
        denied: checks.denied,
        would_deny: checks.denied - counts.denied.min(checks.denied),
        checks: checks.all,
        share_percent: share.share_percent,
        window_s: share.window_s,
        from,
        to: now,
    });
    let mark = format!("share {} {}", share.share_percent, share.window_s);
    Ok(vec![Finding { marks: vec![mark], expires_at: share.silent_until(now), message }])
}
