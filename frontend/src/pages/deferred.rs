//! Deferred jobs: the use of their queue, and those that could not be delivered in time.

mod columns;

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::deferred::{DeadLetter, DeferredUse};
use weir_wire::page::Page;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::data_table::{DataTable, TableOptions, table_in_url};
use crate::components::feedback::{Empty, Skeleton, SubmitProblem};
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_after, fetch_data, show_latest_shaped};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::timer::repeat;
use crate::model::number::{bytes, grouped, share};
use crate::pages::shell::TenantId;
use crate::pages::traffic::Tile;
use columns::columns;

/// The interval between two readings of the queue.
const REFRESH: Duration = Duration::from_secs(5);

#[component]
pub fn DeferredJobs() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let usage = fetch_data(move || api.deferred(&tenant.get()));
    repeat(|| Some(REFRESH), move || usage.poll());
    let failed = failed(usage);
    let newest = fetch_after(Signal::derive(move || usage.is_settled()), move || {
        let (tenant, _) = (tenant.get(), failed.get());
        api.dead_letters(&tenant, None)
    });
    let changed = Callback::new(move |()| {
        usage.refetch();
        newest.refetch();
    });
    view! {
        <PageHeader title="Deferred jobs" lead="Work that waits until the limits permit it, and work that could not be delivered in time." />
        {show_latest_shaped(usage, Skeleton::Tiles, |usage| view! { <Usage usage /> })}
        <RequireRole role=Role::Editor><h2>"Failed jobs"</h2></RequireRole>
        {show_latest_shaped(newest, Skeleton::Table, move |page| view! { <Failed page changed /> })}
    }
}

/// The number of failed jobs, as last read. The list is read again when it changes.
fn failed(usage: RemoteData<DeferredUse>) -> Memo<Option<u64>> {
    usage.latest(|usage| Some(usage.failed))
}

/// How full the queue is.
#[component]
fn Usage(usage: Signal<DeferredUse>) -> impl IntoView {
    let of = move |text: fn(DeferredUse) -> String| Signal::derive(move || text(usage.get()));
    // A queue that is nearly full refuses jobs soon.
    let filled = |usage: DeferredUse| {
        let near = |part: u64, whole: u64| part.saturating_mul(5) >= whole.saturating_mul(4);
        near(usage.waiting, usage.waiting_max) || near(usage.bytes, usage.bytes_max)
    };
    let class = move || if filled(usage.get()) { "tile-degraded" } else { "" }.to_owned();
    view! {
        <dl class="tiles">
            <Tile
                name="Waiting"
                value=of(|usage| grouped(usage.waiting))
                note=of(|usage| format!("{} of {}", share(usage.waiting, usage.waiting_max), grouped(usage.waiting_max)))
                class=Signal::derive(class)
            />
            <Tile
                name="Size of waiting jobs"
                value=of(|usage| bytes(usage.bytes))
                note=of(|usage| format!("{} of {}", share(usage.bytes, usage.bytes_max), bytes(usage.bytes_max)))
                class=Signal::derive(class)
            />
            <Tile name="Failed" value=of(|usage| grouped(usage.failed)) note="stored for a week" />
        </dl>
    }
}

/// The newest failed jobs, and those loaded after them.
#[component]
fn Failed(page: Signal<Page<DeadLetter>>, changed: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let shown = RwSignal::new(Page { data: Vec::new(), next_cursor: None });
    Effect::new(move |_| shown.set(page.get()));
    let action = SubmitAction::new();
    let more = move |_| {
        let cursor = shown.with_untracked(|shown| shown.next_cursor.clone());
        let older = api.dead_letters(&tenant.now(), cursor.as_deref());
        action.run(older, move |mut next| {
            shown.try_update(|shown| {
                shown.data.append(&mut next.data);
                shown.next_cursor = next.next_cursor;
            });
        });
    };
    let has_more = Signal::derive(move || shown.with(|shown| shown.next_cursor.is_some()));
    let options = TableOptions { partial: Some(has_more), ..TableOptions::default() };
    view! {
        <DataTable
            label="Failed jobs"
            nouns=("failed job", "failed jobs")
            rows=Memo::new(move |_| shown.with(|shown| shown.data.clone()))
            columns=columns(changed)
            id=|job| job.id.clone()
            view=table_in_url()
            options
            empty=|| view! {
                <Empty title="No failed jobs">
                    <p>"A job is listed here when its webhook did not accept it in time, or was deleted. "<GuideLink page="defer" text="About deferred jobs" /></p>
                </Empty>
            }
        />
        <SubmitProblem problem=action.problem />
        <Show when=move || has_more.get()>
            <button type="button" class="button" disabled=action.busy on:click=more>"Load older jobs"</button>
        </Show>
    }
}
