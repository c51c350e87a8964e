//! The alerts there are.

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::webhooks::Webhook;

use super::Desk;
use crate::api::Api;
use crate::components::act::Act;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::needs::Needs;
use crate::components::rule_picker::Rules;
use crate::components::time::When;
use crate::model::alert_words::sentence;
use crate::model::rule_choice::name;
use crate::pages::shell::TenantId;

/// The table.
pub(super) fn alert_lines(
    alerts: Vec<Alert>,
    webhooks: &[Webhook],
    rules: Rules,
    desk: Desk,
) -> AnyView {
    if alerts.is_empty() {
        return view! {
            <Empty title="No alerts yet."><p>"Create one above; it is looked at every 30 seconds."</p></Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = alerts
        .into_iter()
        .map(|alert| {
            let rule = alert.body.rule_id.as_ref().and_then(|id| rules.rule(id));
            let says = sentence(&alert.body, rule.as_ref().map(name).as_deref());
            let told = webhooks.iter().find(|it| it.id == alert.body.webhook_id);
            let told = told.map(|it| it.name.clone()).unwrap_or_default();
            line(alert, says, told, desk)
        })
        .collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Alerts">
            <table>
                <thead><tr>
                    <th>"Name"</th><th>"What it does"</th><th>"Tells"</th><th>"Last told"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn line(alert: Alert, says: String, told: String, desk: Desk) -> AnyView {
    let name = alert.body.name.clone();
    let off = (!alert.body.enabled)
        .then(|| view! { <div><span class="badge badge-off">"Off"</span></div> });
    let fired = match alert.fired_at {
        Some(at) => view! { <When at /> }.into_any(),
        None => "not yet".into_any(),
    };
    let label = format!("Edit {name}");
    let id = alert.id.clone();
    let edit = move |_| desk.editing.set(Some(alert.clone()));
    view! {
        <tr>
            <td class="name">{name.clone()}{off}</td>
            <td class="says">{says}</td>
            <td>{told}</td>
            <td>{fired}</td>
            <td class="number">
                <Needs role=Role::Editor told=true>
                    <button type="button" class="button quiet-button" aria-label=label on:click=edit>"Edit"</button>
                    <Delete id name desk />
                </Needs>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Delete(id: String, name: String, desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, act) = (RwSignal::new(false), Act::new());
    let delete = Callback::new(move |()| {
        let id = id.clone();
        act.run(async move { api.delete_alert(&tenant.now(), &id).await }, move |()| {
            desk.editing.try_set(None);
            desk.changed.run(());
        });
    });
    let label = format!("Delete {name}");
    view! {
        <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Delete"</button>
        <ActProblem problem=act.problem />
        <ConfirmByName
            title="Delete this alert?"
            consequence="Nobody is told any more. What was told stays in the webhook's log."
            name
            act="Delete alert"
            open
            on_confirm=delete
        />
    }
}
