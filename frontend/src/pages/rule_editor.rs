//! The rule editor, for new and existing rules: input, preview, review, publication.

mod effect;
mod footer;
mod preview;
mod publish;
mod retained;
mod review;
mod stale;
mod suggestion;

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;

use crate::browser;
use crate::components::feedback::Skeleton;
use crate::components::mini_picture::MiniPicture;
use crate::components::page::PageHeader;
use crate::components::remote_data::show_shaped;
use crate::components::rule_form::{DraftTransfer, Editor, RuleFields};
use crate::model::rule_form::RuleForm;
use crate::model::template::Template;
use crate::pages::rule::rule_of_address;
use effect::SubjectEffects;
use footer::Footer;
use preview::{Preview, Simulation};
use publish::Publish;
use retained::{DraftNotice, RetainedDraft};
use review::Review;
use suggestion::Suggestion;

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
        {show_shaped(rule, Skeleton::Rule, |rule| view! { <Form before=Some(rule) /> })}
    }
}

#[component]
fn Form(before: Option<RuleAnswer>) -> impl IntoView {
    let saved = before.as_ref().map_or_else(RuleForm::new, |rule| RuleForm::of(&rule.rule));
    let handed_over = expect_context::<DraftTransfer>().take(before.as_ref().map(|rule| &*rule.id));
    let retained = RetainedDraft::find(before.as_ref());
    let restored = handed_over.is_none() && retained.draft.is_some();
    let start = handed_over.as_ref().map(RuleForm::of);
    let start = start.or_else(|| retained.draft.clone().map(|draft| draft.form));
    let editor = Editor::new(start.unwrap_or_else(|| saved.clone()));
    let before = RwSignal::new(before);
    let shown = RwSignal::new(restored);
    let retained = StoredValue::new(retained);
    retained.with_value(|retained| retained.retain(editor, before));
    let review = RwSignal::new(false);
    let publish = Publish::new(editor, before, retained, review);
    let open_review = Callback::new(move |()| {
        if editor.submit().is_none() {
            return browser::focus_first_invalid();
        }
        publish.problem.set(None);
        review.set(true);
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        open_review.run(());
    };
    let keys = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            open_review.run(());
        }
    };
    let is_new = before.with_untracked(Option::is_none);
    let stored = before.with_untracked(|rule| rule.as_ref().map(|rule| (rule.id.clone(), saved)));
    let suggestion = Suggestion::provide(editor, stored);
    view! {
        <form class="editor" on:submit=submit on:keydown=keys>
            <div class="stack">
                <DraftNotice editor before retained shown />
                {is_new.then(|| templates(editor))}
                <RuleFields editor />
            </div>
            <div class="preview">
                <Preview editor />
                <Simulation editor />
                <SubjectEffects editor before />
            </div>
            <Footer editor before retained publish open_review />
        </form>
        <Review editor before publish open=review />
        {suggestion.drawer(editor)}
    }
}

/// Buttons that fill the form of a new rule.
fn templates(editor: Editor) -> AnyView {
    let button = |template: Template| {
        let rule = template.rule(1);
        let fill = move |_| editor.reset(RuleForm::of(&template.rule(1)));
        view! {
            <button type="button" class="button" title=template.reason() on:click=fill><MiniPicture rule />{template.title()}</button>
        }
    };
    view! { <div class="actions" role="group" aria-label="Templates">{Template::ALL.map(button)}</div> }.into_any()
}
