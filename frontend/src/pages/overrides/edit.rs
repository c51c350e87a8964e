//! One override: a new one, or a change to one that is there.

use std::collections::BTreeMap;

use leptos::prelude::*;
use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleAnswer;
use weir_wire::words::Action;

use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::field::{Bind, Choice, TextField};
use crate::components::rule_form::{Editor, Limits};
use crate::model::expiry::Expiry;
use crate::model::rule_form::RuleForm;
use crate::pages::shell::TenantId;

/// What holds instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instead {
    Limits,
    Allow,
    Deny,
}

/// The form; `done` follows once it is saved.
#[component]
pub(super) fn Edit(
    before: Option<OverrideAnswer>,
    rules: StoredValue<Vec<RuleAnswer>>,
    done: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let form = Form::of(before.as_ref(), rules);
    let act = Act::with_fields(&["reason", "expires_at"]);
    let title = if before.is_some() { "Edit the override" } else { "New override" };
    let is_new = before.is_none();
    let before = StoredValue::new(before);
    let save = Callback::new(move |()| {
        let Some(body) = form.body() else { return };
        let work = async move {
            let id = tenant.now();
            match before.get_value() {
                Some(before) => api.replace_override(&id, &before, &body).await,
                None => api.create_override(&id, &body).await,
            }
        };
        act.run(work, move |_| done.run(()));
    });
    let stale = move || {
        act.problem.with(|it| it.as_ref().is_some_and(|it| it.code == Some(ErrorCode::Stale)))
    };
    let refused_subject = move || {
        act.problem.with(|problem| {
            let fields = problem.as_ref().map(|it| it.fields.clone()).unwrap_or_default();
            fields.into_iter().find(|it| it.field.starts_with("subject")).map(|it| it.reason)
        })
    };
    view! {
        <ActForm act submit="Save override" on_submit=save cancel=cancel class="panel editor-panel">
            <h2>{title}</h2>
            <Show when=move || is_new><RuleChoice form rules /></Show>
            <SubjectFields subject=form.subject />
            <p class="field-problem">{refused_subject}</p>
            <What form />
            <Until form />
            <TextField label="Reason" value=form.reason problem=act.refused("reason") hint="For people; shown in the list and in the audit log" />
            <Show when=stale>
                <p class="warning" role="note">"Somebody else changed it meanwhile: close this, look at the list, and decide again."</p>
            </Show>
        </ActForm>
    }
}

/// A value for each attribute that a rule counts by.
#[component]
pub(super) fn SubjectFields(subject: RwSignal<Vec<(String, RwSignal<String>)>>) -> impl IntoView {
    move || {
        let field = |(name, value): (String, RwSignal<String>)| {
            view! { <TextField label=format!("Subject: {name}") value hint="* stands for any" /> }
        };
        subject.get().into_iter().map(field).collect::<Vec<_>>()
    }
}

/// The rules that count by something.
pub(super) fn rule_options(rules: StoredValue<Vec<RuleAnswer>>) -> Vec<(String, String)> {
    let option = |rule: &RuleAnswer| {
        (rule.id.clone(), format!("{} / {}", rule.rule.namespace, rule.rule.name))
    };
    rules.with_value(|rules| {
        rules.iter().filter(|rule| !rule.rule.count_by.is_empty()).map(option).collect()
    })
}

/// Empty fields for the subject of a rule.
pub(super) fn fields_of(rule: &RuleAnswer) -> Vec<(String, RwSignal<String>)> {
    rule.rule.count_by.iter().map(|name| (name.clone(), RwSignal::new(String::new()))).collect()
}

/// What is typed into the fields of a subject.
pub(super) fn typed(
    subject: RwSignal<Vec<(String, RwSignal<String>)>>,
) -> BTreeMap<String, String> {
    let value = |(name, value): &(String, RwSignal<String>)| (name.clone(), value.get_untracked());
    subject.with_untracked(|fields| fields.iter().map(value).collect())
}

