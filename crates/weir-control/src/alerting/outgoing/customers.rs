//! E-mail to the customers that a quota alert is about, in words for them: nothing of other customers, and no name of an alert.

use std::collections::HashMap;

use serde_json::json;
use weir_domain::customers::customer_key;
use weir_domain::id::DeliveryId;
use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;
use weir_store::{NewDelivery, Tx, WebhookRow};
use weir_wire::time::DateTime;

use crate::alerting::message::{QuotaReached, RuleName, WebhookMessage};
use crate::alerting::notice::used_percent;
use crate::customers::view::stored;
use crate::error::ControlError;
use crate::mails::unlinked;
use crate::state::ControlState;

/// The deliveries to customers: those of a rule that counts by the customer attribute alone and that customers can see, if the
/// assignment in force has an address.
pub(in crate::alerting) async fn to_customers(
    control: &ControlState,
    tx: &mut Tx,
    webhooks: &[WebhookRow],
    messages: &[&WebhookMessage],
    now: Timestamp,
) -> Result<Vec<NewDelivery>, ControlError> {
    let is_of_customers = |webhook: &&WebhookRow| webhook.kind == WebhookKind::CustomerEmail;
    let webhooks: Vec<_> = webhooks.iter().filter(is_of_customers).collect();
    let (Some(first), Some(message)) = (webhooks.first(), messages.first()) else {
        return Ok(Vec::new());
    };
    let (tenant_id, kind) = (first.tenant_id, message.kind());
    let Some(tenant) = tx.tenants().find(tenant_id).await? else { return Ok(Vec::new()) };
    let Some(attribute) = tenant.customer_attribute else { return Ok(Vec::new()) };
    let view = stored(tx.tenants().customer_view(tenant_id).await?)?.view;
    let is_hidden = |rule: &RuleName| {
        let mut hidden = view.hidden_rules.iter();
        hidden.any(|hidden| hidden.namespace == rule.namespace && hidden.rule == rule.name)
    };
    let reached: Vec<_> = messages
        .iter()
        .filter_map(|message| message.quota())
        .filter(|one| one.subject.len() == 1 && !is_hidden(&one.rule))
        .filter_map(|one| Some((one, one.subject.get(&attribute)?)))
        .collect();
    let keys: Vec<_> = reached.iter().map(|(_, of)| customer_key(&attribute, of)).collect();
    let rows = tx.assignments().of_customers(tenant_id, &keys, now).await?;
    let present = rows.into_iter().filter(|row| row.starts_at <= now);
    let emails: HashMap<_, _> =
        present.filter_map(|row| Some((row.customer, row.email?))).collect();
    let title = view.title.as_deref().unwrap_or(&tenant.name);
    let mut deliveries = Vec::new();
    for (one, customer) in reached {
        let Some(to) = emails.get(customer) else { continue };
        let (subject, text) = words(one, customer, title);
        let payload = json!({ "to": to, "subject": subject, "text": text }).to_string();
        deliveries.extend(webhooks.iter().map(|webhook| NewDelivery {
            id: control.id(DeliveryId::new),
            tenant_id,
            webhook_id: webhook.id,
            kind,
            payload: payload.clone(),
            now,
        }));
    }
    Ok(deliveries)
}

/// The subject and the text. Both name what callers and members chose, which must not become a link.
fn words(one: &QuotaReached, customer: &str, title: &str) -> (String, String) {
    let [customer, title, rule] = [customer, title, &one.rule.name].map(unlinked);
    let QuotaReached { used, limit, period, .. } = one;
    let percent = used_percent(one);
    let of = match one.between {
        Some(_) => format!("{used} of {limit} units of this {period}"),
        None => format!("{used} of {limit} units"),
    };
    let renews = one
        .between
        .map_or(String::new(), |(_, to)| format!("They renew at {}.\r\n\r\n", DateTime(to).text()));
    let subject = format!("{title}: {percent} % of {rule} is used");
    let text = format!(
        "{customer} has used {percent} % of {rule} at {title}: {of}.\r\n\r\n\
         {renews}\
         {title} sends this message to the address that it has for {customer}. Ask {title} to change or remove the address.\r\n"
    );
    (subject, text)
}
