//! The table of alerts.

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::webhooks::Webhook;

use super::state::AlertsState;
use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::feedback::Empty;
use crate::components::owner::files_mark;
use crate::components::require_role::RequireRole;
use crate::components::rule_picker::Rules;
use crate::components::submit::SubmitAction;
use crate::components::table::{ConfirmedButton, NameCell, ObjectTable, RowButton, time_or_never};
use crate::components::time::Clock;
use crate::model::alert_labels::{fired_recently, sentence};
use crate::model::owners;
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
            <Empty title="No alerts yet"><p>"Alerts are evaluated every 30 seconds."</p></Empty>
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
        <ObjectTable label="Alerts" columns=&["Name", "Preview", "Sends to", "Last fired"]>{rows}</ObjectTable>
    }
    .into_any()
}

fn row(alert: Alert, says: String, webhook_name: String, state: AlertsState) -> AnyView {
    let (id, name) = (alert.id.clone(), alert.body.name.clone());
    let (enabled, set) = (alert.body.enabled, alert.managed_by.clone());
    let files = files_mark(set.as_ref(), alert.edited);
    let edit = move |()| state.edit(Some(alert.clone()));
    view! {
        <tr>
            <NameCell name=name.clone() enabled />
            <td class="text-cell">{says}{files}</td>
            <td>{webhook_name}</td>
            <td class="nowrap"><LastFired id=id.clone() state /></td>
            <td class="number">
                <RequireRole role=Role::Editor reason_shown=true>
                    <RowButton text="Edit" label=format!("Edit {name}") on_press=edit />
                    <Delete id name set state />
                </RequireRole>
            </td>
        </tr>
    }
    .into_any()
}

/// The time of the last announcement, which stands out for an hour.
#[component]
fn LastFired(id: String, state: AlertsState) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let at = Memo::new(move |_| state.fired.with(|fired| fired.get(&id).copied()));
    let recent = Memo::new(move |_| at.get().is_some_and(|at| fired_recently(at, clock.now_ms())));
    view! {
        <Show when=move || recent.get()><span class="badge badge-denied">"Fired"</span>" "</Show>
        {move || time_or_never(at.get())}
    }
}

#[component]
fn Delete(id: String, name: String, set: Option<String>, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let delete = Callback::new(move |()| {
        action.run(api.delete_alert(&tenant.now(), &id), move |()| {
            state.changed.run(());
        });
    });
    let owner = owners::sentence("alert", "alerts", &[set]).unwrap_or_default();
    let consequence =
        format!("The alert stops firing. Past deliveries stay in the webhook's log. {owner}");
    view! {
        <ConfirmedButton
            text="Delete"
            name
            title="Delete this alert?"
            consequence
            confirm="Delete alert"
            action
            on_confirm=delete
        />
    }
}
