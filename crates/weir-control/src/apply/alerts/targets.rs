//! The webhooks and rules that alerts refer to, by their names and ids.

use std::collections::BTreeSet;

use weir_domain::alert::{Condition, Watched, counts_customers, watchable};
use weir_domain::id::{RuleId, WebhookId};
use weir_store::{AlertRow, Page, RuleFilter, RuleRow, WebhookRow};
use weir_wire::alerts::{AlertBody, AlertKind};
use weir_wire::apply::{ApplyAlert, ApplyBody};
use weir_wire::problem::FieldProblem;

use crate::alerts::CheckedAlert;
use crate::change::Change;
use crate::error::ControlError;
use crate::rule_service::CheckedRule;
use crate::webhooks::create::WEBHOOKS_MAX;

/// All webhooks of the tenant, and the rules of wanted and stored alerts.
pub(super) struct Targets {
    webhooks: Vec<WebhookRow>,
    rules: Vec<RuleRow>,
    customer_attribute: Option<String>,
}

impl Targets {
    pub(super) async fn load(
        change: &mut Change,
        body: &ApplyBody,
        rows: &[AlertRow],
    ) -> Result<Self, ControlError> {
        let tenant_id = change.caller.tenant_id;
        let page = Page { limit: u32::try_from(WEBHOOKS_MAX).unwrap_or(u32::MAX), after: None };
        let webhooks = change.tx.webhooks().list(tenant_id, &page).await?.items;
        let rules = body.alerts.iter().filter_map(ApplyAlert::rule);
        let namespaces: BTreeSet<_> = rules.map(|(namespace, _)| namespace).collect();
        let namespaces: Vec<_> = namespaces.into_iter().collect();
        let mut rules = change.tx.rules().of_set(tenant_id, &namespaces, &body.set).await?;
        let ids: BTreeSet<_> = rows.iter().filter_map(|row| rule_of(&row.condition)).collect();
        let page = Page { limit: u32::try_from(ids.len()).unwrap_or(u32::MAX).max(1), after: None };
        let filter = RuleFilter { ids: Some(ids.into_iter().collect()), ..RuleFilter::default() };
        rules.extend(change.tx.rules().list(tenant_id, &filter, &page).await?.items);
        let tenant = change.tx.tenants().find(tenant_id).await?;
        let customer_attribute = tenant.and_then(|tenant| tenant.customer_attribute);
        Ok(Self { webhooks, rules, customer_attribute })
    }

    /// The alert with the ids of its webhooks and rule, or all problems of its fields.
    pub(super) fn checked(&self, wanted: &ApplyAlert) -> Result<CheckedAlert, Vec<FieldProblem>> {
        let webhook_ids: Result<Vec<_>, _> =
            wanted.webhooks.iter().map(|text| self.webhook(text)).collect();
        let rule_id = wanted.rule().map(|name| self.rule(&name, wanted.kind)).transpose();
        let condition = wanted.condition(rule_id.as_ref().ok().copied().flatten());
        let customer = match (&wanted.customer, &rule_id) {
            (Some(_), Ok(Some(id))) => self.counts_customers(*id),
            _ => Ok(()),
        };
        match (webhook_ids, rule_id, condition) {
            (Ok(webhook_ids), Ok(_), Ok(condition)) if customer.is_ok() => Ok(CheckedAlert {
                name: wanted.name.clone(),
                webhook_ids,
                enabled: wanted.enabled,
                condition,
            }),
            (webhook_ids, rule_id, condition) => {
                let problem = |field, reason| FieldProblem::new(field, reason);
                let of_webhook = webhook_ids.err().map(|reason| problem("webhooks", reason));
                let of_rule = rule_id.err().map(|reason| problem("rule", reason));
                let of_customer = customer.err().map(|reason| problem("customer", reason));
                let fields = condition.err().into_iter().flatten();
                let named = of_webhook.into_iter().chain(of_rule).chain(of_customer);
                Err(named.chain(fields).collect())
            }
        }
    }

    /// A checked alert as people write it.
    pub(super) fn shown(&self, alert: &CheckedAlert) -> ApplyAlert {
        let CheckedAlert { name, webhook_ids, enabled, condition } = alert;
        let body = AlertBody::of(name.clone(), Vec::new(), *enabled, condition);
        let webhooks = webhook_ids.iter().map(|id| self.name_of(*id)).collect();
        let rule = rule_of(condition).and_then(|id| self.rules.iter().find(|row| row.id == id));
        let rule = rule.map(|row| (row.namespace.clone(), row.name.clone()));
        ApplyAlert::of(body, webhooks, rule)
    }

    /// The only webhook with this name or URL.
    fn webhook(&self, text: &str) -> Result<WebhookId, String> {
        let found =
            self.webhooks.iter().filter(|row| row.name == text || row.url.as_deref() == Some(text));
        match found.map(|row| row.id).collect::<Vec<_>>().as_slice() {
            [id] => Ok(*id),
            [] => Err(format!("names `{text}`, which no webhook has as its name or URL")),
            several => {
                let count = several.len();
                let reason = format!("names `{text}`, which {count} webhooks have");
                Err(format!("{reason}; give them different names"))
            }
        }
    }

    /// The rule with this namespace and name, if an alert of this kind can watch it.
    fn rule(&self, name: &(String, String), kind: AlertKind) -> Result<RuleId, String> {
        let is_named = |row: &&RuleRow| row.namespace == name.0 && row.name == name.1;
        let row = self.rules.iter().find(is_named);
        let row = row.ok_or("is neither a rule of the request nor a stored one")?;
        if kind == AlertKind::Quota {
            let checked =
                CheckedRule::stored(row).map_err(|_| "names a rule that cannot be read")?;
            watchable(&checked.rule)?;
        }
        Ok(row.id)
    }

    /// Refuses a rule that counts no customers.
    fn counts_customers(&self, id: RuleId) -> Result<(), String> {
        let attribute = self.customer_attribute.as_deref();
        let mut rows = self.rules.iter().filter(|row| row.id == id);
        let checked = rows.next().and_then(|row| CheckedRule::stored(row).ok());
        checked.map_or(Ok(()), |checked| Ok(counts_customers(&checked.rule, attribute)?))
    }

    /// The name of a webhook, with its id if another one has the same name.
    fn name_of(&self, id: WebhookId) -> String {
        let Some(webhook) = self.webhooks.iter().find(|row| row.id == id) else {
            return id.to_string();
        };
        let is_shared = self.webhooks.iter().any(|row| row.id != id && row.name == webhook.name);
        if is_shared { format!("{} ({id})", webhook.name) } else { webhook.name.clone() }
    }
}

fn rule_of(condition: &Condition) -> Option<RuleId> {
    match condition {
        Condition::Quota { rule_id, .. }
        | Condition::DenialShare { of: Watched::Rule(rule_id), .. } => Some(*rule_id),
        Condition::DenialShare { .. } => None,
    }
}
