//! The mark of an object that belongs to a set of rules as code, the question before an edit of it, and the note in dialogs that ask
//! already.

use leptos::prelude::*;
use weir_wire::overrides::ReplacedSet;
use weir_wire::rules::RuleAnswer;

use crate::components::feedback::Warning;
use crate::components::field::Checkbox;
use crate::model::owners;

/// The set of an object, and whether its files have another object.
pub fn files_mark(set: Option<&String>, edited: bool) -> Option<AnyView> {
    let set = set?.clone();
    let (class, text) = if edited {
        ("note", format!("Differs from the files of {set}"))
    } else {
        ("muted one-line", format!("As in the files of {set}"))
    };
    Some(view! { <div class=class title=text.clone()>{text.clone()}</div> }.into_any())
}

/// Names the sets that own some of the rules of a dialog.
pub fn note_of_rules(rules: &[RuleAnswer]) -> Option<AnyView> {
    let sets: Vec<_> = rules.iter().map(|rule| rule.managed_by.clone()).collect();
    note("rule", "rules", &sets)
}

/// Names the sets that own some of the objects of a dialog.
pub fn note(what: &str, whats: &str, sets: &[Option<String>]) -> Option<AnyView> {
    let text = owners::sentence(what, whats, sets)?;
    Some(view! { <Warning><p>{text}</p></Warning> }.into_any())
}

/// Names the owner, and asks whether to edit the object all the same.
#[component]
pub fn OwnerQuestion(
    /// The set.
    set: String,
    /// The kind of the object, such as `rule`.
    what: &'static str,
    confirmed: RwSignal<bool>,
) -> impl IntoView {
    view! {
        <Warning>
            <p>
                "This "{what}" belongs to the files of "<b>{set}</b>
                ". The next apply of the files undoes what you change here."
            </p>
            <Checkbox label="Change it here all the same" value=confirmed.into() />
        </Warning>
    }
}

/// Names the owners of the overrides that an import changes, and asks whether to change them all the same.
#[component]
pub fn ImportQuestion(sets: Vec<ReplacedSet>, confirmed: RwSignal<bool>) -> impl IntoView {
    view! {
        <Warning>
            <p>{owners::of_import(&sets)}</p>
            <Checkbox label="Import all the same" value=confirmed.into() />
        </Warning>
    }
}