/// What is typed; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Form {
    rule: RwSignal<String>,
    subject: RwSignal<Vec<(String, RwSignal<String>)>>,
    instead: RwSignal<Instead>,
    editor: Editor,
    expiry: RwSignal<Expiry>,
    day: RwSignal<String>,
    /// An end that was there, kept unless another is chosen.
    kept_end: StoredValue<Option<weir_wire::time::DateTime>>,
    reason: RwSignal<String>,
}

impl Form {
    fn of(before: Option<&OverrideAnswer>, rules: StoredValue<Vec<RuleAnswer>>) -> Self {
        let wanted = before.map(|it| it.body.rule_id.clone());
        let rule = rules.with_value(|rules| {
            let counts = |rule: &&RuleAnswer| !rule.rule.count_by.is_empty();
            let named = rules.iter().find(|rule| Some(&rule.id) == wanted.as_ref());
            named.or_else(|| rules.iter().find(counts)).cloned()
        });
        let rule = rule.expect("the page has a rule that counts by something");
        let body = before.map(|it| &it.body);
        let mut shape = rule.rule.clone();
        if let Some(limits) = body.and_then(|body| body.limits.clone()) {
            shape.limits = limits;
        }
        let instead = match body.map(|body| (&body.limits, body.action)) {
            Some((None, Some(Action::Deny))) => Instead::Deny,
            Some((None, _)) => Instead::Allow,
            _ => Instead::Limits,
        };
        let subject = fields_of(&rule);
        for (name, value) in &subject {
            if let Some(was) = body.and_then(|body| body.subject.get(name)) {
                value.set(was.clone());
            }
        }
        let end = body.and_then(|body| body.expires_at);
        Self {
            rule: RwSignal::new(rule.id.clone()),
            subject: RwSignal::new(subject),
            instead: RwSignal::new(instead),
            editor: Editor::new(RuleForm::of(&shape)),
            expiry: RwSignal::new(Expiry::Never),
            day: RwSignal::new(String::new()),
            kept_end: StoredValue::new(end),
            reason: RwSignal::new(body.and_then(|body| body.reason.clone()).unwrap_or_default()),
        }
    }

    /// The override to send, or nothing while something is wrong, which is shown.
    fn body(self) -> Option<OverrideBody> {
        let (limits, action) = match self.instead.get_untracked() {
            Instead::Limits => (Some(self.editor.submit()?.limits), None),
            Instead::Allow => (None, Some(Action::Allow)),
            Instead::Deny => (None, Some(Action::Deny)),
        };
        let day_end_ms = self.day.with_untracked(|day| browser::day_end_ms(day));
        let chosen = self.expiry.get_untracked().at(browser::now_ms(), day_end_ms).ok()?;
        let reason = self.reason.get_untracked();
        Some(OverrideBody {
            rule_id: self.rule.get_untracked(),
            subject: typed(self.subject),
            limits,
            action,
            expires_at: chosen.or(self.kept_end.get_value()),
            reason: (!reason.trim().is_empty()).then_some(reason),
        })
    }
}

#[component]
fn RuleChoice(form: Form, rules: StoredValue<Vec<RuleAnswer>>) -> impl IntoView {
    let choose = Callback::new(move |id: String| {
        let rule = rules.with_value(|rules| rules.iter().find(|rule| rule.id == id).cloned());
        if let Some(rule) = rule {
            form.subject.set(fields_of(&rule));
            form.editor.reset(RuleForm::of(&rule.rule));
            form.rule.set(id);
        }
    });
    let value = Bind { value: form.rule.into(), set: choose };
    view! { <Choice label="Rule" value options=rule_options(rules) /> }
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

#[component]
fn Until(form: Form) -> impl IntoView {
    let on_day = move || form.expiry.get() == Expiry::On;
    let kept = form.kept_end.get_value().map(|at| {
        let at = browser::local_time(at.0.as_millis());
        view! { <p class="note">"It ends "{at}"; choose another end to change that."</p> }
    });
    view! {
        <Choice label="Ends" value=form.expiry.into() options=Expiry::choices() />
        <Show when=on_day><TextField label="Day" kind="date" value=form.day /></Show>
        {kept}
    }
}
