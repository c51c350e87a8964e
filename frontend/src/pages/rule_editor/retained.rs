//! The draft that the tab retains while the person looks at other pages or reloads.

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;

use crate::browser;
use crate::components::control_flow::Show;
use crate::components::rule_form::Editor;
use crate::model::draft::Draft;
use crate::model::rule_form::RuleForm;
use crate::pages::shell::TenantId;

/// The place of a draft, and the draft found there when the editor opened.
#[derive(Debug, Clone)]
pub(super) struct RetainedDraft {
    key: String,
    pub(super) draft: Option<Draft>,
}

impl RetainedDraft {
    /// The draft of a rule, or of a new rule.
    pub(super) fn find(before: Option<&RuleAnswer>) -> Self {
        let tenant = expect_context::<TenantId>().now();
        let key = Draft::key(&tenant, before.map(|rule| &*rule.id));
        let draft = browser::tab_value(&key).and_then(|text| Draft::of(&text));
        Self { key, draft }
    }

    /// Retains the input from now on, as long as it differs from the saved rule.
    pub(super) fn retain(&self, editor: Editor, before: RwSignal<Option<RuleAnswer>>) {
        let key = self.key.clone();
        Effect::new(move |_| {
            let (form, revision) =
                (editor.form.get(), before.with(|rule| rule.as_ref().map(|rule| rule.revision)));
            let text = (form != saved(before)).then(|| Draft { revision, form }.text());
            browser::set_tab_value(&key, text.as_deref());
        });
    }

    /// Drops the draft.
    pub(super) fn drop(&self) {
        browser::set_tab_value(&self.key, None);
    }
}

/// The form of the saved rule; tracked.
fn saved(before: RwSignal<Option<RuleAnswer>>) -> RuleForm {
    before
        .with(|before| before.as_ref().map_or_else(RuleForm::new, |rule| RuleForm::of(&rule.rule)))
}

/// Says that the form shows a draft, and whether the rule has changed meanwhile.
#[component]
pub(super) fn DraftNotice(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    retained: StoredValue<RetainedDraft>,
    shown: RwSignal<bool>,
) -> impl IntoView {
    let discard = move |_| {
        editor.reset(untrack(|| saved(before)));
        shown.set(false);
    };
    let base =
        retained.with_value(|retained| retained.draft.as_ref().and_then(|draft| draft.revision));
    let outdated = before.with_untracked(|rule| rule.as_ref().map(|rule| rule.revision) != base);
    let changed = outdated.then_some(
        " The rule has changed since then: the review compares the draft with its present version.",
    );
    view! {
        <Show when=move || shown.get()>
            <div class="warning draft-notice" role="status">
                <p>"Your unsaved changes are back."{changed}</p>
                <button type="button" class="button small" on:click=discard>"Discard changes"</button>
            </div>
        </Show>
    }
}
