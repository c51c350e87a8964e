//! Sign-up: an account with its first tenant, if the installation allows it.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_domain::names;
use weir_wire::sessions::{Password, PendingSignUp, SignInOptions, SignUp as SignUpBody};

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::field::TextField;
use crate::components::input::PasswordField;
use crate::components::page::NarrowPage;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};

#[component]
pub fn SignUp() -> impl IntoView {
    let api = expect_context::<Api>();
    let options = fetch_data(move || api.sign_in_options());
    let form = |options: SignInOptions| {
        if options.signup_confirmed {
            return view! { <Request /> }.into_any();
        }
        if options.signup_open {
            return view! { <Form /> }.into_any();
        }
        view! {
            <Empty title="Sign-up is by invitation only">
                <p>"Ask an admin of your tenant for an invitation link."</p>
            </Empty>
        }
        .into_any()
    };
    view! {
        <NarrowPage title="Sign up">
            {show(options, form)}
            <p class="muted">"Already have an account? "<a href="/sign-in">"Sign in"</a></p>
        </NarrowPage>
    }
}

#[component]
fn Form() -> impl IntoView {
    let api = expect_context::<Api>();
    let (email, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let tenant = RwSignal::new(String::new());
    let action = SubmitAction::with_fields(&["email", "password", "tenant_name"]);
    let navigate = use_navigate();
    let sign_up = Callback::new(move |()| {
        let body = SignUpBody {
            email: email.get_untracked().trim().to_owned(),
            password: Some(Password(password.get_untracked())),
            tenant_name: Some(tenant.get_untracked().trim().to_owned()),
            invitation: None,
        };
        let navigate = navigate.clone();
        action.run(api.sign_up(&body), move |tenant| {
            navigate(&format!("/t/{tenant}/start"), NavigateOptions::default());
        });
    });
    let empty = |field: RwSignal<String>| field.with(|typed| typed.trim().is_empty());
    let incomplete = Signal::derive(move || empty(email) || empty(password) || empty(tenant));
    view! {
        <SubmitForm action submit="Sign up" on_submit=sign_up incomplete class="stack">
            <TextField label="E-mail" kind="email" autocomplete="username" value=email problem=action.server_problem("email") autofocus=true />
            <PasswordField value=password action field="password" new=true />
            {tenant_name(tenant, action)}
        </SubmitForm>
    }
}

/// Requests an account where sign-ups are confirmed by e-mail, and explains the next step.
#[component]
fn Request() -> impl IntoView {
    let api = expect_context::<Api>();
    let (email, tenant) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let pending = RwSignal::new(None::<PendingSignUp>);
    let action = SubmitAction::with_fields(&["email", "tenant_name"]);
    let sign_up = Callback::new(move |()| {
        let body = SignUpBody {
            email: email.get_untracked().trim().to_owned(),
            password: None,
            tenant_name: Some(tenant.get_untracked().trim().to_owned()),
            invitation: None,
        };
        action.run(api.request_sign_up(&body), move |answer| {
            pending.set(Some(answer));
        });
    });
    let empty = |field: RwSignal<String>| field.with(|typed| typed.trim().is_empty());
    let incomplete = Signal::derive(move || empty(email) || empty(tenant));
    let form = move || {
        view! {
            <SubmitForm action submit="Sign up" on_submit=sign_up incomplete class="stack">
                <TextField label="E-mail" kind="email" autocomplete="username" value=email problem=action.server_problem("email") autofocus=true />
                {tenant_name(tenant, action)}
            </SubmitForm>
        }
    };
    move || {
        match pending.get() {
        None => form().into_any(),
        Some(pending) => view! {
            <p class="sentence" role="status">"Check your inbox: "{pending.email}</p>
            <p class="note">"If the address has no account yet, you will receive a link to choose a password. It is valid for a day."</p>
        }
        .into_any(),
    }
    }
}

fn tenant_name(value: RwSignal<String>, action: SubmitAction) -> impl IntoView {
    let problem = action.validated("tenant_name", value, names::title);
    view! { <TextField label="Tenant name" value problem hint="Usually your company or product. Rules and keys belong to it." /> }
}
