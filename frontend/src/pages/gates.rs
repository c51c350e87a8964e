//! The gates, and the rulebook version that each serves.

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::replicas::{Replica, Replicas as ReplicasBody};

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_latest};
use crate::components::time::RelativeTime;
use crate::components::timer::repeat;
use crate::model::duration::about;
use crate::pages::shell::TenantId;

/// The interval between two readings of the gates.
const REFRESH: Duration = Duration::from_secs(5);

#[component]
pub fn Gates() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    repeat(|| Some(REFRESH), move || replicas.refetch());
    view! {
        <PageHeader title="Gates" lead="Gates that reported in the last 15 seconds" />
        {show_latest(replicas, |replicas| move || view! { <GateTable replicas=replicas.get() /> })}
    }
}

#[component]
fn GateTable(replicas: ReplicasBody) -> impl IntoView {
    let ReplicasBody { tenant_version, data, .. } = replicas;
    if data.is_empty() {
        return view! {
            <Empty title="No gates are running">
                <p>"Gates answer checks. Start one with "<code>"weir serve --roles gate"</code>"."</p>
            </Empty>
        }
        .into_any();
    }
    let up_to_date = data.iter().filter(|gate| gate.rulebook_version >= tenant_version).count();
    let summary = format!("The current rules are live on {up_to_date} of {} gates.", data.len());
    let rows: Vec<_> = data.into_iter().map(|gate| row(gate, tenant_version)).collect();
    view! {
        <p class="sentence">{summary}</p>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Gates">
            <table>
                <thead><tr>
                    <th>"Gate"</th><th>"Rules"</th><th class="number">"Rulebook version"</th>
                    <th>"Applied"</th><th class="number">"Last heartbeat"</th><th>"Started"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(gate: Replica, tenant_version: u64) -> impl IntoView {
    let state = if gate.rulebook_version >= tenant_version {
        view! { <span class="badge badge-enforce">"Up to date"</span> }
    } else {
        view! { <span class="badge badge-shadow">"Behind"</span> }
    };
    view! {
        <tr>
            <td><div class="name">{gate.address.unwrap_or_else(|| "address hidden".to_owned())}</div><div class="muted">{gate.id}</div></td>
            <td>{state}</td>
            <td class="number">{gate.rulebook_version}</td>
            <td><RelativeTime at=gate.applied_at /><div class="muted">{about(gate.applied_after_ms)}" after the change"</div></td>
            <td class="number">{about(gate.age_ms)}" ago"</td>
            <td><RelativeTime at=gate.started_at /></td>
        </tr>
    }
}
