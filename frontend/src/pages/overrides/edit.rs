//! Creating or editing an override.

mod form;
mod stale;

use leptos::prelude::*;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleAnswer;

use super::state::OverrideFilter;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::field::{Binding, Choice, TextField};
use crate::components::owner::OwnerQuestion;
use crate::components::rule_form::EffectFields;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::components::seen::SeenAttributes;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;
use crate::model::expiry::Expiry;
use crate::model::rule_choice::by_id;
use crate::pages::shell::TenantId;
use form::Form;
pub(super) use form::{Subject, fields_of, typed};
use stale::{SaveTarget, Stale};

/// The form; `done` is called once it is saved.
#[component]
pub(super) fn Edit(
    before: Option<OverrideAnswer>,
    filter: OverrideFilter,
    rules: Rules,
    done: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let preferred = before
        .as_ref()
        .map_or_else(|| filter.rule.value.get_untracked(), |before| before.body.rule_id.clone());
    let counts = |rule: &RuleAnswer| !rule.rule.count_by.is_empty();
    let rule = rules.rule(&preferred).filter(counts).or_else(|| rules.first());
    let form =
        Form::of(before.as_ref(), &rule.expect("the page has a rule that counts by something"));
    let (action, toasts) = (
        SubmitAction::with_fields(&["reason", "starts_at", "expires_at"]),
        expect_context::<Toasts>(),
    );
    let is_new = before.is_none();
    let set = before.as_ref().and_then(|before| before.managed_by.clone());
    let rejected_start = action.server_problem("starts_at");
    let start_problem =
        Signal::derive(move || form.start_problem().or_else(|| rejected_start.get()));
    let confirmed = RwSignal::new(set.is_none());
    let incomplete = Signal::derive(move || !confirmed.get());
    let before = RwSignal::new(before);
    let save = Callback::new(move |()| {
        let Some(body) = form.submit() else { return };
        let work = async move {
            let id = tenant.now();
            match before.get_untracked() {
                Some(before) => api.replace_override(&id, &before, &body).await,
                None => api.create_override(&id, &body).await,
            }
        };
        action.run(work, move |_| {
            toasts.show("Override saved");
            done.run(());
        });
    });
    let refused_subject = Signal::derive(move || {
        action.problem.with(|problem| {
            let fields = problem.as_ref().map(|problem| problem.fields.clone()).unwrap_or_default();
            fields
                .into_iter()
                .find(|rejected| rejected.field.starts_with("subject"))
                .map(|rejected| rejected.reason)
        })
    });
    let subject_problem = Signal::derive(move || form.subject_problem());
    let target = SaveTarget { before, rules, action, save };
    view! {
        <SubmitForm action submit="Save override" on_submit=save cancel=cancel handled_code=ErrorCode::Stale incomplete class="panel editor-panel">
            {set.map(|set| view! { <OwnerQuestion set what="override" confirmed /> })}
            <Show when=move || is_new><RuleChoice form rules /></Show>
            <SubjectFields subject=form.subject problem=subject_problem wildcard=true />
            <p class="field-problem">{refused_subject}</p>
            <EffectFields input=form.effect problem=Signal::derive(move || form.effect_problem()) />
            <TextField label="Starts at" value=form.start problem=start_problem hint="Optional, such as 2027-01-31T08:00:00Z. Empty: at once" />
            <ExpiryFields form rejected=action.server_problem("expires_at") />
            <TextField label="Reason" value=form.reason problem=action.server_problem("reason") hint="Optional. Shown here and in the audit log." />
            <Stale form target />
        </SubmitForm>
    }
}

/// A field for each attribute that the rule counts by. `problem` is shown beside the empty ones.
#[component]
pub(super) fn SubjectFields(
    subject: Subject,
    problem: Signal<Option<String>>,
    /// Whether a field takes `*` for any value.
    #[prop(optional)]
    wildcard: bool,
) -> impl IntoView {
    let seen = expect_context::<SeenAttributes>();
    move || {
        let field = |(name, value): (String, RwSignal<String>)| {
            let attribute = name.clone();
            let suggestions = seen.values(move || attribute.clone());
            let hint = if wildcard { "Use * for any value" } else { "" };
            let problem =
                Signal::derive(move || problem.get().filter(|_| value.with(String::is_empty)));
            view! { <TextField label=format!("Subject: {name}") value hint problem suggestions /> }
        };
        subject.get().into_iter().map(field).collect::<Vec<_>>()
    }
}

#[component]
fn RuleChoice(form: Form, rules: Rules) -> impl IntoView {
    let choose = Callback::new(move |id: String| {
        if let Some(rule) = rules.rule(&id) {
            form.choose(&rule);
        }
    });
    let value = Binding { value: form.rule.into(), set: choose };
    view! { <RulePicker label="Rule" rules value options=by_id /> }
}

/// The expiry; `rejected` is the server's problem with it.
#[component]
fn ExpiryFields(form: Form, rejected: Signal<Option<String>>) -> impl IntoView {
    let on_day = Memo::new(move |_| form.expiry.get() == Expiry::On);
    let problem = move || form.end_problem().or_else(|| rejected.get());
    let of_choice = Signal::derive(move || if on_day.get() { None } else { problem() });
    let of_day = Signal::derive(problem);
    let choice = move || {
        let as_it_is = form.end_before.get().map(|at| {
            let when = browser::local_time(at.0.as_millis());
            (Expiry::AsItIs(at), format!("Unchanged: {when}"))
        });
        let options = as_it_is.into_iter().chain(Expiry::choices()).collect();
        view! { <Choice label="Expires" value=form.expiry.into() options problem=of_choice /> }
    };
    view! {
        {choice}
        <Show when=move || on_day.get()>
            <TextField label="Day" kind="date" value=form.day problem=of_day hint=browser::day_end_hint() />
        </Show>
    }
}
