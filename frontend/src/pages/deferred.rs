//! Deferred jobs: the use of their queue, and those that could not be delivered in time.

mod columns;

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::deferred::{DeadLetter, DeferredUse};
use weir_wire::page::Page;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::data_table::table_in_url;
use crate::components::feedback::{Empty, Skeleton};
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{RemoteData, fetch_after, fetch_data, show_latest_shaped};
use crate::components::require_role::RequireRole;
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
        failed.track();
        api.dead_letters(&tenant.get(), None)
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
    let next = move |cursor: Option<String>| api.dead_letters(&tenant.now(), cursor.as_deref());
    view! {
        <PagedTable
            paged=Paged::new(page, next)
            label="Failed jobs"
            nouns=("failed job", "failed jobs")
            columns=columns(changed)
            id=|job| job.id.clone()
            view=table_in_url()
            more="Load older jobs"
            empty=|| view! {
                <Empty title="No failed jobs">
                    <p>"A job is listed here when its webhook did not accept it in time, or was deleted. "<GuideLink page="defer" text="About deferred jobs" /></p>
                </Empty>
            }
        />
    }
}
