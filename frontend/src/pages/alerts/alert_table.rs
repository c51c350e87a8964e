//! The table of alerts.

use futures_util::FutureExt as _;
use futures_util::future::ready;
use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;
use weir_wire::webhooks::Webhook;

use super::state::AlertsState;
use super::webhook_form::kind_label;
use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::csv_export::ExportCsv;
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::owner::files_mark;
use crate::components::require_role::RequireRole;
use crate::components::rule_picker::Rules;
use crate::components::submit::SubmitAction;
use crate::components::table::{ConfirmedButton, NameCell, ObjectTable, RowButton, time_or_never};
use crate::components::time::{Clock, ExactTime};
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
    let mut lines = Vec::new();
    let rows: Vec<_> = alerts
        .into_iter()
        .map(|alert| {
            let rule = alert.body.rule_id.as_ref().and_then(|id| rules.rule(id));
            let says = sentence(&alert.body, rule.as_ref().map(name).as_deref());
            let sends_to =
                webhooks.iter().filter(|webhook| alert.body.webhook_ids.contains(&webhook.id));
            let sends_to =
                sends_to.map(|webhook| format!("{} ({})", webhook.name, kind_label(webhook.kind)));
            let sends_to = sends_to.collect::<Vec<_>>().join(", ");
            let fired = alert.fired_at.map(DateTime::text).unwrap_or_default();
            lines.push(vec![alert.body.name.clone(), says.clone(), sends_to.clone(), fired]);
            row(alert, says, sends_to, state)
        })
        .collect();
    let lines = Callback::new(move |()| ready(Ok(lines.clone())).boxed_local());
    view! {
        <ObjectTable label="Alerts" columns=COLUMNS>{rows}</ObjectTable>
        <div class="actions"><ExportCsv name="alerts".to_owned() titles=COLUMNS rows=lines note="All alerts" /></div>
    }
    .into_any()
}

const COLUMNS: &[&str] = &["Name", "Preview", "Sends to", "Last fired"];

fn row(alert: Alert, says: String, sends_to: String, state: AlertsState) -> AnyView {
    let (id, name) = (alert.id.clone(), alert.body.name.clone());
    let (enabled, set) = (alert.body.enabled, alert.managed_by.clone());
    let files = files_mark(set.as_ref(), alert.edited);
    let muted_until = alert.muted_until;
    let muted = (id.clone(), name.clone());
    let edit = move |()| state.edit(Some(alert.clone()));
    view! {
        <tr>
            <NameCell name=name.clone() enabled />
            <td class="text-cell">{says}{files}</td>
            <td>{sends_to}</td>
            <td class="nowrap"><LastFired id=id.clone() state /><Muted until=muted_until /></td>
            <td class="number">
                <RequireRole role=Role::Editor reason_shown=true>
                    <RowButton text="Edit" label=format!("Edit {name}") on_press=edit />
                    <Mute id=muted.0.clone() name=muted.1.clone() until=muted_until state />
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

/// Until when the alert is muted, while it is.
#[component]
fn Muted(until: Option<DateTime>) -> impl IntoView {
    let clock = expect_context::<Clock>();
    move || {
        let at = until.filter(|at| at.0.as_millis() > clock.now_ms())?;
        Some(view! { <div class="muted">"Muted until "<ExactTime at /></div> })
    }
}

/// Mutes the alert for an hour, or ends that.
#[component]
fn Mute(id: String, name: String, until: Option<DateTime>, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (clock, action) = (expect_context::<Clock>(), SubmitAction::new());
    let muted = Memo::new(move |_| until.is_some_and(|at| at.0.as_millis() > clock.now_ms()));
    let mute = Callback::new(move |()| {
        let for_s = if muted.get_untracked() { 0 } else { MUTE_S };
        action.run(api.mute_alert(&tenant.now(), &id, for_s), move |_| state.changed.run(()));
    });
    move || {
        let (text, label) = if muted.get() {
            ("Unmute", format!("Unmute {name}"))
        } else {
            ("Mute 1 h", format!("Mute 1 h: {name}"))
        };
        view! {
            <RowButton text label disabled=action.busy on_press=move |()| mute.run(()) />
            <SubmitProblem problem=action.problem />
        }
    }
}

/// An hour.
const MUTE_S: u32 = 3600;

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
