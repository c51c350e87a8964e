//! The rule editor, for new and existing rules.

mod effect;
mod stale;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::use_navigate;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Action;

use crate::api::{Api, Problem};
use crate::browser;
use crate::components::feedback::{SubmitProblem, remark};
use crate::components::page::PageHeader;
use crate::components::picture::{RulePicture, SimulatedRule};
use crate::components::remote_data::show;
use crate::components::require_role::RequireRole;
use crate::components::rule_form::{DraftTransfer, Editor, RuleFields};
use crate::model::labels;
use crate::model::number::quantity;
use crate::model::rule_form::RuleForm;
use crate::pages::rule::rule_of_address;
use crate::pages::shell::TenantId;
use effect::SubjectEffects;
use stale::Stale;

#[component]
pub fn NewRule() -> impl IntoView {
    view! {
        <PageHeader title="New rule" />
        <Form before=None />
    }
}

#[component]
pub fn RuleEditor() -> impl IntoView {
    let rule = rule_of_address();
    let title = move || {
        rule.data()
            .map_or_else(|| "Edit rule".to_owned(), |rule| format!("Edit {}", rule.rule.name))
    };
    view! {
        <PageHeader title=Signal::derive(title) />
        {show(rule, |rule| view! { <Form before=Some(rule) /> })}
    }
}

#[component]
fn Form(before: Option<RuleAnswer>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let draft_transfer = expect_context::<DraftTransfer>();
    let draft = draft_transfer.take(before.as_ref().map(|rule| rule.id.as_str()));
    let start = draft.or_else(|| before.as_ref().map(|rule| rule.rule.clone()));
    let editor = Editor::new(start.as_ref().map_or_else(RuleForm::new, RuleForm::of));
    let back =
        before.as_ref().map_or_else(|| "rules".to_owned(), |before| format!("rules/{}", before.id));
    let action = if before.is_some() { "Save rule" } else { "Create rule" };
    let before = RwSignal::new(before);
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let navigate = use_navigate();
    let save = Callback::new(move |()| {
        problem.set(None);
        let Some(rule) = editor.submit() else { return browser::focus_first_invalid() };
        busy.set(true);
        let navigate = navigate.clone();
        spawn_local(async move {
            let id = tenant.now();
            let answer = match before.get_untracked() {
                Some(before) => api.replace_rule(&id, &before, &rule).await,
                None => api.create_rule(&id, &rule).await,
            };
            busy.try_set(false);
            match answer {
                Ok(rule) => {
                    navigate(&format!("/t/{id}/rules/{}", rule.id), NavigateOptions::default());
                }
                Err(rejected) => {
                    editor.refuse(named(&rejected));
                    problem.try_set(Some(rejected));
                }
            }
        });
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        save.run(());
    };
    view! {
        <form class="editor" on:submit=submit>
            <div class="stack"><RuleFields editor /></div>
            <div class="preview">
                <Preview editor />
                <Simulation editor />
                <Stale editor before problem save />
                <SaveProblem problem />
                <ProblemCount editor />
                <div class="actions">
                    <RequireRole role=Role::Editor>
                        <button type="submit" class="button primary" disabled=busy>
                            {move || if busy.get() { "Saving…" } else { action }}
                        </button>
                    </RequireRole>
                    <ReplayButton editor before />
                    <A href=move || tenant.page(&back) attr:class="button">"Cancel"</A>
                </div>
                <SubjectEffects editor before />
            </div>
        </form>
    }
}

/// Opens a what-if run with the unsaved rule.
#[component]
fn ReplayButton(editor: Editor, before: RwSignal<Option<RuleAnswer>>) -> impl IntoView {
    let (tenant, draft_transfer) =
        (expect_context::<TenantId>(), expect_context::<DraftTransfer>());
    let navigate = use_navigate();
    let go = move |_| {
        let Some(rule) = editor.submit() else { return browser::focus_first_invalid() };
        let id = before.with_untracked(|rule| rule.as_ref().map(|rule| rule.id.clone()));
        let query = id.as_ref().map(|id| format!("?rule={id}")).unwrap_or_default();
        draft_transfer.put(id, rule);
        navigate(&format!("/t/{}/what-if{query}", tenant.now()), NavigateOptions::default());
    };
    view! { <button type="button" class="button" on:click=go>"Replay on recorded traffic"</button> }
}

/// The rule as a sentence, with its warnings.
#[component]
fn Preview(editor: Editor) -> impl IntoView {
    let sentence = Memo::new(move |_| labels::sentence(&editor.rule()));
    let warnings = Memo::new(move |_| editor.form.with(RuleForm::warnings));
    let shown = move || {
        let warnings = warnings.get().into_iter();
        warnings.map(|warning| remark(&warning)).collect::<Vec<_>>()
    };
    view! {
        <h2>"Summary"</h2>
        <p class="sentence" aria-live="polite">{sentence}</p>
        {shown}
    }
}

/// The simulation, for rules with limits.
#[component]
fn Simulation(editor: Editor) -> impl IntoView {
    let limited = Memo::new(move |_| editor.form.with(|form| form.action == Action::Limit));
    let rule = Memo::new(move |_| editor.form.with(RuleForm::for_picture).map(SimulatedRule));
    view! { <Show when=move || limited.get()><RulePicture rule /></Show> }
}

/// The number of problems, once saving was attempted.
#[component]
fn ProblemCount(editor: Editor) -> impl IntoView {
    let text = move || match editor.shown_problems() {
        0 => String::new(),
        some => format!("Fix {} before saving", quantity(some, "field", "fields")),
    };
    view! { <p class="field-problem" role="status">{text}</p> }
}

/// The server's problem, except a stale edit, which has a panel of its own.
#[component]
fn SaveProblem(problem: RwSignal<Option<Problem>>) -> impl IntoView {
    let stale = move || {
        problem.with(|problem| {
            problem.as_ref().is_some_and(|problem| problem.code == Some(ErrorCode::Stale))
        })
    };
    view! { <Show when=move || !stale()><SubmitProblem problem /></Show> }
}

/// The rejected fields; a name that is taken is a problem of the name field.
fn named(problem: &Problem) -> Vec<weir_wire::problem::FieldProblem> {
    let mut fields = problem.fields.clone();
    if problem.code == Some(ErrorCode::NameTaken) && fields.is_empty() {
        fields.push(weir_wire::problem::FieldProblem::new(
            "name",
            "is already used in this namespace",
        ));
    }
    fields
}
