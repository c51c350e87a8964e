//! What then: the action, whether the rule is in force, and what a denial brings.

use leptos::prelude::*;
use weir_wire::words::{Action, Consistency, Mode, OnStoreFailure};

use super::Editor;
use super::limits::NumberAndUnit;
use crate::components::field::{Choice, TextArea, TextField, Tick};
use crate::model::words;

/// Names, action and mode.
#[component]
pub(super) fn Modes(editor: Editor) -> impl IntoView {
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
    let actions = vec![
        (Action::Limit, "Limit them".to_owned()),
        (Action::Allow, "Always let them pass".to_owned()),
        (Action::Deny, "Always refuse them".to_owned()),
    ];
    let modes = vec![
        (Mode::Enforce, "Enforce".to_owned()),
        (Mode::Shadow, "Shadow: count and report, refuse nobody".to_owned()),
        (Mode::Off, "Off".to_owned()),
    ];
    view! {
        <fieldset>
            <legend>"Rule"</legend>
            <div class="row">
                <TextField label="Namespace" value=namespace problem=editor.problem(at("namespace")) hint="Which checks ask it" />
                <TextField label="Name" value=name problem=editor.problem(at("name")) hint="Such as login-per-user" />
            </div>
            <div class="row">
                <Choice label="What happens to matching requests" value=action options=actions />
                <Choice label="Mode" value=mode options=modes />
            </div>
            <TextArea label="Description" value=description problem=editor.problem(at("description")) />
        </fieldset>
    }
}

/// Block, failure and consistency.
#[component]
pub(super) fn Then(editor: Editor) -> impl IntoView {
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
    let failures =
        OnStoreFailure::ALL.iter().map(|it| (*it, words::failure(*it).to_owned())).collect();
    let ways = vec![
        (Consistency::Exact, "Exact: Redis decides each request".to_owned()),
        (Consistency::Leased, "Leased: gates take units in advance; faster".to_owned()),
    ];
    view! {
        <fieldset>
            <legend>"What then"</legend>
            <Tick label="After a denial, refuse the subject for a while" value=blocks />
            <Show when=move || blocks.value.get()>
                <div class="row">
                    <NumberAndUnit label="Refuse for" number unit problem=editor.problem(at("block_ms")) />
                </div>
            </Show>
            <div class="row">
                <Choice label="While Redis cannot be asked" value=failure options=failures />
                <Choice label="Consistency" value=consistency options=ways problem=editor.problem(at("consistency")) />
            </div>
        </fieldset>
    }
}
