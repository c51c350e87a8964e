//! A card for each gate.

use leptos::prelude::*;
use weir_domain::time::Timestamp;
use weir_wire::replicas::{GateLoad, Replica, Replicas};
use weir_wire::time::DateTime;

use crate::browser;
use crate::components::time::{Clock, RelativeTime};
use crate::model::duration::about;
use crate::model::gate_load::{SILENT_AFTER_MS, facts, milliseconds};
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
    let clock = expect_context::<Clock>();
    let behind = tenant_version > gate.rulebook_version;
    let seen_ms = browser::now_ms() - i64::try_from(gate.age_ms).unwrap_or(i64::MAX);
    let age_ms = move || u64::try_from(clock.now_ms() - seen_ms).unwrap_or(0);
    let silent = Memo::new(move |_| age_ms() > SILENT_AFTER_MS);
    let state = move || {
        let (class, text) = match (silent.get(), behind, gate.redis_up) {
            (true, ..) => ("badge badge-denied", "Silent"),
            (_, true, _) => ("badge badge-degraded", "Behind"),
            (.., Some(false)) => ("badge badge-degraded", "Up to date, no Redis"),
            _ => ("badge badge-allowed", "Up to date"),
        };
        view! { <span class=class>{text}</span> }
    };
    let load = gate.load.map(|load| load_rows(load, silent));
    let note = gate.load.map(|load| {
        let length = about(load.interval_ms);
        let text = format!("Checks of all tenants in the {length} before the last heartbeat");
        view! { <p class="note">{text}</p> }
    });
    let seen_at = DateTime(Timestamp::from_millis(seen_ms));
    let redis = move || match (silent.get(), gate.redis_up, gate.redis_round_trip_us) {
        (true, ..) => "–".into_any(),
        (_, None, _) => "not reported".into_any(),
        (_, Some(false), _) => {
            view! { <span class="badge badge-denied">"Unavailable"</span> }.into_any()
        }
        (_, Some(true), None) => "connected".into_any(),
        (_, Some(true), Some(time_us)) => {
            format!("connected, {} per call", milliseconds(time_us)).into_any()
        }
    };
    let versions = usize::try_from(gate.versions_behind).unwrap_or(usize::MAX);
    let version = match versions {
        0 => gate.rulebook_version.to_string(),
        some => {
            format!("{}, {} behind", gate.rulebook_version, quantity(some, "version", "versions"))
        }
    };
    let region = gate.region.map(|region| view! { <dt>"Region"</dt><dd>{region}</dd> });
    let name = gate.address.unwrap_or_else(|| "Address hidden".to_owned());
    view! {
        <li class="card stack">
            <div class="card-head"><p class="name">{name}</p>{state}</div>
            <dl class="facts">
                {region}
                {load}
                <dt>"Redis"</dt><dd>{redis}</dd>
                <dt>"Rulebook"</dt><dd>{version}</dd>
                <dt>"Applied"</dt><dd><RelativeTime at=gate.applied_at />", "{about(gate.applied_after_ms)}" after the change"</dd>
                <dt>"Last heartbeat"</dt><dd><RelativeTime at=seen_at /></dd>
                <dt>"Started"</dt><dd><RelativeTime at=gate.started_at /></dd>
                <dt>"Release"</dt><dd>{gate.weir_version.unwrap_or_else(|| "not reported".to_owned())}</dd>
                <dt>"ID"</dt><dd><code>{gate.id}</code></dd>
            </dl>
            {note}
        </li>
    }
}

/// The load of the gate, for operators. A silent gate has dashes in place of figures.
fn load_rows(load: GateLoad, silent: Memo<bool>) -> impl IntoView {
    let row = |(name, text): (&'static str, String)| {
        let shown = move || if silent.get() { "–".to_owned() } else { text.clone() };
        view! { <dt>{name}</dt><dd>{shown}</dd> }
    };
    facts(&load).map(row).into_iter().collect::<Vec<_>>()
}
