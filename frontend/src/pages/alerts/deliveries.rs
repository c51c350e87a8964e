//! What a webhook was to tell, and what came of it.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::page::Page;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{Delivery, DeliveryState};

use super::Desk;
use crate::api::Api;
use crate::browser;
use crate::components::act::Act;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::load::{load, loaded};
use crate::components::needs::Needs;
use crate::components::time::{Exactly, When};
use crate::pages::shell::TenantId;

/// The log, fetched again while something is on its way.
#[component]
pub(super) fn Deliveries(id: String, name: String, desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let webhook = StoredValue::new(id);
    let newest = load(move || {
        desk.sent.track();
        let (tenant, id) = (tenant.get(), webhook.get_value());
        async move { api.deliveries(&tenant, &id, None).await }
    });
    let again = Callback::new(move |()| newest.again());
    // What waits for its first attempt is sent within a second or two.
    Effect::new(move |_| {
        let fresh = |it: &Delivery| it.state == DeliveryState::Pending && it.attempts == 0;
        if newest.data().is_some_and(|page| page.data.iter().any(fresh)) {
            spawn_local(async move {
                browser::wait_ms(1000).await;
                again.try_run(());
            });
        }
    });
    view! {
        <section class="stack" aria-label="Deliveries">
            <div class="page-head">
                <h2>"Deliveries of "{name}</h2>
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| again.run(())>"Look again"</button>
                    <button type="button" class="button" on:click=move |_| desk.log_of.set(None)>"Close the log"</button>
                </div>
            </div>
            {loaded(newest, move |page| view! { <Log page webhook again /> })}
        </section>
    }
}

#[component]
fn Log(page: Page<Delivery>, webhook: StoredValue<String>, again: Callback<()>) -> impl IntoView {
    if page.data.is_empty() {
        return view! {
            <Empty title="Nothing was told yet."><p>"Press Test to send something that tells nothing."</p></Empty>
        }
        .into_any();
    }
    let (rows, cursor) = (RwSignal::new(page.data), RwSignal::new(page.next_cursor));
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Delivery log">
            <table>
                <thead><tr>
                    <th>"What"</th><th>"State"</th><th>"Answer"</th><th>"When"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>
                    <For each=move || rows.get() key=|it| it.id.clone() let:it>{line(it, webhook, again)}</For>
                </tbody>
            </table>
        </div>
        <Older rows cursor webhook />
    }
    .into_any()
}

/// The way to what was told before.
#[component]
fn Older(
    rows: RwSignal<Vec<Delivery>>,
    cursor: RwSignal<Option<String>>,
    webhook: StoredValue<String>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let more = move |_| {
        let (id, from) = (webhook.get_value(), cursor.get_untracked());
        let work = async move { api.deliveries(&tenant.now(), &id, from.as_deref()).await };
        act.run(work, move |mut page| {
            rows.try_update(|rows| rows.append(&mut page.data));
            cursor.try_set(page.next_cursor);
        });
    };
    view! {
        <ActProblem problem=act.problem />
        <Show when=move || cursor.with(Option::is_some)>
            <button type="button" class="button" disabled=act.busy on:click=more>"Load older ones"</button>
        </Show>
    }
}

fn line(it: Delivery, webhook: StoredValue<String>, again: Callback<()>) -> AnyView {
    let (word, class) = match it.state {
        DeliveryState::Delivered => ("Delivered", "badge badge-allowed"),
        DeliveryState::Pending if it.attempts == 0 => ("On its way", "badge"),
        DeliveryState::Pending => ("Will be tried again", "badge badge-shadow"),
        DeliveryState::Failed => ("Failed", "badge badge-shadow"),
    };
    let attempts = (it.attempts > 1).then(|| format!("{} attempts", it.attempts));
    let next = it.next_at.filter(|_| it.attempts > 0).map(|at| {
        view! { <div class="quiet">"next "<Exactly at /></div> }
    });
    let status = it.response_status.map(|status| status.to_string());
    let took = it.took_ms.filter(|_| status.is_some()).map(|ms| format!(" in {ms} ms"));
    let response = it.response.filter(|text| !text.is_empty());
    view! {
        <tr>
            <td>
                <code>{it.kind}</code>
                <details><summary>"Body"</summary><pre tabindex="0"><code>{it.payload}</code></pre></details>
            </td>
            <td><span class=class>{word}</span><div class="quiet">{attempts}</div>{next}</td>
            <td>
                {status}{took}{it.error.map(|why| view! { <div>{why}</div> })}
                {response.map(|text| view! { <div class="quiet two-lines">{text}</div> })}
            </td>
            <td><When at=it.created_at /></td>
            <td class="number"><Needs role=Role::Editor told=true><Again id=it.id webhook again /></Needs></td>
        </tr>
    }
    .into_any()
}

#[component]
fn Again(id: String, webhook: StoredValue<String>, again: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let send = move |_| {
        let (webhook, id) = (webhook.get_value(), id.clone());
        let work = async move { api.send_again(&tenant.now(), &webhook, &id).await };
        act.run(work, move |_| again.run(()));
    };
    view! {
        <button type="button" class="button quiet-button" disabled=act.busy on:click=send>"Send again"</button>
        <ActProblem problem=act.problem />
    }
}
