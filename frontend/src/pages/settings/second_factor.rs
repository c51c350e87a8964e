//! The second factor of the signed-in person.

use leptos::prelude::*;
use weir_wire::second_factors::{
    BeginSecondFactor, NewSecondFactor, PresentCode, RemoveSecondFactor, SecondFactor,
};
use weir_wire::sessions::{Code, Password};

use crate::api::Api;
use crate::components::control_flow::Show;
use crate::components::copy::CopyButton;
use crate::components::field::TextField;
use crate::components::input::PasswordField;
use crate::components::remote_data::{RemoteData, fetch_data, show};
use crate::components::secret_dialog::SecretDialog;
use crate::components::submit::{SubmitAction, SubmitForm};

#[component]
pub(super) fn OwnSecondFactor() -> impl IntoView {
    let api = expect_context::<Api>();
    let factor = fetch_data(move || api.second_factor());
    let codes = RwSignal::new(Vec::<String>::new());
    view! {
        <section class="panel" aria-label="Two-factor authentication">
            <h3>"Two-factor authentication"</h3>
            <RecoveryCodeList codes />
            {show(factor, move |data| {
                if data.enabled {
                    view! { <Enabled data factor /> }.into_any()
                } else {
                    view! { <Setup factor codes /> }.into_any()
                }
            })}
        </section>
    }
}

/// The new recovery codes, if there are any.
#[component]
fn RecoveryCodeList(codes: RwSignal<Vec<String>>) -> impl IntoView {
    let text = Signal::derive(move || codes.with(|codes| codes.join("\n")));
    view! {
        <Show when=move || codes.with(|codes| !codes.is_empty())>
            <SecretDialog
                title="Recovery codes"
                notice="Store these recovery codes now. They are not shown again, and each of them works once."
                secret=text
                copy="Copy recovery codes"
                stored=move |()| codes.set(Vec::new())
            >
                ""
            </SecretDialog>
        </Show>
    }
}

#[component]
fn Setup(factor: RemoteData<SecondFactor>, codes: RwSignal<Vec<String>>) -> impl IntoView {
    let api = expect_context::<Api>();
    let password = RwSignal::new(String::new());
    let secret = RwSignal::new(None::<NewSecondFactor>);
    let action = SubmitAction::with_fields(&["current_password"]);
    let begin = Callback::new(move |()| {
        let body = BeginSecondFactor { current_password: Password(password.get_untracked()) };
        action.run(api.begin_second_factor(&body), move |begun| {
            password.set(String::new());
            secret.set(Some(begun));
        });
    });
    let incomplete = Signal::derive(move || password.with(String::is_empty));
    move || {
        match secret.get() {
        Some(secret) => view! { <Confirm secret factor codes /> }.into_any(),
        None => view! {
            <SubmitForm action submit="Set up" on_submit=begin incomplete class="stack">
                <p class="note">"Sign in with your password and a code of an authenticator app."</p>
                <PasswordField label="Current password" value=password action field="current_password" />
            </SubmitForm>
        }
        .into_any(),
    }
    }
}

#[component]
fn Confirm(
    secret: NewSecondFactor,
    factor: RemoteData<SecondFactor>,
    codes: RwSignal<Vec<String>>,
) -> impl IntoView {
    let api = expect_context::<Api>();
    let code = RwSignal::new(String::new());
    let action = SubmitAction::with_fields(&["code"]);
    let confirm = Callback::new(move |()| {
        let body = PresentCode { code: Code(code.get_untracked()) };
        action.run(api.confirm_second_factor(&body), move |shown| {
            codes.set(shown.recovery_codes);
            factor.refetch();
        });
    });
    let incomplete = Signal::derive(move || code.with(|code| code.trim().is_empty()));
    let key = secret.secret.clone();
    view! {
        <p>"Add this key to your authenticator app, or "<a href=secret.url>"open it in an app on this device"</a>"."</p>
        <pre class="secret">{secret.secret}</pre>
        <CopyButton text=Signal::stored(key) label="Copy key" />
        <SubmitForm action submit="Turn on" on_submit=confirm incomplete class="stack">
            <TextField
                label="Code"
                autocomplete="one-time-code"
                value=code
                problem=action.server_problem("code")
                hint="The six digits that the app shows now."
                short=true
            />
        </SubmitForm>
    }
}

#[component]
fn Enabled(data: SecondFactor, factor: RemoteData<SecondFactor>) -> impl IntoView {
    let api = expect_context::<Api>();
    let (password, code) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let action = SubmitAction::with_fields(&["current_password"]);
    let remove = Callback::new(move |()| {
        let body = RemoveSecondFactor {
            current_password: Password(password.get_untracked()),
            code: Code(code.get_untracked()),
        };
        action.run(api.remove_second_factor(&body), move |()| {
            factor.refetch();
        });
    });
    let incomplete =
        Signal::derive(move || password.with(String::is_empty) || code.with(String::is_empty));
    let left = format!("On. {} recovery codes are left.", data.recovery_codes);
    view! {
        <p role="status">{left}</p>
        <SubmitForm action submit="Turn off" on_submit=remove incomplete class="stack">
            <PasswordField label="Current password" value=password action field="current_password" />
            <TextField label="Code" autocomplete="one-time-code" value=code hint="A code of the app, or a recovery code." />
        </SubmitForm>
    }
}
