//! The table of webhooks and their actions.

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{Webhook, WebhookBody, WebhookHealth, WebhookKind};

use super::state::AlertsState;
use super::webhook_form::{Edit, kind_label};
use crate::api::Api;
use crate::components::data_table::{Column, DataTable, table_in_url};
use crate::components::feedback::SubmitProblem;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{
    ConfirmedButton, Created, RotateButton, RowButton, named, time_or_never,
};
use crate::components::time::RelativeTime;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn WebhookTable(
    webhooks: Vec<Webhook>,
    alerts: Vec<Alert>,
    state: AlertsState,
) -> impl IntoView {
    view! {
        <DataTable
            label="Webhooks"
            nouns=("webhook", "webhooks")
            rows=Signal::stored(webhooks)
            columns=columns(alerts, state)
            id=|webhook| webhook.id.clone()
            view=table_in_url()
            empty=|| ()
        />
    }
}

fn columns(alerts: Vec<Alert>, state: AlertsState) -> Vec<Column<Webhook>> {
    let name = |webhook: &Webhook| webhook.name.clone();
    let target =
        |webhook: &Webhook| webhook.url.clone().unwrap_or_else(|| webhook.addresses.join(", "));
    let sent = move |webhook: &Webhook| sends(&alerts, &webhook.id);
    let delivered = move |webhook: &Webhook| {
        let health = state.health.with(|health| health.get(&webhook.id).cloned());
        health.and_then(|health| health.delivered_at)
    };
    vec![
        Column::new("name", "Name", name)
            .by_text(name)
            .cell(|webhook| named(webhook.name.clone(), webhook.enabled))
            .class("name"),
        Column::new("url", "Sends to", target).by_text(target).class("text-cell").cell(move |webhook| {
            view! {
                <div class="two-lines" title=target(webhook)>{kind_label(webhook.kind)}" "<code>{target(webhook)}</code></div>
            }
            .into_any()
        }),
        Column::new("alerts", "Alerts", sent.clone()).class("text-cell").cell(move |webhook| {
            view! { <div class="two-lines" title=sent(webhook)>{sent(webhook)}</div> }.into_any()
        }),
        Column::new("delivered", "Last delivered", move |webhook: &Webhook| {
            // Not tracked: new results must not render the row again, which would close its dialogs.
            untrack(|| delivered(webhook))
                .map_or_else(|| "Never".to_owned(), weir_wire::time::DateTime::text)
        })
        .by_number(move |webhook| delivered(webhook).map_or(0, |at| at.0.as_millis()))
        .cell(move |webhook| {
            let id = webhook.id.clone();
            let health = move || state.health.with(|health| health.get(&id).cloned());
            view! { <div>{move || health().map(|health| view! { <Health health /> })}</div> }
                .into_any()
        }),
        Column::new("created", "Created", |webhook: &Webhook| {
            format!("{} by {}", webhook.created_at.text(), webhook.created_by)
        })
        .by_number(|webhook| webhook.created_at.0.as_millis())
        .cell(|webhook| {
            view! { <div><Created at=webhook.created_at by=webhook.created_by.clone() /></div> }
                .into_any()
        }),
        Column::actions(move |webhook: &Webhook| actions(webhook.clone(), state))
            .class("number row-actions many-actions"),
    ]
}

/// The names of the alerts that are sent to a webhook.
fn sends(alerts: &[Alert], webhook: &str) -> String {
    let names = alerts.iter().filter(|alert| alert.body.webhook_ids.iter().any(|id| id == webhook));
    let names: Vec<_> = names.map(|alert| alert.body.name.as_str()).collect();
    if names.is_empty() { "None".to_owned() } else { names.join(", ") }
}

