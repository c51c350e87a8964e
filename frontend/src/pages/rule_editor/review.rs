//! The review before a rule is published: its difference, a replay of the last hour, the affected subjects, the gates.

use leptos::prelude::*;
use weir_wire::replicas::Replicas;
use weir_wire::rules::{RuleAnswer, RuleBody};

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
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::rule_form::Editor;
use crate::model::difference::differences;
use crate::model::labels;
use crate::model::number::quantity;
use crate::pages::replay_summary::{fetch_replay, last_hour, replay_view};
use crate::pages::shell::TenantId;

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
    let rule_id = before.with_untracked(|before| before.as_ref().map(|before| before.id.clone()));
    let replay = fetch_replay(api, tenant, last_hour(rule, rule_id, None));
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

fn gates_text(gates: RemoteData<Replicas>) -> String {
    let Some(gates) = gates.data() else { return "…".to_owned() };
    match gates.data.len() {
        0 => "No gates are running. The rule goes live when one starts.".to_owned(),
        some => format!("Goes live on {}.", quantity(some, "gate", "gates")),
    }
}
