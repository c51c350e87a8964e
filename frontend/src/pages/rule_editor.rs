//! The rule editor: a new rule, or a change to one that is there.

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
use crate::components::feedback::{ActProblem, remark};
use crate::components::load::loaded;
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::components::picture::{Picturable, RulePicture};
use crate::components::rule_form::{Carried, Editor, RuleFields};
use crate::model::number::counted;
use crate::model::rule_form::RuleForm;
use crate::model::words;
use crate::pages::rule::rule_of_address;
use crate::pages::shell::TenantId;
use effect::Effects;
use stale::Stale;

/// A new rule.
#[component]
pub fn NewRule() -> impl IntoView {
    view! {
        <PageHead title="New rule" />
        <Form before=None />
    }
}

/// A change to a rule.
#[component]
pub fn RuleEditor() -> impl IntoView {
    let rule = rule_of_address();
    let title = move || {
        rule.data()
            .map_or_else(|| "Edit rule".to_owned(), |rule| format!("Edit {}", rule.rule.name))
    };
    view! {
        <PageHead title=Signal::derive(title) />
        {loaded(rule, |rule| view! { <Form before=Some(rule) /> })}
    }
}

#[component]
fn Form(before: Option<RuleAnswer>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let carried = expect_context::<Carried>();
    let brought = carried.take(before.as_ref().map(|it| it.id.as_str()));
    let start = brought.or_else(|| before.as_ref().map(|it| it.rule.clone()));
    let editor = Editor::new(start.as_ref().map_or_else(RuleForm::new, RuleForm::of));
    let back =
        before.as_ref().map_or_else(|| "rules".to_owned(), |before| format!("rules/{}", before.id));
    let act = if before.is_some() { "Save rule" } else { "Create rule" };
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
                Err(refused) => {
                    editor.refuse(named(&refused));
                    problem.try_set(Some(refused));
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
                <Drawn editor />
                <Stale editor before problem save />
                <Refused problem />
                <Wrong editor />
                <div class="actions">
                    <Needs role=Role::Editor>
                        <button type="submit" class="button primary" disabled=busy>
                            {move || if busy.get() { "Saving…" } else { act }}
                        </button>
                    </Needs>
                    <Tried editor before />
                    <A href=move || tenant.page(&back) attr:class="button">"Cancel"</A>
                </div>
                <Effects editor before />
            </div>
        </form>
    }
}

/// The rule as it stands, on the checks there were.
#[component]
fn Tried(editor: Editor, before: RwSignal<Option<RuleAnswer>>) -> impl IntoView {
    let (tenant, carried) = (expect_context::<TenantId>(), expect_context::<Carried>());
    let navigate = use_navigate();
    let go = move |_| {
        let Some(rule) = editor.submit() else { return browser::focus_first_invalid() };
        let id = before.with_untracked(|it| it.as_ref().map(|it| it.id.clone()));
        let query = id.as_ref().map(|id| format!("?rule={id}")).unwrap_or_default();
        carried.put(id, rule);
        navigate(&format!("/t/{}/what-if{query}", tenant.now()), NavigateOptions::default());
    };
    view! { <button type="button" class="button" on:click=go>"What would it do?"</button> }
}

/// The rule as one sentence, and what to know about it.
#[component]
fn Preview(editor: Editor) -> impl IntoView {
    let sentence = Memo::new(move |_| words::sentence(&editor.rule()));
    let warnings = Memo::new(move |_| editor.form.with(RuleForm::warnings));
    let shown = move || {
        let warnings = warnings.get().into_iter();
        warnings.map(|it| remark(&it)).collect::<Vec<_>>()
    };
    view! {
        <h2>"In words"</h2>
        <p class="sentence" aria-live="polite">{sentence}</p>
        {shown}
    }
}

/// What the rule does, for rules that limit.
#[component]
fn Drawn(editor: Editor) -> impl IntoView {
    let limited = Memo::new(move |_| editor.form.with(|form| form.action == Action::Limit));
    let rule = Memo::new(move |_| editor.form.with(RuleForm::for_picture).map(Picturable));
    view! { <Show when=move || limited.get()><RulePicture rule /></Show> }
}

/// How much is wrong, once saving was tried.
#[component]
fn Wrong(editor: Editor) -> impl IntoView {
    let text = move || match editor.shown_problems() {
        0 => String::new(),
        some => format!("{} to mend before it can be saved", counted(some, "field", "fields")),
    };
    view! { <p class="field-problem" role="status">{text}</p> }
}

/// What the server refused, unless it is a stale edit, which has its own panel.
#[component]
fn Refused(problem: RwSignal<Option<Problem>>) -> impl IntoView {
    let stale =
        move || problem.with(|it| it.as_ref().is_some_and(|it| it.code == Some(ErrorCode::Stale)));
    view! { <Show when=move || !stale()><ActProblem problem /></Show> }
}

/// The refused fields; a name that is taken is a problem of the name.
fn named(problem: &Problem) -> Vec<weir_wire::problem::FieldProblem> {
    let mut fields = problem.fields.clone();
    if problem.code == Some(ErrorCode::NameTaken) && fields.is_empty() {
        fields.push(weir_wire::problem::FieldProblem::new("name", "is in use in this namespace"));
    }
    fields
}
