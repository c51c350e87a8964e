//! The question before an edit of an object that belongs to a set of rules as code.

use leptos::prelude::*;

use crate::components::feedback::Warning;
use crate::components::field::Checkbox;

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
