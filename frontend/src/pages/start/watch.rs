//! The first decision, as it is made: what the rule decides, told by the server once a second.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::check::CheckBody;
use weir_wire::stats::{Counts, LiveTick};
use weir_wire::tester::TestedRule;

use crate::api::Api;
use crate::components::badge::PassBadge;
use crate::components::verdict::again;
use crate::model::number::grouped;
use crate::model::words;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Watch(rule_id: String, check: CheckBody) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (decided, state) = (RwSignal::new(Counts::default()), RwSignal::new(None::<TestedRule>));
    let id = rule_id.clone();
    // Where the rule stands now, which counts nothing.
    let look = Callback::new(move |()| {
        let (id, check) = (id.clone(), check.clone());
        spawn_local(async move {
            let Ok(answer) = api.test(&tenant.now(), &check).await else { return };
            state.try_set(answer.rules.into_iter().find(|rule| rule.rule_id == id));
        });
    });
    let tick = Callback::new(move |tick: LiveTick| {
        if let Some(rule) = tick.rules.iter().find(|rule| rule.rule_id == rule_id) {
            decided.update(|decided| {
                decided.allowed += rule.counts.allowed;
                decided.denied += rule.counts.denied;
            });
            look.run(());
        }
    });
    api.follow(tenant.now(), tick, Callback::new(|()| ()));
    let shown = move || match decided.get() {
        counts if counts.checks() == 0 => {
            view! { <p class="waiting">"Waiting for the first check…"</p> }.into_any()
        }
        counts => view! { <Decided counts state /> }.into_any(),
    };
    view! {
        <section class="panel" aria-label="The first decision">
            <h2>"4. The first decision"</h2>
            <div class="stack" aria-live="polite">{shown}</div>
        </section>
    }
}

#[component]
fn Decided(counts: Counts, state: RwSignal<Option<TestedRule>>) -> impl IntoView {
    let passes = counts.denied == 0;
    let told = if passes {
        "It works: the first check has arrived."
    } else {
        "It works: a check was refused."
    };
    view! {
        <p class="sentence"><PassBadge passes yes="Allowed" no="Denied" />" "{told}</p>
        <p>"So far "{grouped(counts.allowed)}" allowed and "{grouped(counts.denied)}" denied. "{move || state.with(|it| it.as_ref().map(stands))}</p>
    }
}

/// Where the rule stands with the subject of the code above.
fn stands(rule: &TestedRule) -> String {
    let subject = rule.subject.as_ref().map(words::subject).unwrap_or_default();
    if let Some(wait_ms) =
        rule.limits.iter().filter(|it| !it.allowed).map(|it| it.retry_after_ms).max()
    {
        return format!("The next check of {subject} could {}.", again(wait_ms));
    }
    let known = rule.limits.iter().filter_map(|it| Some((it.remaining?, it.limit)));
    let left: Vec<_> = known
        .map(|(left, limit)| format!("{} of {} left", grouped(left), grouped(limit)))
        .collect();
    format!("{} for {subject}.", left.join(", "))
}
