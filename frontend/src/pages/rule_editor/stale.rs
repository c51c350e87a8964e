//! Somebody else changed the rule meanwhile: both versions in words, and the choice.

use leptos::prelude::*;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleAnswer;

use crate::api::{Api, Problem};
use crate::components::load::{load, loaded};
use crate::components::rule_form::Editor;
use crate::model::difference::fields;
use crate::model::rule_form::RuleForm;
use crate::model::words;
use crate::pages::shell::TenantId;

/// Shown after a save that was stale.
#[component]
pub(super) fn Stale(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    problem: RwSignal<Option<Problem>>,
    save: Callback<()>,
) -> impl IntoView {
    let stale =
        move || problem.with(|it| it.as_ref().is_some_and(|it| it.code == Some(ErrorCode::Stale)));
    view! { <Show when=stale><Versions editor before problem save /></Show> }
}

#[component]
fn Versions(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    problem: RwSignal<Option<Problem>>,
    save: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let theirs = load(move || {
        let (tenant, id) =
            (tenant.now(), before.with_untracked(|it| it.as_ref().map(|it| it.id.clone())));
        async move { api.rule(&tenant, &id.unwrap_or_default()).await }
    });
    let request_id = problem.with_untracked(|it| it.as_ref().and_then(|it| it.request_id.clone()));
    let choice = move |theirs: RuleAnswer| {
        let (kept, taken) = (theirs.clone(), theirs.clone());
        let other = theirs.rule.clone();
        let differ = move || match fields(&editor.rule(), &other) {
            same if same.is_empty() => "nothing".to_owned(),
            names => names.join(", "),
        };
        let overwrite = move |_| {
            before.set(Some(kept.clone()));
            save.run(());
        };
        let reload = move |_| {
            editor.reset(RuleForm::of(&taken.rule));
            before.set(Some(taken.clone()));
            problem.set(None);
        };
        view! {
            <p>"They differ in: "{differ}"."</p>
            <h3>"Theirs, revision "{theirs.revision}</h3>
            <p class="sentence">{words::sentence(&theirs.rule)}</p>
            <h3>"Yours"</h3>
            <p class="sentence">{move || words::sentence(&editor.rule())}</p>
            <div class="actions">
                <button type="button" class="button" on:click=reload>"Load theirs"</button>
                <button type="button" class="button danger" on:click=overwrite>"Overwrite with mine"</button>
            </div>
        }
    };
    view! {
        <div class="warning" role="alert">
            <h2>"Changed by someone else meanwhile"</h2>
            {loaded(theirs, choice)}
            {request_id.map(|id| view! { <p class="quiet">"Request "<code>{id}</code></p> })}
        </div>
    }
}
