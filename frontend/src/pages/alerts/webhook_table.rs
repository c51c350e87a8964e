//! The table of webhooks and their actions.

use leptos::prelude::*;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{Webhook, WebhookBody};

use super::state::AlertsState;
use super::webhook_form::Edit;
use crate::api::Api;
use crate::components::dialog::{ConfirmByName, Dialog};
use crate::components::feedback::SubmitProblem;
use crate::components::field::Choice;
use crate::components::require_role::RequireRole;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::time::RelativeTime;
use crate::model::expiry;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn WebhookTable(webhooks: Vec<Webhook>, state: AlertsState) -> impl IntoView {
    let rows: Vec<_> = webhooks.into_iter().map(|webhook| row(webhook, state)).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Webhooks">
            <table>
                <thead><tr>
                    <th>"Name"</th><th>"Sends to"</th><th>"Created"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(webhook: Webhook, state: AlertsState) -> AnyView {
    let (id, name) = (webhook.id.clone(), webhook.name.clone());
    let off =
        (!webhook.enabled).then(|| view! { <div><span class="badge badge-off">"Off"</span></div> });
    let log = (id.clone(), name.clone());
    let open_log = move |_| state.log_of.set(Some(log.clone()));
    let tested = (id.clone(), name.clone());
    let log_label = format!("Deliveries of {name}");
    view! {
        <tr>
            <td class="name">{name.clone()}{off}</td>
            <td class="text-cell"><div class="two-lines" title=webhook.url.clone()><code>{webhook.url.clone()}</code></div></td>
            <td><RelativeTime at=webhook.created_at /><div class="muted">"by "{webhook.created_by.clone()}</div></td>
            <td class="number row-actions">
                <button type="button" class="button plain-button" aria-label=log_label on:click=open_log>"Deliveries"</button>
                <RequireRole role=Role::Editor reason_shown=true><Test id=tested.0 name=tested.1 state /></RequireRole>
                <RequireRole role=Role::Admin reason_shown=true>
                    <Edit webhook=webhook.clone() state />
                    <Switch webhook state />
                    <Rotate id=id.clone() name=name.clone() state />
                    <Delete id name state />
                </RequireRole>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Test(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let label = format!("Send a test event to {name}");
    let send = move |_| {
        let (id, name, target) = (id.clone(), name.clone(), id.clone());
        action.run(async move { api.test_webhook(&tenant.now(), &target).await }, move |_| {
            state.log_of.try_set(Some((id, name)));
            state.deliveries_added.try_update(|added| *added += 1);
        });
    };
    view! {
        <button type="button" class="button plain-button" aria-label=label disabled=action.busy on:click=send>"Test"</button>
        <SubmitProblem problem=action.problem />
    }
}

#[component]
fn Switch(webhook: Webhook, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let word = if webhook.enabled { "Disable" } else { "Enable" };
    let label = format!("{word} {}", webhook.name);
    let switch = move |_| {
        let Webhook { id, name, url, enabled, .. } = webhook.clone();
        let body = WebhookBody { name, url, enabled: !enabled };
        let work = async move { api.change_webhook(&tenant.now(), &id, &body).await };
        action.run(work, move |_| state.changed.run(()));
    };
    view! {
        <button type="button" class="button plain-button" aria-label=label disabled=action.busy on:click=switch>{word}</button>
        <SubmitProblem problem=action.problem />
    }
}

#[component]
fn Rotate(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, action) = (RwSignal::new(false), SubmitAction::with_fields(&["overlap_s"]));
    let overlap_s = RwSignal::new(86_400_u32);
    let rotate = Callback::new(move |()| {
        let (id, overlap_s) = (id.clone(), overlap_s.get_untracked());
        let work = async move { api.rotate_webhook(&tenant.now(), &id, overlap_s).await };
        action.run(work, move |issued| {
            open.try_set(false);
            state.issued.try_set(Some(issued));
            state.changed.run(());
        });
    });
    let label = format!("Rotate {name}");
    view! {
        <button type="button" class="button plain-button" aria-label=label on:click=move |_| open.set(true)>"Rotate"</button>
        <Dialog title=format!("Rotate {name}?") open>
            <SubmitForm action submit="Rotate secret" on_submit=rotate class="stack" cancel=Callback::new(move |()| open.set(false))>
                <p>"The new secret is shown only once."</p>
                <Choice
                    label="Old secret"
                    value=overlap_s.into()
                    options=expiry::overlaps()
                    problem=action.server_problem("overlap_s")
                    hint="The time needed to update the receiver"
                />
            </SubmitForm>
        </Dialog>
    }
}

#[component]
fn Delete(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, action) = (RwSignal::new(false), SubmitAction::new());
    let delete = Callback::new(move |()| {
        let (id, deleted) = (id.clone(), id.clone());
        action.run(async move { api.delete_webhook(&tenant.now(), &id).await }, move |()| {
            if state
                .log_of
                .with_untracked(|open| open.as_ref().is_some_and(|(id, _)| *id == deleted))
            {
                state.log_of.try_set(None);
            }
            state.changed.run(());
        });
    });
    let label = format!("Delete {name}");
    view! {
        <button type="button" class="button plain-button" aria-label=label on:click=move |_| open.set(true)>"Delete"</button>
        <SubmitProblem problem=action.problem />
        <ConfirmByName
            title="Delete this webhook?"
            consequence="Its delivery log is deleted and queued deliveries are dropped. Alerts that use it must be changed first."
            name
            action="Delete webhook"
            open
            on_confirm=delete
        />
    }
}
