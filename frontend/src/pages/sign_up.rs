//! Sign up: an account with its first tenant, where the installation lets anybody have one.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_domain::names;
use weir_wire::sessions::{Password, PendingSignUp, SignInOptions, SignUp as SignUpBody};

use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::feedback::Empty;
use crate::components::field::TextField;
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;

/// The sign-up page.
#[component]
pub fn SignUp() -> impl IntoView {
    let api = expect_context::<Api>();
    let options = load(move || api.sign_in_options());
    let form = |options: SignInOptions| {
        if options.signup_confirmed {
            return view! { <Request /> }.into_any();
        }
        if options.signup_open {
            return view! { <Form /> }.into_any();
        }
        view! {
            <Empty title="Accounts are made by invitation here.">
                <p>"Ask an admin of your tenant for one: its link makes your account."</p>
            </Empty>
        }
        .into_any()
    };
    view! {
        <main class="narrow">
            <p class="brand">"Weir"</p>
            <PageHead title="Sign up" />
            {loaded(options, form)}
            <p class="quiet">"Have an account? "<a href="/sign-in">"Sign in"</a></p>
        </main>
    }
}

#[component]
fn Form() -> impl IntoView {
    let api = expect_context::<Api>();
    let (email, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let tenant = RwSignal::new(String::new());
    let act = Act::with_fields(&["email", "password", "tenant_name"]);
    let navigate = use_navigate();
    let sign_up = Callback::new(move |()| {
        let body = SignUpBody {
            email: email.get_untracked().trim().to_owned(),
            password: Some(Password(password.get_untracked())),
            tenant_name: Some(tenant.get_untracked().trim().to_owned()),
            invitation: None,
        };
        let navigate = navigate.clone();
        act.run(async move { api.sign_up(&body).await }, move |tenant| {
            navigate(&format!("/t/{tenant}/start"), NavigateOptions::default());
        });
    });
    let empty = |field: RwSignal<String>| field.with(|typed| typed.trim().is_empty());
    let incomplete = Signal::derive(move || empty(email) || empty(password) || empty(tenant));
    view! {
        <ActForm act submit="Sign up" on_submit=sign_up incomplete class="stack">
            <TextField label="E-mail" kind="email" autocomplete="username" value=email problem=act.refused("email") autofocus=true />
            <TextField
                label="Password"
                kind="password"
                autocomplete="new-password"
                value=password
                problem=act.refused("password")
                hint="8 to 128 characters, and not a common password"
            />
            <TextField
                label="Name of your tenant"
                value=tenant
                problem=act.checked("tenant_name", tenant, names::title)
                hint="Your company or product: rules and keys belong to it"
            />
        </ActForm>
    }
}

/// Where sign-ups are confirmed: asks for an account, and says how the sign-up goes on.
#[component]
fn Request() -> impl IntoView {
    let api = expect_context::<Api>();
    let (email, tenant) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let pending = RwSignal::new(None::<PendingSignUp>);
    let act = Act::with_fields(&["email", "tenant_name"]);
    let sign_up = Callback::new(move |()| {
        let body = SignUpBody {
            email: email.get_untracked().trim().to_owned(),
            password: None,
            tenant_name: Some(tenant.get_untracked().trim().to_owned()),
            invitation: None,
        };
        act.run(async move { api.request_sign_up(&body).await }, move |answer| {
            pending.set(Some(answer));
        });
    });
    let empty = |field: RwSignal<String>| field.with(|typed| typed.trim().is_empty());
    let incomplete = Signal::derive(move || empty(email) || empty(tenant));
    let form = move || {
        view! {
            <ActForm act submit="Sign up" on_submit=sign_up incomplete class="stack">
                <TextField label="E-mail" kind="email" autocomplete="username" value=email problem=act.refused("email") autofocus=true />
                <TextField
                    label="Name of your tenant"
                    value=tenant
                    problem=act.checked("tenant_name", tenant, names::title)
                    hint="Your company or product: rules and keys belong to it"
                />
            </ActForm>
        }
    };
    move || {
        match pending.get() {
        None => form().into_any(),
        Some(pending) => view! {
            <p class="sentence" role="status">"Check "{pending.email}" to finish."</p>
            <p class="note">"If the address has no account, a link reaches it within a day. Choose your password there."</p>
        }
        .into_any(),
    }
    }
}
