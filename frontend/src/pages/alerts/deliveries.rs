//! The deliveries of a webhook.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::page::Page;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{Delivery, DeliveryState};

use super::state::AlertsState;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::{For, Show};
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::remote_data::{fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::ObjectTable;
use crate::components::time::{ExactTime, RelativeTime};
use crate::pages::shell::TenantId;

/// The log, refetched while a delivery is pending.
#[component]
pub(super) fn Deliveries(id: String, name: String, state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let webhook = StoredValue::new(id);
    let newest = fetch_data(move || {
        state.deliveries_added.track();
        let (tenant, id) = (tenant.get(), webhook.get_value());
        api.deliveries(&tenant, &id, None)
    });
    let changed = Callback::new(move |()| newest.refetch());
    // First attempts are made within a second or two.
    Effect::new(move |_| {
        let is_new = |delivery: &Delivery| {
            delivery.state == DeliveryState::Pending && delivery.attempts == 0
        };
        if newest.data().is_some_and(|page| page.data.iter().any(is_new)) {
            spawn_local(async move {
                browser::wait_ms(1000).await;
                changed.try_run(());
            });
        }
    });
    view! {
        <section class="stack" aria-label="Deliveries">
            <div class="page-head">
                <h2>"Deliveries of "{name}</h2>
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| changed.run(())>"Refresh"</button>
                    <button type="button" class="button" on:click=move |_| state.log_of.set(None)>"Close"</button>
                </div>
            </div>
            {show(newest, move |page| view! { <DeliveryTable page webhook changed /> })}
        </section>
    }
}

#[component]
fn DeliveryTable(
    page: Page<Delivery>,
    webhook: StoredValue<String>,
    changed: Callback<()>,
) -> impl IntoView {
    if page.data.is_empty() {
        return view! {
            <Empty title="No deliveries yet"><p>"Choose Test to send a test event."</p></Empty>
        }
        .into_any();
    }
    let (rows, cursor) = (RwSignal::new(page.data), RwSignal::new(page.next_cursor));
    view! {
        <ObjectTable label="Delivery log" columns=&["Event", "Status", "Response", "Time"]>
            <For each=move || rows.get() key=|delivery| delivery.id.clone() let:delivery>{row(delivery, webhook, changed)}</For>
        </ObjectTable>
        <OlderDeliveries rows cursor webhook />
    }
    .into_any()
}

/// Loads older deliveries.
#[component]
fn OlderDeliveries(
    rows: RwSignal<Vec<Delivery>>,
    cursor: RwSignal<Option<String>>,
    webhook: StoredValue<String>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let more = move |_| {
        let (id, from) = (webhook.get_value(), cursor.get_untracked());
        let work = api.deliveries(&tenant.now(), &id, from.as_deref());
        action.run(work, move |mut page| {
            rows.try_update(|rows| rows.append(&mut page.data));
            cursor.try_set(page.next_cursor);
        });
    };
    view! {
        <SubmitProblem problem=action.problem />
        <Show when=move || cursor.with(Option::is_some)>
            <button type="button" class="button" disabled=action.busy on:click=more>"Load more"</button>
        </Show>
    }
}

fn row(delivery: Delivery, webhook: StoredValue<String>, changed: Callback<()>) -> AnyView {
    let (state_name, class) = match delivery.state {
        DeliveryState::Delivered => ("Delivered", "badge badge-allowed"),
        DeliveryState::Pending if delivery.attempts == 0 => ("Sending", "badge"),
        DeliveryState::Pending => ("Retrying", "badge badge-degraded"),
        DeliveryState::Failed => ("Failed", "badge badge-denied"),
    };
    let attempts = (delivery.attempts > 1).then(|| format!("{} attempts", delivery.attempts));
    let next = delivery.next_at.filter(|_| delivery.attempts > 0).map(|at| {
        view! { <div class="muted">"next "<ExactTime at /></div> }
    });
    let status = delivery.response_status.map(|status| status.to_string());
    let took = delivery.took_ms.filter(|_| status.is_some()).map(|ms| format!(" in {ms} ms"));
    let response = delivery.response.filter(|text| !text.is_empty());
    view! {
        <tr>
            <td>
                <code>{delivery.kind}</code>
                <details><summary>"Body"</summary><pre tabindex="0"><code>{delivery.payload}</code></pre></details>
            </td>
            <td><span class=class>{state_name}</span><div class="muted">{attempts}</div>{next}</td>
            <td>
                {status}{took}{delivery.error.map(|reason| view! { <div>{reason}</div> })}
                {response.map(|text| view! { <div class="muted two-lines">{text}</div> })}
            </td>
            <td><RelativeTime at=delivery.created_at /></td>
            <td class="number"><RequireRole role=Role::Editor reason_shown=true><ResendButton id=delivery.id webhook changed /></RequireRole></td>
        </tr>
    }
    .into_any()
}

#[component]
fn ResendButton(id: String, webhook: StoredValue<String>, changed: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let send = move |_| {
        let work = api.resend_delivery(&tenant.now(), &webhook.get_value(), &id);
        action.run(work, move |_| changed.run(()));
    };
    view! {
        <button type="button" class="button plain-button" disabled=action.busy on:click=send>"Resend"</button>
        <SubmitProblem problem=action.problem />
    }
}
