//! The rule editor's form, in three parts: who, how much, what then.

mod carried;
mod editor;
mod limits;
mod then;
mod who;

use leptos::prelude::*;
use weir_wire::words::Action;

pub use carried::Carried;
pub use editor::Editor;
pub use limits::Limits;
use then::{Modes, Then};
use who::Who;

/// All fields of a rule.
#[component]
pub fn RuleFields(editor: Editor) -> impl IntoView {
    let limited = Memo::new(move |_| editor.form.with(|form| form.action == Action::Limit));
    view! {
        <Modes editor />
        <Who editor />
        <Show when=move || limited.get()>
            <Limits editor />
            <Then editor />
        </Show>
    }
}
