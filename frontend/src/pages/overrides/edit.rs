//! One override: a new one, or a change to one that is there.

mod form;
mod stale;

use leptos::prelude::*;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleAnswer;

use super::Wanted;
use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::field::{Bind, Choice, TextField};
use crate::components::rule_form::Limits;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::model::expiry::Expiry;
use crate::model::rule_choice::by_id;
use crate::model::rule_form::RuleForm;
use crate::pages::shell::TenantId;
use form::{Form, Instead};
pub(super) use form::{Subject, fields_of, typed};
use stale::{Meets, Stale};

/// The form; `done` follows once it is saved.
#[component]
pub(super) fn Edit(
    before: Option<OverrideAnswer>,
    wanted: Wanted,
    rules: Rules,
    done: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let asked =
        before.as_ref().map_or_else(|| wanted.rule.get_untracked(), |it| it.body.rule_id.clone());
    let counts = |rule: &RuleAnswer| !rule.rule.count_by.is_empty();
    let rule = rules.rule(&asked).filter(counts).or_else(|| rules.first());
    let form =
        Form::of(before.as_ref(), &rule.expect("the page has a rule that counts by something"));
    let act = Act::with_fields(&["reason", "expires_at"]);
    let title = if before.is_some() { "Edit the override" } else { "New override" };
    let is_new = before.is_none();
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
        act.run(work, move |_| done.run(()));
    });
    let refused_subject = move || {
        act.problem.with(|problem| {
            let fields = problem.as_ref().map(|it| it.fields.clone()).unwrap_or_default();
            fields.into_iter().find(|it| it.field.starts_with("subject")).map(|it| it.reason)
        })
    };
    let meets = Meets { before, rules, act, save };
    view! {
        <ActForm act submit="Save override" on_submit=save cancel=cancel told_apart=ErrorCode::Stale class="panel editor-panel">
            <h2>{title}</h2>
            <Show when=move || is_new><RuleChoice form rules /></Show>
            <SubjectFields subject=form.subject />
            <p class="field-problem">{refused_subject}</p>
            <What form />
            <Until form refused=act.refused("expires_at") />
            <TextField label="Reason" value=form.reason problem=act.refused("reason") hint="For people; shown in the list and in the audit log" />
            <Stale form meets />
        </ActForm>
    }
}

/// A value for each attribute that a rule counts by.
#[component]
pub(super) fn SubjectFields(subject: Subject) -> impl IntoView {
    move || {
        let field = |(name, value): (String, RwSignal<String>)| {
            view! { <TextField label=format!("Subject: {name}") value hint="* stands for any" /> }
        };
        subject.get().into_iter().map(field).collect::<Vec<_>>()
    }
}

#[component]
fn RuleChoice(form: Form, rules: Rules) -> impl IntoView {
    let choose = Callback::new(move |id: String| {
        if let Some(rule) = rules.rule(&id) {
            form.subject.set(fields_of(&rule));
            form.editor.reset(RuleForm::of(&rule.rule));
            form.rule.set(id);
        }
    });
    let value = Bind { value: form.rule.into(), set: choose };
    view! { <RulePicker label="Rule" rules value options=by_id /> }
}

#[component]
fn What(form: Form) -> impl IntoView {
    let options = vec![
        (Instead::Limits, "other limits".to_owned()),
        (Instead::Allow, "it always passes".to_owned()),
        (Instead::Deny, "it is always refused".to_owned()),
    ];
    view! {
        <Choice label="Instead" value=form.instead.into() options />
        <Show when=move || form.instead.get() == Instead::Limits><Limits editor=form.editor /></Show>
    }
}

/// When it ends; `refused` is what the server said of that.
#[component]
fn Until(form: Form, refused: Signal<Option<String>>) -> impl IntoView {
    let on_day = Memo::new(move |_| form.expiry.get() == Expiry::On);
    let problem = move || form.end_problem().or_else(|| refused.get());
    let of_choice = Signal::derive(move || if on_day.get() { None } else { problem() });
    let of_day = Signal::derive(problem);
    let choice = move || {
        let as_it_is = form.end_before.get().map(|at| {
            let when = browser::local_time(at.0.as_millis());
            (Expiry::AsItIs(at), format!("as it is: {when}"))
        });
        let options = as_it_is.into_iter().chain(Expiry::choices()).collect();
        view! { <Choice label="Ends" value=form.expiry.into() options problem=of_choice /> }
    };
    view! {
        {choice}
        <Show when=move || on_day.get()>
            <TextField label="Day" kind="date" value=form.day problem=of_day hint="At its end, in your time zone" />
        </Show>
    }
}
