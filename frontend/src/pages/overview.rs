//! What happens in the tenant: how much is let through and refused, by which rules, for whom.

mod busiest;
mod latest;
mod totals;

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;

use crate::api::{About, Api};
use crate::browser;
use crate::components::field::Bind;
use crate::components::load::{Load, kept, load};
use crate::components::page::PageHead;
use crate::components::series_chart::SeriesChart;
use crate::components::stats_range::{Freshness, SpanChoice, span_by_address};
use crate::components::timer::repeat;
use crate::model::rollout::Rollout;
use crate::model::span::Span;
use crate::pages::shell::TenantId;
use busiest::Busiest;
pub use latest::DenialLine;
use latest::Latest;
use totals::Totals;

/// The page.
#[component]
pub fn Overview() -> impl IntoView {
    let span = span_by_address();
    view! {
        <PageHead title="Overview">
            <SpanChoice span />
        </PageHead>
        <Traffic rule=None span />
        <Gates />
    }
}

/// Whether what is configured is what is enforced.
#[component]
fn Gates() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = load(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    kept(replicas, move |replicas| {
        let said = move || replicas.with(|it| Rollout::of(it.tenant_version, &it.data).to_string());
        view! {
            <p class="note">
                "The present rules are "{said}". "<A href=move || tenant.page("replicas")>"Replicas"</A>
            </p>
        }
    })
}

/// Everything counted of one rule, or of all.
#[component]
pub fn Traffic(rule: Option<String>, span: Bind<Span>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let wanted = StoredValue::new(rule);
    let about = move || {
        let (from_ms, to_ms) = span.value.get().bounds_ms(browser::now_ms());
        About { tenant: tenant.get(), rule: wanted.get_value(), from_ms, to_ms }
    };
    let series = load(move || api.series(about()));
    let summary = load(move || api.summary(about()));
    let subjects = load(move || api.top(about(), "subject"));
    let of_all = wanted.with_value(Option::is_none);
    let rules = of_all.then(|| load(move || api.top(about(), "rule")));
    let denials = load(move || {
        let (tenant, rule) = (tenant.get(), wanted.get_value());
        async move { api.denials(&tenant, rule.as_deref()).await }
    });
    let every = move || span.value.get().refresh_s().map(Duration::from_secs);
    repeat(every, move || {
        series.again();
        summary.again();
        subjects.again();
        if let Some(rules) = rules {
            rules.again();
        }
        denials.again();
    });
    let zoom = Callback::new(move |(from_ms, to_ms)| {
        span.set.run(Span::Between { from_ms, to_ms });
    });
    view! {
        {kept(summary, |summary| view! { <Totals summary /> })}
        {kept(series, move |series| view! {
            <SeriesChart label="Checks" series on_zoom=zoom />
            <Freshness
                as_of=Signal::derive(move || series.with(|it| it.as_of))
                dropped=Signal::derive(move || series.with(|it| it.dropped))
            />
        })}
        <div class="columns">
            {rules.map(|rules| busiest(rules, "Rules that deny most"))}
            {busiest(subjects, "Subjects denied most")}
        </div>
        {kept(denials, |denials| view! { <Latest denials /> })}
    }
}

fn busiest(top: Load<weir_wire::stats::Top>, title: &'static str) -> impl IntoView {
    kept(top, move |top| view! { <Busiest title top /> })
}
