//! The deferred jobs that could not be delivered to a webhook, and the use of their queue.

use leptos::prelude::*;
use weir_wire::deferred::{DeadLetter, DeferredUse};
use weir_wire::page::Page;
use weir_wire::tenants::Role;

use crate::api::{Api, Problem};
use crate::components::control_flow::{For, Show};
use crate::components::feedback::SubmitProblem;
use crate::components::guide_link::GuideLink;
use crate::components::remote_data::{fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::ObjectTable;
use crate::components::time::RelativeTime;
use crate::pages::shell::TenantId;

/// The section. It shows nothing until a job was deferred.
#[component]
pub(super) fn DeadLetters() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let found = fetch_data(move || {
        let tenant = tenant.get();
        async move { read(api, &tenant).await }
    });
    let changed = Callback::new(move |()| found.refetch());
    let content = move |(usage, page): (DeferredUse, Page<DeadLetter>)| {
        (usage.waiting + usage.failed > 0).then(|| view! { <Jobs usage page changed /> })
    };
    show(found, content)
}

async fn read(api: Api, tenant: &str) -> Result<(DeferredUse, Page<DeadLetter>), Problem> {
    Ok((api.deferred(tenant).await?, api.dead_letters(tenant, None).await?))
}

#[component]
fn Jobs(usage: DeferredUse, page: Page<DeadLetter>, changed: Callback<()>) -> impl IntoView {
    let waiting = format!("{} waiting, {} failed", usage.waiting, usage.failed);
    let (rows, cursor) = (RwSignal::new(page.data), RwSignal::new(page.next_cursor));
    view! {
        <section class="stack" aria-label="Deferred jobs">
            <div class="page-head">
                <h2>"Deferred jobs"</h2>
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| changed.run(())>"Refresh"</button>
                </div>
            </div>
            <p class="muted">{waiting}". "<GuideLink page="defer" text="About deferred jobs" /></p>
            <Show when=move || rows.with(|rows| !rows.is_empty())>
                <ObjectTable label="Failed deferred jobs" columns=&["Job", "Payload", "Reason", "Failed"]>
                    <For each=move || rows.get() key=|job| job.id.clone() let:job>{row(job, changed)}</For>
                </ObjectTable>
            </Show>
            <Older rows cursor />
        </section>
    }
}

/// Loads older dead letters.
#[component]
fn Older(rows: RwSignal<Vec<DeadLetter>>, cursor: RwSignal<Option<String>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let more = move |_| {
        let from = cursor.get_untracked();
        let work = async move { api.dead_letters(&tenant.now(), from.as_deref()).await };
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

fn row(job: DeadLetter, changed: Callback<()>) -> AnyView {
    let attributes: Vec<_> =
        job.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let attempts = (job.attempts > 0).then(|| format!("{} deliveries failed", job.attempts));
    view! {
        <tr>
            <td><code>{job.namespace}</code><div class="muted two-lines">{attributes.join(", ")}</div></td>
            <td><details><summary>"Payload"</summary><pre tabindex="0"><code>{job.payload.to_string()}</code></pre></details></td>
            <td>{job.error}<div class="muted">{attempts}</div></td>
            <td><RelativeTime at=job.failed_at /></td>
            <td class="number"><RequireRole role=Role::Editor reason_shown=true><Actions id=job.id changed /></RequireRole></td>
        </tr>
    }
    .into_any()
}

#[component]
fn Actions(id: String, changed: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let id = StoredValue::new(id);
    let retry = move |_| {
        let work = async move { api.retry_deferred(&tenant.now(), &id.get_value()).await };
        action.run(work, move |()| changed.run(()));
    };
    let delete = move |_| {
        let work = async move { api.delete_deferred(&tenant.now(), &id.get_value()).await };
        action.run(work, move |()| changed.run(()));
    };
    view! {
        <button type="button" class="button plain-button" disabled=action.busy on:click=retry>"Retry"</button>
        <button type="button" class="button plain-button" disabled=action.busy on:click=delete>"Delete"</button>
        <SubmitProblem problem=action.problem />
    }
}
