//! Sign up: an account with its first tenant, where the installation lets anybody have one.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::sessions::{Password, SignUp as SignUpBody};

use crate::api::{Api, Problem};
use crate::components::feedback::ActProblem;
use crate::components::field::TextField;
use crate::components::page::PageHead;

/// The sign-up page.
#[component]
pub fn SignUp() -> impl IntoView {
    let api = expect_context::<Api>();
    let (email, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let tenant = RwSignal::new(String::new());
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let navigate = use_navigate();
    let sign_up = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        busy.set(true);
        problem.set(None);
        let body = SignUpBody {
            email: email.get_untracked(),
            password: Password(password.get_untracked()),
            tenant_name: Some(tenant.get_untracked()),
            invitation: None,
        };
        let navigate = navigate.clone();
        spawn_local(async move {
            match api.sign_up(&body).await {
                Ok(tenant) => navigate(&format!("/t/{tenant}/start"), NavigateOptions::default()),
                Err(refused) => drop(problem.try_set(Some(refused))),
            }
            busy.try_set(false);
        });
    };
    let refused = move |field: &'static str| {
        Signal::derive(move || {
            let fields = problem.get()?.fields;
            fields.into_iter().find(|it| it.field == field).map(|it| it.reason)
        })
    };
    view! {
        <main class="narrow">
            <p class="brand">"Weir"</p>
            <PageHead title="Sign up" />
            <form class="stack" on:submit=sign_up>
                <TextField label="E-mail" kind="email" autocomplete="username" value=email problem=refused("email") autofocus=true />
                <TextField
                    label="Password"
                    kind="password"
                    autocomplete="new-password"
                    value=password
                    problem=refused("password")
                    hint="8 to 128 characters, and not one of the commonest"
                />
                <TextField
                    label="Name of your tenant"
                    value=tenant
                    problem=refused("tenant_name")
                    hint="Your company or product: rules and keys belong to it"
                />
                <ActProblem problem />
                <button type="submit" class="button primary" disabled=busy>
                    {move || if busy.get() { "Signing up…" } else { "Sign up" }}
                </button>
            </form>
            <p class="quiet">"Have an account? "<a href="/sign-in">"Sign in"</a></p>
        </main>
    }
}
