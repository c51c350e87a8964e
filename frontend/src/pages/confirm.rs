//! Finishing a sign-up with the token that was sent to its address. The token is in the fragment of the URL.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use weir_wire::sessions::{ConfirmSignUp, Password, SignUpToken};

use crate::api::Api;
use crate::components::input::PasswordField;
use crate::components::page::NarrowPage;
use crate::components::submit::{SubmitAction, SubmitForm};

#[component]
pub fn Confirm() -> impl IntoView {
    let api = expect_context::<Api>();
    let hash = use_location().hash.get_untracked();
    let token = SignUpToken(hash.trim_start_matches('#').to_owned());
    let password = RwSignal::new(String::new());
    let action = SubmitAction::with_fields(&["password"]);
    let navigate = use_navigate();
    let confirm = Callback::new(move |()| {
        let body =
            ConfirmSignUp { token: token.clone(), password: Password(password.get_untracked()) };
        let navigate = navigate.clone();
        action.run(api.confirm_sign_up(&body), move |tenant| {
            navigate(&format!("/t/{tenant}/start"), NavigateOptions::default());
        });
    });
    let incomplete = Signal::derive(move || password.with(String::is_empty));
    view! {
        <NarrowPage title="Finish signing up">
            <SubmitForm action submit="Create account" on_submit=confirm incomplete class="stack">
                <PasswordField value=password action field="password" new=true autofocus=true />
            </SubmitForm>
            <p class="muted">"Already have an account? "<a href="/sign-in">"Sign in"</a></p>
        </NarrowPage>
    }
}
