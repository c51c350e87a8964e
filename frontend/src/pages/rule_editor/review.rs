//! The review before a rule is published: its difference, a replay of the last hour, the affected subjects, the gates.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::replicas::Replicas;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::{SimulateAnswer, SimulateBody, SimulatedSubject, Source};

use super::preview::RuleWarnings;
use super::publish::Publish;
use super::stale::Stale;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::dialog::Drawer;
use crate::components::difference::DifferenceTable;
use crate::components::feedback::SubmitProblem;
use crate::components::owner::OwnerQuestion;
use crate::components::remote_data::{RemoteData, RemoteState, fetch_data};
use crate::components::rule_form::Editor;
use crate::model::difference::differences;
use crate::model::number::{grouped, quantity};
use crate::model::replay_difference::headline;
use crate::model::{labels, subject, what_if};
use crate::pages::shell::TenantId;

/// The most affected subjects listed.
const SUBJECTS: usize = 8;

#[component]
pub(super) fn Review(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    publish: Publish,
    open: RwSignal<bool>,
) -> impl IntoView {
    view! {
        <Drawer title="Review changes" open>
            <ReviewContent editor before publish open />
        </Drawer>
    }
}

#[component]
fn ReviewContent(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    publish: Publish,
    open: RwSignal<bool>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rule = untrack(|| editor.rule());
    let replay = fetch_replay(api, tenant, rule, before);
    let gates = fetch_data(move || api.replicas(&tenant.get()));
    let unchanged = Memo::new(move |_| {
        before.with(|before| before.as_ref().is_some_and(|before| before.rule == editor.rule()))
    });
    let set = before.with_untracked(|before| before.as_ref()?.managed_by.clone());
    let confirmed = RwSignal::new(set.is_none());
    let publish_now = move || {
        if confirmed.get_untracked() && !unchanged.get_untracked() && !publish.busy.get_untracked()
        {
            publish.run.run(());
        }
    };
    let keys = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            publish_now();
        }
    };
    // The drawer gives the focus to its first button, which closes it.
    browser::focus_rendered(".review .button.primary");
    let label = move || if publish.busy.get() { "Publishing…" } else { "Publish" };
    view! {
        <div class="stack review" on:keydown=keys>
            {move || before.with(|before| changes(before.as_ref(), &editor.rule()))}
            <RuleWarnings editor before />
            {set.map(|set| view! { <OwnerQuestion set what="rule" confirmed /> })}
            <section class="stack" aria-labelledby="replay-heading">
                <h3 id="replay-heading">"Replay of the last hour"</h3>
                {move || replay_view(replay)}
            </section>
            <section class="stack" aria-labelledby="rollout-heading">
                <h3 id="rollout-heading">"Rollout"</h3>
                <p role="status">{move || gates_text(gates)}</p>
            </section>
            <Stale editor before publish />
            <Show when=move || !publish.is_stale()><SubmitProblem problem=publish.problem /></Show>
            <div class="actions">
                <button
                    type="button"
                    class="button primary"
                    title="Ctrl+Enter"
                    disabled=move || publish.busy.get() || unchanged.get() || !confirmed.get()
                    on:click=move |_| publish_now()
                >
                    {label}
                </button>
                <button type="button" class="button" on:click=move |_| open.set(false)>"Back to editing"</button>
            </div>
        </div>
    }
}

/// The difference from the saved rule, or the new rule as a sentence.
fn changes(before: Option<&RuleAnswer>, rule: &RuleBody) -> AnyView {
    match before {
        Some(before) => {
            let creates = format!("This creates revision {} and goes live on all gates.", before.revision + 1);
            let differences = differences(&before.rule, rule);
            let found = !differences.is_empty();
            view! {
                {found.then(|| view! { <p>{creates}</p> })}
                <DifferenceTable label="Changes" differences />
            }
            .into_any()
        }
        None => view! {
            <p>"This creates rule "<b>{rule.name.clone()}</b>" in namespace "<b>{rule.namespace.clone()}</b>"."</p>
            <p class="sentence">{labels::sentence(rule)}</p>
        }
        .into_any(),
    }
}

fn fetch_replay(
    api: Api,
    tenant: TenantId,
    rule: RuleBody,
    before: RwSignal<Option<RuleAnswer>>,
) -> RemoteData<Option<SimulateAnswer>> {
    let rule_id = before.with_untracked(|before| before.as_ref().map(|before| before.id.clone()));
    let body = SimulateBody {
        rule,
        rule_id,
        source: Source::Recorded,
        from: None,
        to: None,
        trace: None,
        plan: None,
        assignments: Vec::new(),
    };
    fetch_data(move || {
        let (tenant, body) = (tenant.get(), body.clone());
        async move {
            let namespace = &body.rule.namespace;
            let recorded = api.recorded(&tenant).await?;
            if recorded.data.iter().all(|recorded| recorded.namespace != *namespace) {
                return Ok(None);
            }
            api.simulate(&tenant, &body).await.map(Some)
        }
        .boxed_local()
    })
}

fn replay_view(replay: RemoteData<Option<SimulateAnswer>>) -> AnyView {
    match replay.state() {
        RemoteState::Loading => view! { <p class="muted" role="status">"Replaying…"</p> }.into_any(),
        RemoteState::Ready(None) => {
            view! { <p class="muted" role="status">"No checks have been recorded in this namespace yet."</p> }.into_any()
        }
        // The rule can be published all the same.
        RemoteState::Failed(problem) => {
            view! { <p class="muted" role="status">"No replay. "{labels::capital(&problem.detail)}"."</p> }.into_any()
        }
        RemoteState::Ready(Some(answer)) if answer.candidate.allowed + answer.candidate.denied == 0 => {
            view! { <p class="muted" role="status">"No recorded check of the last hour matches."</p> }.into_any()
        }
        RemoteState::Ready(Some(answer)) => view! {
            <p class="replay-headline" role="status">{headline(&answer)}</p>
            <p class="note">{what_if::certainty(&answer)}</p>
            {affected(answer.subjects.data)}
        }
        .into_any(),
    }
}

/// The subjects with the greatest changes.
fn affected(subjects: Vec<SimulatedSubject>) -> Option<AnyView> {
    if subjects.is_empty() {
        return None;
    }
    let row = |found: SimulatedSubject| {
        let change = format!("{} → {}", grouped(found.denied_before), grouped(found.denied_after));
        let label = subject::label(&found.subject);
        view! { <tr><th scope="row"><bdi>{label}</bdi></th><td class="number">{change}</td></tr> }
    };
    let rows: Vec<_> = subjects.into_iter().take(SUBJECTS).map(row).collect();
    Some(
        view! {
            <div class="table-wrap" tabindex="0" role="region" aria-label="Affected subjects">
                <table>
                    <thead><tr><th scope="col">"Subject"</th><th scope="col" class="number">"Denied, now → then"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any(),
    )
}

fn gates_text(gates: RemoteData<Replicas>) -> String {
    let Some(gates) = gates.data() else { return "…".to_owned() };
    match gates.data.len() {
        0 => "No gates are running. The rule goes live when one starts.".to_owned(),
        some => format!("Goes live on {}.", quantity(some, "gate", "gates")),
    }
}
