//! Alerts as they are written in files: by the names of their webhooks and rules.

use std::collections::BTreeMap;

use anyhow::bail;
use weir_wire::alerts::Alert;
use weir_wire::apply::ApplyAlert;
use weir_wire::rules::RuleAnswer;
use weir_wire::webhooks::Webhook;

/// The alerts whose rules are among these. The URL of a webhook can be a secret, so its name has to identify it.
pub fn wanted(
    alerts: Vec<Alert>,
    webhooks: &[Webhook],
    rules: &[RuleAnswer],
) -> anyhow::Result<Vec<ApplyAlert>> {
    let mut wanted = Vec::new();
    for alert in alerts {
        let rule = alert.body.rule_id.as_ref().map(|id| rules.iter().find(|rule| rule.id == *id));
        let rule = match rule {
            None => None,
            Some(Some(answer)) => Some((answer.rule.namespace.clone(), answer.rule.name.clone())),
            Some(None) => continue,
        };
        let mut names = Vec::new();
        for id in &alert.body.webhook_ids {
            let webhook = webhooks.iter().find(|webhook| webhook.id == *id);
            let name = webhook.map_or_else(String::new, |webhook| webhook.name.clone());
            if webhooks.iter().filter(|other| other.name == name).count() != 1 {
                bail!(
                    "the alert `{}` is sent to one of several webhooks with the name `{name}`; give them different names, or use --without-alerts",
                    alert.body.name
                );
            }
            names.push(name);
        }
        wanted.push(ApplyAlert::of(alert.body, names, rule));
    }
    Ok(wanted)
}

/// The alerts in the order of their names, which have to be different.
pub fn in_order(alerts: Vec<ApplyAlert>) -> anyhow::Result<Vec<ApplyAlert>> {
    let mut by_name = BTreeMap::new();
    for alert in alerts {
        if let Some(twin) = by_name.insert(alert.name.clone(), alert) {
            bail!(
                "several alerts have the name `{}`; give them different names, or use --set or --without-alerts",
                twin.name
            );
        }
    }
    Ok(by_name.into_values().collect())
}
