//! The fields of the rule editor: match, limits, advanced.

mod controls;
mod draft_transfer;
mod editor;
mod effect;
mod limits;
mod matching;
mod outcome;
mod week;

use leptos::prelude::*;
use weir_wire::words::Action;

use controls::ControlFields;
pub use draft_transfer::DraftTransfer;
pub use editor::Editor;
pub use effect::{EffectFields, EffectInput};
pub use limits::{Limits, SuggestLimit};
use matching::MatchFields;
use outcome::{AdvancedFields, IdentityFields};

use crate::components::control_flow::Show;

#[component]
pub fn RuleFields(editor: Editor) -> impl IntoView {
    let limited = Memo::new(move |_| editor.form.with(|form| form.action == Action::Limit));
    view! {
        <IdentityFields editor />
        <MatchFields editor />
        <Show when=move || limited.get()>
            <Limits editor />
            <AdvancedFields editor />
            <ControlFields editor />
        </Show>
    }
}
