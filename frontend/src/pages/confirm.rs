//! Finishing a sign-up with the token that was sent to its address. The token is behind the hash of the address.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use weir_wire::sessions::{ConfirmSignUp, Password, SignUpToken};

use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::field::TextField;
use crate::components::page::PageHead;

/// The page.
#[component]
pub fn Confirm() -> impl IntoView {
    let api = expect_context::<Api>();
    let hash = use_location().hash.get_untracked();
    let token = SignUpToken(hash.trim_start_matches('#').to_owned());
    let password = RwSignal::new(String::new());
    let act = Act::with_fields(&["password"]);
    let navigate = use_navigate();
    let confirm = Callback::new(move |()| {
        let body =
            ConfirmSignUp { token: token.clone(), password: Password(password.get_untracked()) };
        let navigate = navigate.clone();
        act.run(async move { api.confirm_sign_up(&body).await }, move |tenant| {
            navigate(&format!("/t/{tenant}/start"), NavigateOptions::default());
        });
    });
    let incomplete = Signal::derive(move || password.with(String::is_empty));
    view! {
        <main class="narrow">
            <p class="brand">"Weir"</p>
            <PageHead title="Finish signing up" />
            <ActForm act submit="Make the account" on_submit=confirm incomplete class="stack">
                <TextField
                    label="Choose a password"
                    kind="password"
                    autocomplete="new-password"
                    value=password
                    problem=act.refused("password")
                    hint="8 to 128 characters, and not a common password"
                    autofocus=true
                />
            </ActForm>
            <p class="quiet">"Have an account? "<a href="/sign-in">"Sign in"</a></p>
        </main>
    }
}
