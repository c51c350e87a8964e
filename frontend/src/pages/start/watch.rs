//! The first decision in real time, from the live stream.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::check::CheckBody;
use weir_wire::stats::{Counts, LiveTick};
use weir_wire::tester::TestedRule;

use crate::api::{Api, GateResponse};
use crate::components::badge::PassBadge;
use crate::components::verdict::retry_text;
use crate::model::number::grouped;
use crate::model::subject;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Watch(
    rule_id: String,
    check: CheckBody,
    /// The responses to the checks of this page, which are known before the stream has them.
    responses: RwSignal<Vec<GateResponse>>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (decided, state) = (RwSignal::new(Counts::default()), RwSignal::new(None::<TestedRule>));
    let id = rule_id.clone();
    // The rule's current counters; inspecting them counts nothing.
    let inspect = Callback::new(move |()| {
        let (id, check) = (id.clone(), check.clone());
        spawn_local(async move {
            let Ok(answer) = api.test(&tenant.now(), &check).await else { return };
            state.try_set(answer.rules.into_iter().find(|rule| rule.rule_id == id));
        });
    });
    let tick = Callback::new(move |tick: LiveTick| {
        if let Some(rule) = tick.rules.iter().find(|rule| rule.rule_id == rule_id) {
            decided.update(|decided| {
                // Shadow mode denies nothing.
                decided.allowed += rule.counts.allowed + rule.counts.shadow_denied;
                decided.denied += rule.counts.denied;
            });
            inspect.run(());
        }
    });
    api.subscribe(tenant.now(), tick, Callback::new(|()| ()));
    let counted = move || {
        let (streamed, own) = (decided.get(), responses.with(|all| counts(all)));
        if streamed.checks() < own.checks() { own } else { streamed }
    };
    let shown = move || match counted() {
        counts if counts.checks() == 0 => {
            view! { <p class="waiting">"Waiting for the first check…"</p> }.into_any()
        }
        counts => view! { <Decided counts state /> }.into_any(),
    };
    view! {
        <section class="panel" aria-label="The first decision">
            <h2>"5. The first decision"</h2>
            <div class="stack" aria-live="polite">{shown}</div>
        </section>
    }
}

fn counts(responses: &[GateResponse]) -> Counts {
    let all = u64::try_from(responses.len()).unwrap_or(u64::MAX);
    let allowed = responses.iter().filter(|response| response.answer.allowed).count();
    let allowed = u64::try_from(allowed).unwrap_or(u64::MAX);
    Counts { allowed, denied: all - allowed, ..Counts::default() }
}

#[component]
fn Decided(counts: Counts, state: RwSignal<Option<TestedRule>>) -> impl IntoView {
    let passes = counts.denied == 0;
    let sentence =
        if passes { "It works: the first check arrived." } else { "It works: a check was denied." };
    view! {
        <p class="sentence"><PassBadge passes yes="Allowed" no="Denied" />" "{sentence}</p>
        <p>"So far: "{grouped(counts.allowed)}" allowed, "{grouped(counts.denied)}" denied. "{move || state.with(|tested| tested.as_ref().map(subject_state))}</p>
    }
}

/// The state of the subject in the code above.
fn subject_state(rule: &TestedRule) -> String {
    let subject = rule.subject.as_ref().map(subject::label).unwrap_or_default();
    if let Some(wait_ms) =
        rule.limits.iter().filter(|limit| !limit.allowed).map(|limit| limit.retry_after_ms).max()
    {
        return format!("{} for {subject}.", retry_text(wait_ms));
    }
    let known = rule.limits.iter().filter_map(|limit| Some((limit.remaining?, limit.limit)));
    let left: Vec<_> = known
        .map(|(left, limit)| format!("{} of {} left", grouped(left), grouped(limit)))
        .collect();
    format!("{} for {subject}.", left.join(", "))
}
