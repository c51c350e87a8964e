//! The table of alerts.

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::webhooks::Webhook;

use super::state::AlertsState;
use crate::api::Api;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::require_role::RequireRole;
use crate::components::rule_picker::Rules;
use crate::components::submit::SubmitAction;
use crate::components::time::RelativeTime;
use crate::model::alert_labels::sentence;
use crate::model::rule_choice::name;
use crate::pages::shell::TenantId;

pub(super) fn alert_table(
    alerts: Vec<Alert>,
    webhooks: &[Webhook],
    rules: Rules,
    state: AlertsState,
) -> AnyView {
    if alerts.is_empty() {
        return view! {
            <Empty title="No alerts yet"><p>"Create one above. Alerts are evaluated every 30 seconds."</p></Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = alerts
        .into_iter()
        .map(|alert| {
            let rule = alert.body.rule_id.as_ref().and_then(|id| rules.rule(id));
            let says = sentence(&alert.body, rule.as_ref().map(name).as_deref());
            let webhook_name = webhooks.iter().find(|webhook| webhook.id == alert.body.webhook_id);
            let webhook_name = webhook_name.map(|webhook| webhook.name.clone()).unwrap_or_default();
            row(alert, says, webhook_name, state)
        })
        .collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Alerts">
            <table>
                <thead><tr>
                    <th>"Name"</th><th>"Preview"</th><th>"Sends to"</th><th>"Last fired"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(alert: Alert, says: String, webhook_name: String, state: AlertsState) -> AnyView {
    let name = alert.body.name.clone();
    let off = (!alert.body.enabled)
        .then(|| view! { <div><span class="badge badge-off">"Off"</span></div> });
    let fired = match alert.fired_at {
        Some(at) => view! { <RelativeTime at /> }.into_any(),
        None => "Never".into_any(),
    };
    let label = format!("Edit {name}");
    let id = alert.id.clone();
    let edit = move |_| state.editing.set(Some(alert.clone()));
    view! {
        <tr>
            <td class="name">{name.clone()}{off}</td>
            <td class="text-cell">{says}</td>
            <td>{webhook_name}</td>
            <td>{fired}</td>
            <td class="number">
                <RequireRole role=Role::Editor reason_shown=true>
                    <button type="button" class="button plain-button" aria-label=label on:click=edit>"Edit"</button>
                    <Delete id name state />
                </RequireRole>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Delete(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, action) = (RwSignal::new(false), SubmitAction::new());
    let delete = Callback::new(move |()| {
        let id = id.clone();
        action.run(async move { api.delete_alert(&tenant.now(), &id).await }, move |()| {
            state.editing.try_set(None);
            state.changed.run(());
        });
    });
    let label = format!("Delete {name}");
    view! {
        <button type="button" class="button plain-button" aria-label=label on:click=move |_| open.set(true)>"Delete"</button>
        <SubmitProblem problem=action.problem />
        <ConfirmByName
            title="Delete this alert?"
            consequence="The alert stops firing. Past deliveries stay in the webhook's log."
            name
            action="Delete alert"
            open
            on_confirm=delete
        />
    }
}