fn actions(webhook: Webhook, state: AlertsState) -> AnyView {
    let (id, name) = (webhook.id.clone(), webhook.name.clone());
    let (log, tested) = ((id.clone(), name.clone()), (id.clone(), name.clone()));
    let rotates = webhook.kind == WebhookKind::Standard;
    let has_test = webhook.kind != WebhookKind::CustomerEmail;
    let rotated = (id.clone(), name.clone());
    let open_log = move |()| state.log_of.set(Some(log.clone()));
    view! {
        <RowButton text="Deliveries" label=format!("Deliveries of {name}") on_press=open_log />
        {has_test.then(|| view! {
            <RequireRole role=Role::Editor reason_shown=true>
                <Test id=tested.0.clone() name=tested.1.clone() state />
            </RequireRole>
        })}
        <RequireRole role=Role::Admin reason_shown=true>
            <Edit webhook=webhook.clone() state />
            <Switch webhook state />
            {rotates.then(|| view! { <Rotate id=rotated.0.clone() name=rotated.1.clone() state /> })}
            <Delete id name state />
        </RequireRole>
    }
    .into_any()
}

/// The last success, and the failures after it.
#[component]
fn Health(health: WebhookHealth) -> impl IntoView {
    let WebhookHealth { delivered_at, failing, failing_since, error } = health;
    let failed = (failing > 0).then(|| {
        let number = if failing < FAILING_MAX { failing.to_string() } else { format!("{FAILING_MAX} or more") };
        view! {
            <div><span class="badge badge-denied">"Failing"</span></div>
            <div class="muted">{number}" not delivered"{failing_since.map(|at| view! { ", the first "<RelativeTime at /> })}</div>
            <div class="muted">{error}</div>
        }
    });
    view! { {time_or_never(delivered_at)}{failed} }
}

/// The API counts failures up to this number.
const FAILING_MAX: u64 = 100;

#[component]
fn Test(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let label = format!("Send a test event to {name}");
    let send = move |()| {
        let tested = (id.clone(), name.clone());
        action.run(api.test_webhook(&tenant.now(), &id), move |_| {
            state.log_of.try_set(Some(tested));
            state.deliveries_added.try_update(|added| *added += 1);
        });
    };
    view! {
        <RowButton text="Test" label disabled=action.busy on_press=send />
        <SubmitProblem problem=action.problem />
    }
}

#[component]
fn Switch(webhook: Webhook, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let text = if webhook.enabled { "Disable" } else { "Enable" };
    let label = format!("{text} {}", webhook.name);
    let switch = move |()| {
        let Webhook { id, name, kind, url, addresses, enabled, .. } = webhook.clone();
        let body = WebhookBody { name, kind, url, routing_key: None, addresses, enabled: !enabled };
        let work = api.change_webhook(&tenant.now(), &id, &body);
        action.run(work, move |_| state.changed.run(()));
    };
    view! {
        <RowButton text label disabled=action.busy on_press=switch />
        <SubmitProblem problem=action.problem />
    }
}

#[component]
fn Rotate(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, action) = (RwSignal::new(false), SubmitAction::with_fields(&["overlap_s"]));
    let rotate = Callback::new(move |overlap_s| {
        let work = api.rotate_webhook(&tenant.now(), &id, overlap_s);
        action.run(work, move |issued| {
            open.try_set(false);
            state.issued.try_set(Some(issued));
            state.changed.run(());
        });
    });
    view! {
        <RotateButton
            label=format!("Rotate {name}")
            submit="Rotate secret"
            note="The new secret is shown only once."
            hint="The time needed to update the receiver"
            open
            action
            on_rotate=rotate
        />
    }
}

#[component]
fn Delete(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let delete = Callback::new(move |()| {
        let deleted = id.clone();
        action.run(api.delete_webhook(&tenant.now(), &id), move |()| {
            let is_open = |open: &Option<(String, String)>| {
                open.as_ref().is_some_and(|(id, _)| *id == deleted)
            };
            if state.log_of.with_untracked(is_open) {
                state.log_of.try_set(None);
            }
            state.changed.run(());
        });
    });
    view! {
        <ConfirmedButton
            text="Delete"
            name
            title="Delete this webhook?"
            consequence="Its delivery log is deleted and queued deliveries are dropped. Alerts that use it must be changed first."
            confirm="Delete webhook"
            action
            on_confirm=delete
        />
    }
}
