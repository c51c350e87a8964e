//! The state of the traffic and of the gates as one sentence.

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::replicas::Replicas;
use weir_wire::stats::Top;
use weir_wire::time::DateTime;

use crate::api::Api;
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::time::{Clock, RelativeTime};
use crate::components::timer::repeat;
use crate::model::alert_labels::recently_fired;
use crate::model::health::{Health, Level, health, without_redis};
use crate::model::rollout::Rollout;
use crate::pages::shell::TenantId;
use crate::pages::traffic::Traffic;

/// The most urgent finding, and whether the gates serve the current rules.
#[component]
pub(super) fn StateSentence(traffic: Traffic, rules: RemoteData<Top>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    repeat(|| Some(Duration::from_secs(5)), move || replicas.poll());
    let gates = replicas.latest(|found: Replicas| {
        Some((Rollout::of(found.tenant_version, &found.data), without_redis(&found.data)))
    });
    let current = move || {
        let (series, summary) = (traffic.series.data()?, traffic.summary.data()?);
        let top = rules.data().and_then(|top| top.data.into_iter().next());
        Some(health(gates.get()?, &series, (&summary.counts, &summary.previous), top.as_ref()))
    };
    // A failed refetch leaves the last sentence, as it leaves the figures; the banner says so.
    let found = Memo::new(move |last: Option<&Option<Health>>| {
        current().or_else(|| last.cloned().flatten())
    });
    let clock = expect_context::<Clock>();
    let fired = Memo::new(move |_| {
        let events = traffic.events.data().map(|events| events.data).unwrap_or_default();
        recently_fired(&events, clock.now_ms())
    });
    let alert = move |(name, at): (String, DateTime)| {
        view! { " "<A href=move || tenant.page("alerts")>{name}</A>" "<RelativeTime at />"." }
    };
    let alerts = move || {
        let fired = fired.get();
        (!fired.is_empty()).then(|| {
            let fired: Vec<_> = fired.into_iter().map(alert).collect();
            view! { <p class="fired">"Alerts fired:"{fired}</p> }
        })
    };
    let class = move || found.get().map_or("health", |found| found.level.class());
    let text = move || found.get().map_or_else(|| "…".to_owned(), |found| found.text);
    let sign = move || match found.get().map(|found| found.level) {
        Some(Level::Good) => "✓",
        Some(Level::Neutral) => "–",
        Some(Level::Warning | Level::Bad) => "!",
        None => "",
    };
    let rules =
        move || gates.get().map_or_else(|| "…".to_owned(), |(rollout, _)| rollout.to_string());
    view! {
        <section class=class aria-label="State">
            <p class="health-text" role="status"><span class="health-sign" aria-hidden="true">{sign}</span>{text}</p>
            {alerts}
            <p class="note">
                "Current rules: "{rules}". "<A href=move || tenant.page("gates")>"Gates"</A>
            </p>
        </section>
    }
}
