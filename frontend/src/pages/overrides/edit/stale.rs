//! The conflict shown when the override was changed by someone else: the differences, and the choice.

use leptos::prelude::*;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::problem::ErrorCode;

use super::form::Form;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::difference::DifferenceTable;
use crate::components::remote_data::{fetch_data, show};
use crate::components::rule_picker::Rules;
use crate::components::submit::SubmitAction;
use crate::model::override_labels::differences;
use crate::pages::shell::TenantId;

/// The override and the form that a save can conflict with; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct SaveTarget {
    /// The stored override being edited; `None` for a new one.
    pub before: RwSignal<Option<OverrideAnswer>>,
    pub rules: Rules,
    pub action: SubmitAction,
    pub save: Callback<()>,
}

/// Shown after a save that failed with `stale`.
#[component]
pub(super) fn Stale(form: Form, target: SaveTarget) -> impl IntoView {
    let stale = move || {
        let stale = |code| code == Some(ErrorCode::Stale);
        target
            .action
            .problem
            .with(|problem| problem.as_ref().is_some_and(|problem| stale(problem.code)))
    };
    view! { <Show when=stale><Versions form target /></Show> }
}

#[component]
fn Versions(form: Form, target: SaveTarget) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let theirs = fetch_data(move || {
        let id =
            target.before.with_untracked(|before| before.as_ref().map(|before| before.id.clone()));
        api.get_override(&tenant.now(), &id.unwrap_or_default())
    });
    view! {
        <div class="warning" role="alert">
            <h2>"Someone else changed this while you were editing"</h2>
            {show(theirs, move |theirs| view! { <Choices theirs form target /> })}
        </div>
    }
}

#[component]
fn Choices(theirs: OverrideAnswer, form: Form, target: SaveTarget) -> impl IntoView {
    let revision = theirs.revision;
    let theirs = StoredValue::new(theirs);
    let table = move || {
        let yours = form.body()?;
        let time = |at: weir_wire::time::DateTime| browser::local_time(at.0.as_millis());
        let differences = theirs.with_value(|theirs| differences(&theirs.body, &yours, time));
        Some(view! { <DifferenceTable label="Changes" differences sides=("Saved", "Yours") /> })
    };
    let overwrite = move |_| {
        target.before.set(Some(theirs.get_value()));
        target.save.run(());
    };
    let reload = move |_| {
        let theirs = theirs.get_value();
        if let Some(rule) = target.rules.rule(&theirs.body.rule_id) {
            form.fill(&theirs.body, &rule);
        }
        target.before.set(Some(theirs));
        target.action.problem.set(None);
    };
    view! {
        <p>"Your changes are still here. The saved version is revision "{revision}". The differences are:"</p>
        {table}
        <div class="actions">
            <button type="button" class="button" on:click=reload>"Discard my changes"</button>
            <button type="button" class="button danger" on:click=overwrite>"Save mine anyway"</button>
        </div>
    }
}
