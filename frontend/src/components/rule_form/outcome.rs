//! The identity of a rule, its action and mode, and its advanced settings.

use leptos::prelude::*;
use weir_domain::draft;
use weir_wire::words::{Action, Consistency, Mode, OnStoreFailure, Over, Reach};

use super::editor::Editor;
use super::limits::NumberAndUnit;
use crate::components::control_flow::Show;
use crate::components::field::{Checkbox, Choice, TextArea, TextField};
use crate::components::region::KnownRegions;

/// Namespace, name, action, mode and description.
#[component]
pub(super) fn IdentityFields(editor: Editor) -> impl IntoView {
    let at = |name: &'static str| move |_: &_| name.to_owned();
    let namespace = editor.bind(
        at("namespace"),
        |form| form.namespace.clone(),
        |form, value| form.namespace = value,
    );
    let name = editor.bind(at("name"), |form| form.name.clone(), |form, value| form.name = value);
    let description = editor.bind(
        at("description"),
        |form| form.description.clone(),
        |form, value| form.description = value,
    );
    let action = editor.bind(at("action"), |form| form.action, |form, value| form.action = value);
    let mode = editor.bind(at("mode"), |form| form.mode, |form, value| form.mode = value);
    view! {
        <fieldset>
            <legend>"Rule"</legend>
            <div class="row">
                <TextField label="Namespace" value=namespace problem=editor.problem(at("namespace")) hint="Checks in this namespace use the rule" />
                <TextField label="Name" value=name problem=editor.problem(at("name")) hint="For example login-per-user" />
            </div>
            <div class="row">
                <Choice label="Action" value=action options=Action::choices() />
                <Choice label="Mode" value=mode options=Mode::choices() />
            </div>
            <TextArea label="Description" value=description problem=editor.problem(at("description")) />
        </fieldset>
    }
}

/// Block, failure mode, consistency, reach and debt.
#[component]
pub(super) fn AdvancedFields(editor: Editor) -> impl IntoView {
    let at = |name: &'static str| move |_: &_| name.to_owned();
    let blocks = editor.bind(at("blocks"), |form| form.blocks, |form, value| form.blocks = value);
    let number = editor.bind(
        at("block_ms"),
        |form| form.block.number.clone(),
        |form, value| form.block.number = value,
    );
    let unit = editor.bind(
        at("block unit"),
        |form| form.block.unit,
        |form, value| form.block.unit = value,
    );
    let failure = editor.bind(
        at("on_store_failure"),
        |form| form.on_store_failure,
        |form, value| form.on_store_failure = value,
    );
    let consistency = editor.bind(
        at("consistency"),
        |form| form.consistency,
        |form, value| form.consistency = value,
    );
    let reach = editor.bind(at("reach"), |form| form.reach, |form, value| form.reach = value);
    // Without regions, only a rule that was counted in all of them has this field.
    let regions = expect_context::<KnownRegions>().0;
    let has_reach = Memo::new(move |shown: Option<&bool>| {
        let has_regions = regions.with(|known| !known.is_empty());
        has_regions || reach.value.get() == Reach::World || shown == Some(&true)
    });
    let over = editor.bind(at("over"), |form| form.over, |form, value| form.over = value);
    view! {
        <fieldset>
            <legend>"Advanced"</legend>
            <Checkbox label="Block the subject after a denial" value=blocks />
            <Show when=move || blocks.value.get()>
                <div class="row">
                    <NumberAndUnit label="Block for" number unit problem=editor.problem(at("block_ms")) />
                </div>
            </Show>
            <div class="stack">
                <Choice label="If Redis is unavailable" value=failure options=OnStoreFailure::choices() />
                <Choice
                    label="Consistency"
                    value=consistency
                    options=titled(Consistency::ALL, Consistency::title)
                    explanation=Signal::derive(move || draft::Consistency::from(consistency.value.get()).explanation())
                    problem=editor.problem(at("consistency"))
                />
                <Show when=move || has_reach.get()>
                    <Choice
                        label="Counted in"
                        value=reach
                        options=titled(Reach::ALL, Reach::title)
                        explanation=Signal::derive(move || draft::Reach::from(reach.value.get()).explanation())
                    />
                </Show>
                <Choice
                    label="If a check costs more than is left"
                    value=over
                    options=titled(Over::ALL, Over::title)
                    explanation=Signal::derive(move || draft::Over::from(over.value.get()).explanation())
                    problem=editor.problem(at("over"))
                />
            </div>
        </fieldset>
    }
}

/// Options without explanations, which would be cut off in a narrow window.
fn titled<T: Copy>(words: &[T], title: fn(T) -> &'static str) -> Vec<(T, String)> {
    words.iter().map(|word| (*word, title(*word).to_owned())).collect()
}
