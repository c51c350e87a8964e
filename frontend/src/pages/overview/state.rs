//! The state of the traffic and of the gates as one sentence.

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::replicas::{NamedRule, Replicas, RulesWithoutRedis, WithoutRedis};
use weir_wire::stats::Top;
use weir_wire::time::DateTime;

use crate::api::Api;
use crate::browser::clock_time;
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::time::{Clock, RelativeTime};
use crate::components::timer::repeat;
use crate::model::alert_labels::recently_fired;
use crate::model::health::{Health, Level, health, outage};
use crate::model::number::grouped;
use crate::model::rollout::Rollout;
use crate::pages::shell::TenantId;
use crate::pages::traffic::Traffic;

/// The most alerts that are named.
const FIRED_NAMED: usize = 4;

/// The most urgent finding, and whether the gates serve the current rules.
#[component]
pub(super) fn StateSentence(traffic: Traffic, rules: RemoteData<Top>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    repeat(|| Some(Duration::from_secs(5)), move || replicas.poll());
    let gates = replicas.latest(|found: Replicas| {
        Some((Rollout::of(found.tenant_version, &found.data), outage(&found, clock_time)))
    });
    let away = Memo::new(move |_| replicas.data().and_then(|found| found.without_redis));
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
            let more = fired.len().saturating_sub(FIRED_NAMED);
            let more = (more > 0).then(|| format!(" And {more} more."));
            let fired: Vec<_> = fired.into_iter().take(FIRED_NAMED).map(alert).collect();
            view! { <p class="fired">"Alerts fired:"{fired}{more}</p> }
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
            {move || away.get().map(|away| consequences(tenant, away))}
            {alerts}
            <p class="note">
                "Current rules: "{rules}". "<A href=move || tenant.page("gates")>"Gates"</A>
            </p>
        </section>
    }
}

/// The answers of the enforced rules without Redis.
fn consequences(tenant: TenantId, away: WithoutRedis) -> impl IntoView {
    let WithoutRedis { allow, local, deny, .. } = away;
    let groups = [
        (allow, "allows every check", "allow every check"),
        (local, "divides its limit among the gates", "divide their limits among the gates"),
        (deny, "denies every check", "deny every check"),
    ];
    let some = groups.into_iter().filter(|(rules, ..)| rules.count > 0);
    let group = |(rules, one, many): (RulesWithoutRedis, &'static str, &'static str)| {
        let (noun, verb) = if rules.count == 1 { (" rule ", one) } else { (" rules ", many) };
        let more = rules.count - u64::try_from(rules.first.len()).unwrap_or(0);
        let name = |(at, NamedRule { id, name }): (usize, NamedRule)| {
            let start = if at == 0 { ": " } else { ", " };
            view! { {start}<A href=move || tenant.page(&format!("rules/{id}"))>{name}</A> }
        };
        let names: Vec<_> = rules.first.into_iter().enumerate().map(name).collect();
        let more = (more > 0).then(|| {
            view! { " "<A href=move || tenant.page("rules")>"and "{grouped(more)}" more"</A> }
        });
        view! { <li>{grouped(rules.count)}{noun}{verb}{names}{more}</li> }
    };
    let groups: Vec<_> = some.map(group).collect();
    let none = groups.is_empty().then_some("No enforced rule needs Redis.");
    view! { <ul>{none}{groups}</ul> }
}
