//! The webhooks there are, and what can be done to one.

use leptos::prelude::*;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{Webhook, WebhookBody};

use super::Desk;
use super::webhook_form::Edit;
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::dialog::{ConfirmByName, Dialog};
use crate::components::feedback::ActProblem;
use crate::components::field::Choice;
use crate::components::needs::Needs;
use crate::components::time::When;
use crate::model::expiry;
use crate::pages::shell::TenantId;

/// The table.
#[component]
pub(super) fn WebhookLines(webhooks: Vec<Webhook>, desk: Desk) -> impl IntoView {
    let rows: Vec<_> = webhooks.into_iter().map(|it| line(it, desk)).collect();
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

fn line(webhook: Webhook, desk: Desk) -> AnyView {
    let (id, name) = (webhook.id.clone(), webhook.name.clone());
    let off =
        (!webhook.enabled).then(|| view! { <div><span class="badge badge-off">"Off"</span></div> });
    let log = (id.clone(), name.clone());
    let look = move |_| desk.log_of.set(Some(log.clone()));
    let tested = (id.clone(), name.clone());
    let look_label = format!("Log of {name}");
    view! {
        <tr>
            <td class="name">{name.clone()}{off}</td>
            <td class="says"><div class="two-lines" title=webhook.url.clone()><code>{webhook.url.clone()}</code></div></td>
            <td><When at=webhook.created_at /><div class="quiet">"by "{webhook.created_by.clone()}</div></td>
            <td class="number acts">
                <button type="button" class="button quiet-button" aria-label=look_label on:click=look>"Log"</button>
                <Needs role=Role::Editor told=true><Test id=tested.0 name=tested.1 desk /></Needs>
                <Needs role=Role::Admin told=true>
                    <Edit webhook=webhook.clone() desk />
                    <Switch webhook desk />
                    <Rotate id=id.clone() name=name.clone() desk />
                    <Delete id name desk />
                </Needs>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Test(id: String, name: String, desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let label = format!("Send a test to {name}");
    let send = move |_| {
        let (id, name, target) = (id.clone(), name.clone(), id.clone());
        act.run(async move { api.test_webhook(&tenant.now(), &target).await }, move |_| {
            desk.log_of.try_set(Some((id, name)));
            desk.sent.try_update(|sent| *sent += 1);
        });
    };
    view! {
        <button type="button" class="button quiet-button" aria-label=label disabled=act.busy on:click=send>"Test"</button>
        <ActProblem problem=act.problem />
    }
}

#[component]
fn Switch(webhook: Webhook, desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let word = if webhook.enabled { "Switch off" } else { "Switch on" };
    let label = format!("{word} {}", webhook.name);
    let switch = move |_| {
        let Webhook { id, name, url, enabled, .. } = webhook.clone();
        let body = WebhookBody { name, url, enabled: !enabled };
        let work = async move { api.change_webhook(&tenant.now(), &id, &body).await };
        act.run(work, move |_| desk.changed.run(()));
    };
    view! {
        <button type="button" class="button quiet-button" aria-label=label disabled=act.busy on:click=switch>{word}</button>
        <ActProblem problem=act.problem />
    }
}

#[component]
fn Rotate(id: String, name: String, desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, act) = (RwSignal::new(false), Act::with_fields(&["overlap_s"]));
    let overlap_s = RwSignal::new(86_400_u32);
    let rotate = Callback::new(move |()| {
        let (id, overlap_s) = (id.clone(), overlap_s.get_untracked());
        let work = async move { api.rotate_webhook(&tenant.now(), &id, overlap_s).await };
        act.run(work, move |issued| {
            open.try_set(false);
            desk.issued.try_set(Some(issued));
            desk.changed.run(());
        });
    });
    let label = format!("Rotate {name}");
    view! {
        <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Rotate"</button>
        <Dialog title=format!("Give {name} a new secret?") open>
            <ActForm act submit="Rotate secret" on_submit=rotate class="stack" cancel=Callback::new(move |()| open.set(false))>
                <p>"The new secret is shown once."</p>
                <Choice
                    label="The old secret goes on signing"
                    value=overlap_s.into()
                    options=expiry::overlaps()
                    problem=act.refused("overlap_s")
                    hint="Long enough to bring the new one to the receiver"
                />
            </ActForm>
        </Dialog>
    }
}

#[component]
fn Delete(id: String, name: String, desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, act) = (RwSignal::new(false), Act::new());
    let delete = Callback::new(move |()| {
        let (id, gone) = (id.clone(), id.clone());
        act.run(async move { api.delete_webhook(&tenant.now(), &id).await }, move |()| {
            if desk.log_of.with_untracked(|it| it.as_ref().is_some_and(|(id, _)| *id == gone)) {
                desk.log_of.try_set(None);
            }
            desk.changed.run(());
        });
    });
    let label = format!("Delete {name}");
    view! {
        <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Delete"</button>
        <ActProblem problem=act.problem />
        <ConfirmByName
            title="Delete this webhook?"
            consequence="Its log goes too, and what is still to be told is not. Alerts that use it must be changed first."
            name
            act="Delete webhook"
            open
            on_confirm=delete
        />
    }
}
