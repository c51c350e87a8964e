//! The effect of the rule in the form: as a sentence with its warnings, and as a simulation.

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::words::Action;

use crate::components::control_flow::Show;
use crate::components::feedback::remark;
use crate::components::picture::{RulePicture, SimulatedRule};
use crate::components::region::KnownRegions;
use crate::components::rule_form::Editor;
use crate::model::labels;
use crate::model::rule_form::RuleForm;

/// The rule as a sentence, with its warnings.
#[component]
pub(super) fn Preview(editor: Editor) -> impl IntoView {
    let regions = expect_context::<KnownRegions>().0;
    let sentence = Memo::new(move |_| {
        let rule = editor.rule();
        let worldwide = labels::worldwide(&rule, regions.with(BTreeSet::len));
        labels::sentence(&rule) + &worldwide.unwrap_or_default()
    });
    view! {
        <h2>"Summary"</h2>
        <p class="sentence" aria-live="polite">{sentence}</p>
        <RuleWarnings editor />
    }
}

/// The warnings about the rule, and about the edit of the stored one, if there is one.
#[component]
pub(super) fn RuleWarnings(
    editor: Editor,
    #[prop(optional)] before: Option<RwSignal<Option<RuleAnswer>>>,
) -> impl IntoView {
    let about_edit = move |form: &RuleForm| {
        let before = before?.get()?;
        Some(form.edit_warnings(&before.rule))
    };
    let warnings = Memo::new(move |_| {
        editor.form.with(|form| {
            let mut warnings = form.warnings();
            warnings.extend(about_edit(form).unwrap_or_default());
            warnings
        })
    });
    move || warnings.get().iter().map(|warning| remark(warning)).collect::<Vec<_>>()
}

/// The simulation, for rules with limits.
#[component]
pub(super) fn Simulation(editor: Editor) -> impl IntoView {
    let limited = Memo::new(move |_| editor.form.with(|form| form.action == Action::Limit));
    let rule = Memo::new(move |_| editor.form.with(RuleForm::for_picture).map(SimulatedRule));
    view! { <Show when=move || limited.get()><RulePicture rule /></Show> }
}
