//! Asking for a link for a new password by e-mail. The answer is the same for every address. Where the installation sends no
//! e-mail, the page says who gives such links.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::sessions::SignInOptions;

use crate::api::Api;
use crate::components::field::TextField;
use crate::components::input::Input;
use crate::components::page::NarrowPage;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};

#[component]
pub fn Forgot() -> impl IntoView {
    let api = expect_context::<Api>();
    let sent_to = RwSignal::new(None::<String>);
    let action = SubmitAction::with_fields(&["email"]);
    let email = Input::new(action, "email", "", |typed| Ok(names::email(typed)?));
    let request = Callback::new(move |()| {
        let typed = email.text();
        action.run(api.request_reset(&typed), move |()| {
            sent_to.set(Some(typed));
        });
    });
    let form = move || {
        view! {
            <SubmitForm action submit="Send link" on_submit=request incomplete=email.invalid() class="stack">
                <TextField label="E-mail" kind="email" autocomplete="username" value=email.value problem=email.problem autofocus=true />
            </SubmitForm>
        }
    };
    let by_email = move |options: SignInOptions| {
        match sent_to.get() {
        None if !options.password_reset => view! {
            <p class="sentence">"This installation sends no e-mail. Ask an operator for a link to set a new password."</p>
        }
        .into_any(),
        None => form().into_any(),
        Some(address) => view! {
            <p class="sentence" role="status">"Check your inbox: "{address}</p>
            <p class="note">"If the address has an account, you will receive a link to set a new password. It works once, within one hour."</p>
        }
        .into_any(),
    }
    };
    let options = fetch_data(move || api.sign_in_options());
    view! {
        <NarrowPage title="Forgot your password?">
            {show(options, by_email)}
            <p class="muted"><a href="/sign-in">"Back to sign-in"</a></p>
        </NarrowPage>
    }
}
