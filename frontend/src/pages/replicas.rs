//! The gates, and which version of the rulebook each serves.

use leptos::prelude::*;
use weir_wire::replicas::{Replica, Replicas as ReplicasBody};

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;
use crate::components::time::When;
use crate::model::duration::about;
use crate::pages::shell::TenantId;

/// The page.
#[component]
pub fn Replicas() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = load(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    view! {
        <PageHead title="Replicas" lead="The gates seen in the last 15 seconds.">
            <button type="button" class="button" on:click=move |_| replicas.again()>"Refresh"</button>
        </PageHead>
        {loaded(replicas, |replicas| view! { <Gates replicas /> })}
    }
}

#[component]
fn Gates(replicas: ReplicasBody) -> impl IntoView {
    let ReplicasBody { tenant_version, data, .. } = replicas;
    if data.is_empty() {
        return view! {
            <Empty title="No gate is running.">
                <p>"Checks are answered by gates: start one with "<code>"weir serve --roles gate"</code>"."</p>
            </Empty>
        }
        .into_any();
    }
    let up_to_date = data.iter().filter(|gate| gate.rulebook_version >= tenant_version).count();
    let summary = format!("The present rules are live on {up_to_date} of {} gates.", data.len());
    let rows: Vec<_> = data.into_iter().map(|gate| line(gate, tenant_version)).collect();
    view! {
        <p class="sentence">{summary}</p>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Gates">
            <table>
                <thead><tr>
                    <th>"Gate"</th><th>"Rules"</th><th class="number">"Serves version"</th>
                    <th>"Applied"</th><th class="number">"Seen"</th><th>"Started"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn line(gate: Replica, tenant_version: u64) -> impl IntoView {
    let state = if gate.rulebook_version >= tenant_version {
        view! { <span class="badge badge-enforce">"Up to date"</span> }
    } else {
        view! { <span class="badge badge-shadow">"Behind"</span> }
    };
    view! {
        <tr>
            <td><div class="name">{gate.address.unwrap_or_else(|| "address not shown".to_owned())}</div><div class="quiet">{gate.id}</div></td>
            <td>{state}</td>
            <td class="number">{gate.rulebook_version}</td>
            <td><When at=gate.applied_at /><div class="quiet">{about(gate.applied_after_ms)}" after the change"</div></td>
            <td class="number">{about(gate.age_ms)}" ago"</td>
            <td><When at=gate.started_at /></td>
        </tr>
    }
}
