//! Somebody else changed the override meanwhile: in what both versions differ, and the choice.

use leptos::prelude::*;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::problem::ErrorCode;

use super::form::Form;
use crate::api::Api;
use crate::browser;
use crate::components::act::Act;
use crate::components::difference::DifferenceTable;
use crate::components::load::{load, loaded};
use crate::components::rule_picker::Rules;
use crate::model::override_words::differences;
use crate::pages::shell::TenantId;

/// What a save meets; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meets {
    /// What is changed; none while it is new.
    pub before: RwSignal<Option<OverrideAnswer>>,
    pub rules: Rules,
    pub act: Act,
    pub save: Callback<()>,
}

/// Shown after a save that was stale.
#[component]
pub(super) fn Stale(form: Form, meets: Meets) -> impl IntoView {
    let stale = move || {
        let stale = |code| code == Some(ErrorCode::Stale);
        meets.act.problem.with(|it| it.as_ref().is_some_and(|it| stale(it.code)))
    };
    view! { <Show when=stale><Versions form meets /></Show> }
}

#[component]
fn Versions(form: Form, meets: Meets) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let theirs = load(move || {
        let id = meets.before.with_untracked(|it| it.as_ref().map(|it| it.id.clone()));
        async move { api.override_now(&tenant.now(), &id.unwrap_or_default()).await }
    });
    view! {
        <div class="warning" role="alert">
            <h2>"Changed by someone else meanwhile"</h2>
            {loaded(theirs, move |theirs| view! { <Choices theirs form meets /> })}
        </div>
    }
}

#[component]
fn Choices(theirs: OverrideAnswer, form: Form, meets: Meets) -> impl IntoView {
    let revision = theirs.revision;
    let theirs = StoredValue::new(theirs);
    let table = move || {
        let yours = form.body()?;
        let time = |at: weir_wire::time::DateTime| browser::local_time(at.0.as_millis());
        let differences = theirs.with_value(|it| differences(&it.body, &yours, time));
        Some(
            view! { <DifferenceTable label="What differs" differences sides=("Theirs", "Yours") /> },
        )
    };
    let overwrite = move |_| {
        meets.before.set(Some(theirs.get_value()));
        meets.save.run(());
    };
    let reload = move |_| {
        let it = theirs.get_value();
        if let Some(rule) = meets.rules.rule(&it.body.rule_id) {
            form.fill(&it.body, &rule);
        }
        meets.before.set(Some(it));
        meets.act.problem.set(None);
    };
    view! {
        <p>"Nothing of yours is lost. Theirs is revision "{revision}"; this is where they differ:"</p>
        {table}
        <div class="actions">
            <button type="button" class="button" on:click=reload>"Load theirs"</button>
            <button type="button" class="button danger" on:click=overwrite>"Overwrite with mine"</button>
        </div>
    }
}
