//! The fields that forms have most: a text that is validated while it is typed, and a password.

use leptos::prelude::*;

use crate::components::field::TextField;
use crate::components::submit::SubmitAction;

/// A text of a form; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub value: RwSignal<String>,
    /// The problem of the text as it is typed, or else the server's.
    pub problem: Signal<Option<String>>,
    validate: fn(&str) -> Result<(), String>,
}

impl Input {
    /// `field` is the name of the text in the API's problems.
    pub fn new(
        action: SubmitAction,
        field: &'static str,
        text: &str,
        validate: fn(&str) -> Result<(), String>,
    ) -> Self {
        let value = RwSignal::new(text.to_owned());
        Self { value, problem: action.validated(field, value, validate), validate }
    }

    /// The text to send; not tracked.
    pub fn text(self) -> String {
        self.value.with_untracked(|text| text.trim().to_owned())
    }

    /// Whether the text to send is this one; tracked.
    pub fn is(self, text: &str) -> bool {
        self.value.with(|value| value.trim() == text)
    }

    /// Whether the text cannot be sent; tracked.
    pub fn is_invalid(self) -> bool {
        self.value.with(|text| (self.validate)(text.trim()).is_err())
    }

    /// The same as a signal, for a form with this text alone.
    pub fn invalid(self) -> Signal<bool> {
        Signal::derive(move || self.is_invalid())
    }
}

/// A password. `action` has the server's problem with the field.
#[component]
pub fn PasswordField(
    #[prop(default = "Password")] label: &'static str,
    value: RwSignal<String>,
    action: SubmitAction,
    field: &'static str,
    /// The person chooses it now.
    #[prop(optional)]
    new: bool,
    #[prop(optional)] autofocus: bool,
) -> impl IntoView {
    let autocomplete = if new { "new-password" } else { "current-password" };
    let hint = if new { "At least 8 characters. Avoid common passwords." } else { "" };
    let problem = action.server_problem(field);
    view! { <TextField label kind="password" autocomplete value problem hint autofocus /> }
}
