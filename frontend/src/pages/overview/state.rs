//! The state of the traffic and of the gates as one sentence.

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::Top;

use crate::api::Api;
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::timer::repeat;
use crate::model::health::{Level, health};
use crate::model::rollout::Rollout;
use crate::pages::shell::TenantId;
use crate::pages::traffic::Traffic;

/// The most urgent finding, and whether the gates serve the current rules.
#[component]
pub(super) fn StateSentence(traffic: Traffic, rules: RemoteData<Top>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    repeat(|| Some(Duration::from_secs(5)), move || replicas.refetch());
    let rollout = Memo::new(move |last: Option<&Option<Rollout>>| {
        let known = replicas.data().map(|found| Rollout::of(found.tenant_version, &found.data));
        known.or_else(|| last.copied().flatten())
    });
    let found = Memo::new(move |_| {
        let (series, summary) = (traffic.series.data()?, traffic.summary.data()?);
        let top = rules.data().and_then(|top| top.data.into_iter().next());
        Some(health(rollout.get()?, &series, (&summary.counts, &summary.previous), top.as_ref()))
    });
    let class = move || found.get().map_or("health", |found| found.level.class());
    let text = move || found.get().map_or_else(|| "…".to_owned(), |found| found.text);
    let sign = move || match found.get().map(|found| found.level) {
        Some(Level::Good) => "✓",
        Some(Level::Neutral) => "–",
        Some(Level::Warning | Level::Bad) => "!",
        None => "",
    };
    let rules = move || rollout.get().map_or_else(|| "…".to_owned(), |rollout| rollout.to_string());
    view! {
        <section class=class aria-label="State">
            <p class="health-text" role="status"><span class="health-sign" aria-hidden="true">{sign}</span>{text}</p>
            <p class="note">
                "Current rules: "{rules}". "<A href=move || tenant.page("gates")>"Gates"</A>
            </p>
        </section>
    }
}
