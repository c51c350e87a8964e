//! The conflict shown when the rule was changed by someone else: both versions as text, and the choice.

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;

use super::publish::Publish;
use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::remote_data::{fetch_data, show};
use crate::components::rule_form::Editor;
use crate::model::difference::fields;
use crate::model::labels;
use crate::model::rule_form::RuleForm;
use crate::pages::shell::TenantId;

/// Shown after a save that failed with `stale`.
#[component]
pub(super) fn Stale(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    publish: Publish,
) -> impl IntoView {
    view! { <Show when=move || publish.is_stale()><Versions editor before publish /></Show> }
}

#[component]
fn Versions(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    publish: Publish,
) -> impl IntoView {
    let problem = publish.problem;
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let theirs = fetch_data(move || {
        let (tenant, id) = (
            tenant.now(),
            before.with_untracked(|before| before.as_ref().map(|before| before.id.clone())),
        );
        api.rule(&tenant, &id.unwrap_or_default())
    });
    let request_id = problem
        .with_untracked(|problem| problem.as_ref().and_then(|problem| problem.request_id.clone()));
    let choice = move |theirs: RuleAnswer| {
        let (own, taken) = (theirs.clone(), theirs.clone());
        let other = theirs.rule.clone();
        let differ = move || match fields(&editor.rule(), &other) {
            same if same.is_empty() => "nothing".to_owned(),
            names => names.join(", "),
        };
        let overwrite = move |_| {
            before.set(Some(own.clone()));
            publish.run.run(());
        };
        let reload = move |_| {
            editor.reset(RuleForm::of(&taken.rule));
            before.set(Some(taken.clone()));
            problem.set(None);
        };
        view! {
            <p>"Changed: "{differ}"."</p>
            <h3>"Saved version, revision "{theirs.revision}</h3>
            <p class="sentence">{labels::sentence(&theirs.rule)}</p>
            <h3>"Yours"</h3>
            <p class="sentence">{move || labels::sentence(&editor.rule())}</p>
            <div class="actions">
                <button type="button" class="button" on:click=reload>"Discard my changes"</button>
                <button type="button" class="button danger" on:click=overwrite>"Save mine anyway"</button>
            </div>
        }
    };
    view! {
        <div class="warning" role="alert">
            <h2>"Someone else changed this while you were editing"</h2>
            {show(theirs, choice)}
            {request_id.map(|id| view! { <p class="muted">"Request ID: "<code>{id}</code></p> })}
        </div>
    }
}
