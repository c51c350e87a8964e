//! A card for each gate.

use leptos::prelude::*;
use weir_wire::replicas::{Replica, Replicas};

use crate::components::time::RelativeTime;
use crate::model::duration::about;
use crate::model::number::quantity;

#[component]
pub(super) fn GateCards(replicas: Signal<Replicas>) -> impl IntoView {
    let cards = move || {
        let Replicas { tenant_version, data, .. } = replicas.get();
        data.into_iter().map(|gate| view! { <GateCard gate tenant_version /> }).collect::<Vec<_>>()
    };
    view! { <ul class="rule-cards" aria-label="Gates">{cards}</ul> }
}

#[component]
fn GateCard(gate: Replica, tenant_version: u64) -> impl IntoView {
    let behind = tenant_version > gate.rulebook_version;
    let state = if behind {
        view! { <span class="badge badge-degraded">"Behind"</span> }.into_any()
    } else {
        view! { <span class="badge badge-allowed">"Up to date"</span> }.into_any()
    };
    let redis = match (gate.redis_up, gate.redis_round_trip_us) {
        (None, _) => "not reported".into_any(),
        (Some(false), _) => {
            view! { <span class="badge badge-denied">"Unavailable"</span> }.into_any()
        }
        (Some(true), None) => "connected".into_any(),
        (Some(true), Some(time_us)) => {
            format!("connected, {} per call", microseconds(time_us)).into_any()
        }
    };
    let versions = usize::try_from(gate.versions_behind).unwrap_or(usize::MAX);
    let version = match versions {
        0 => gate.rulebook_version.to_string(),
        some => {
            format!("{}, {} behind", gate.rulebook_version, quantity(some, "version", "versions"))
        }
    };
    let name = gate.address.unwrap_or_else(|| "Address hidden".to_owned());
    view! {
        <li class="card stack">
            <div class="card-head"><p class="name">{name}</p>{state}</div>
            <dl class="facts">
                <dt>"Redis"</dt><dd>{redis}</dd>
                <dt>"Rulebook"</dt><dd>{version}</dd>
                <dt>"Applied"</dt><dd><RelativeTime at=gate.applied_at />", "{about(gate.applied_after_ms)}" after the change"</dd>
                <dt>"Last heartbeat"</dt><dd>{about(gate.age_ms)}" ago"</dd>
                <dt>"Started"</dt><dd><RelativeTime at=gate.started_at /></dd>
                <dt>"Release"</dt><dd>{gate.weir_version.unwrap_or_else(|| "not reported".to_owned())}</dd>
                <dt>"ID"</dt><dd><code>{gate.id}</code></dd>
            </dl>
        </li>
    }
}

/// `0.4 ms`, `12 ms`.
fn microseconds(time_us: u64) -> String {
    match time_us {
        ..10_000 => format!("{}.{} ms", time_us / 1_000, time_us % 1_000 / 100),
        _ => format!("{} ms", time_us / 1_000),
    }
}
