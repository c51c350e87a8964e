//! The share of denied checks over whole minutes until now.

use serde_json::json;
use weir_domain::alert::{Condition, Watched, share_reached};
use weir_domain::time::Timestamp;
use weir_store::{AlertRow, Resolution, Scope, TallyFilter};
use weir_wire::time::DateTime;

use crate::alerting::finding::Finding;
use crate::alerting::message::WebhookMessage;
use crate::error::ControlError;
use crate::state::ControlState;

const MINUTE_MS: i64 = 60_000;

/// The finding, if the share is reached. It is announced once per window.
pub(super) async fn findings(
    control: &ControlState,
    alert: &AlertRow,
) -> Result<Vec<Finding>, ControlError> {
    let Condition::DenialShare { of, share_percent, window_s, checks_min } = &alert.condition
    else {
        return Ok(Vec::new());
    };
    let now = control.clock.now();
    let window_ms = i64::from(*window_s) * 1000;
    // The part of the present minute that is over is added to the whole minutes before it.
    let minute_ms = now.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
    let from = Timestamp::from_millis(minute_ms - window_ms);
    let to = Timestamp::from_millis(minute_ms + MINUTE_MS);
    let (rule_id, namespace) = match of {
        Watched::Everything => (None, None),
        Watched::Namespace(name) => (None, Some(name.clone())),
        Watched::Rule(id) => (Some(*id), None),
    };
    let filter = TallyFilter { tenant_id: alert.tenant_id, rule_id, namespace };
    let mut tx = control.store.begin("alerts.share", Scope::Tenant(alert.tenant_id)).await?;
    let counted = tx.tallies().series(&filter, &[from, to], Resolution::Minute).await?;
    let rule = match rule_id {
        Some(id) => tx.rules().find(alert.tenant_id, id).await?,
        None => None,
    };
    let Some(counts) = counted.counts.first() else { return Ok(Vec::new()) };
    // A shadow rule refuses nothing, so the checks that it would have refused count as denied. In the totals of all rules
    // they are part of the allowed checks.
    let shadow = if rule_id.is_some() { counts.shadow_denied } else { 0 };
    let denied = counts.denied + shadow;
    let checks = counts.allowed + denied;
    if !share_reached(*share_percent, *checks_min, denied, checks) {
        return Ok(Vec::new());
    }
    let message = WebhookMessage::DenialShare(json!({
        "alert": { "id": alert.id.to_string(), "name": alert.name },
        "rule": rule.map(|row| json!({
            "id": row.id.to_string(), "namespace": row.namespace, "name": row.name,
        })),
        "namespace": filter.namespace,
        "denied": denied,
        "checks": checks,
        "share_percent": share_percent,
        "from": DateTime(from),
        "to": DateTime(now),
    }));
    let mark = format!("share {share_percent} {window_s}");
    Ok(vec![Finding { marks: vec![mark], expires_at: now.plus_ms(window_ms), message }])
}
