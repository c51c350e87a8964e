//! Setting a new password with the token of a link. The token is in the fragment of the URL.

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{ResetPassword, ResetToken};
use weir_wire::sessions::Password;

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::feedback::Warning;
use crate::components::input::PasswordField;
use crate::components::page::NarrowPage;
use crate::components::submit::{SubmitAction, SubmitForm};

#[component]
pub fn Reset() -> impl IntoView {
    let api = expect_context::<Api>();
    let hash = use_location().hash.get_untracked();
    let token = ResetToken(hash.trim_start_matches('#').to_owned());
    let password = RwSignal::new(String::new());
    let done = RwSignal::new(false);
    let action = SubmitAction::with_fields(&["new_password"]);
    let reset = Callback::new(move |()| {
        let body = ResetPassword {
            token: token.clone(),
            new_password: Password(password.get_untracked()),
        };
        action.run(api.reset_password(&body), move |()| {
            password.set(String::new());
            done.set(true);
        });
    });
    let incomplete = Signal::derive(move || password.with(String::is_empty));
    let spent = move || {
        action.problem.with(|problem| {
            problem.as_ref().is_some_and(|problem| problem.code == Some(ErrorCode::NotFound))
        })
    };
    let form = StoredValue::new(move || {
        view! {
            <SubmitForm action submit="Set password" on_submit=reset incomplete handled_code=ErrorCode::NotFound class="stack">
                <PasswordField label="New password" value=password action field="new_password" new=true autofocus=true />
            </SubmitForm>
        }
    });
    view! {
        <NarrowPage title="Set a new password">
            <Show when=spent>
                <Warning>"This link has expired or was already used. "<a href="/forgot">"Get a new one"</a></Warning>
            </Show>
            <Show
                when=move || done.get()
                fallback=move || form.with_value(|form| form())
            >
                <p class="sentence" role="status">"Password set. All your sessions were signed out."</p>
            </Show>
            <p class="muted"><a href="/sign-in">"Sign in"</a></p>
        </NarrowPage>
    }
}
