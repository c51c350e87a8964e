//! Signing in, and returning to the requested page.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::{Code, LogIn, Password};

use crate::api::{Api, Problem};
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::{SubmitProblem, Warning};
use crate::components::field::TextField;
use crate::components::page::NarrowPage;
use crate::components::remote_data::fetch_data;
use crate::session::{Session, SessionState, SignOutReason};

#[component]
pub fn SignIn() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let (email, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let code = RwSignal::new(String::new());
    let needs_code = RwSignal::new(false);
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    leave_when_signed_in(session);
    let sign_in = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        busy.set(true);
        problem.set(None);
        let body = LogIn {
            email: email.get_untracked(),
            password: Password(password.get_untracked()),
            code: needs_code.get_untracked().then(|| Code(code.get_untracked())),
        };
        let first = body.code.is_none();
        spawn_local(async move {
            let answer = api.sign_in(&body).await;
            busy.try_set(false);
            let refused = answer.err();
            let second_factor = refused
                .as_ref()
                .is_some_and(|problem| problem.code == Some(ErrorCode::SecondFactor));
            if second_factor {
                needs_code.try_set(true);
            }
            // The first time, the field is the answer.
            problem.try_set(refused.filter(|_| !(second_factor && first)).map(plain));
        });
    };
    let options = fetch_data(move || api.sign_in_options());
    let no_account = move || options.data().map(|options| how_to_sign_up(options.signup_open));
    let by_email = move || options.data().map(|options| options.password_reset);
    let forgotten = move || (by_email() == Some(true)).then(forgot_password);
    let operator_note = move || (by_email() == Some(false)).then(ask_an_operator);
    let query = use_query_map();
    let provider = move || {
        let name = options.data()?.openid_connect?;
        let next = query.with(|query| query.get("next")).unwrap_or_default();
        Some(provider_button(&name, &next))
    };
    let refused = move || {
        let code = query.with(|query| query.get("problem"))?;
        Some(view! { <Warning>{refusal(&code)}</Warning> })
    };
    let expired =
        move || matches!(session.state(), SessionState::SignedOut(SignOutReason::Expired));
    view! {
        <NarrowPage title="Sign in">
            <Show when=expired>
                <Warning>"Your session expired. Sign in to continue where you left off."</Warning>
            </Show>
            {refused}
            <form class="stack" on:submit=sign_in>
                <TextField label="E-mail" kind="email" autocomplete="username" value=email autofocus=true />
                <TextField label="Password" kind="password" autocomplete="current-password" value=password />
                {forgotten}
                <Show when=move || needs_code.get()>{code_field(code)}</Show>
                <SubmitProblem problem />
                <button type="submit" class="button primary" disabled=busy>
                    {move || if busy.get() { "Signing in…" } else { "Sign in" }}
                </button>
            </form>
            {provider}
            {no_account}
            {operator_note}
        </NarrowPage>
    }
}

/// The field for the second factor.
fn code_field(code: RwSignal<String>) -> impl IntoView {
    view! {
        <TextField
            label="Code"
            autocomplete="one-time-code"
            value=code
            hint="The six digits of your authenticator app, or a recovery code."
            autofocus=true
        />
    }
}

/// The link to the sign-in with an OpenID Connect provider.
fn provider_button(name: &str, next: &str) -> AnyView {
    let address = format!("/api/v1/auth/oidc?next={}", browser::encode_component(next));
    // Without `rel`, the router looks for a page of the dashboard.
    view! {
        <div class="provider">
            <p class="muted">"Or"</p>
            <a class="button" rel="external" href=address>"Continue with "{name.to_owned()}</a>
        </div>
    }
    .into_any()
}

/// Continues to the page that asked for the sign-in.
fn leave_when_signed_in(session: Session) {
    let (query, navigate) = (use_query_map(), use_navigate());
    Effect::new(move |_| {
        if matches!(session.state(), SessionState::SignedIn(_)) {
            let next = query.with_untracked(|query| query.get("next"));
            let next = next.as_deref().and_then(browser::same_origin_path);
            let options = NavigateOptions { replace: true, ..NavigateOptions::default() };
            navigate(next.as_deref().unwrap_or("/"), options);
        }
    });
}

fn forgot_password() -> AnyView {
    view! { <p><a href="/forgot">"Forgot password?"</a></p> }.into_any()
}

/// Where no e-mail is sent, operators give links for a new password.
fn ask_an_operator() -> AnyView {
    view! { <p class="muted">"Forgot your password? Ask an operator of this installation for a link to set a new one."</p> }.into_any()
}

fn how_to_sign_up(is_open: bool) -> AnyView {
    if is_open {
        view! { <p class="muted">"No account yet? "<a href="/sign-up">"Sign up"</a></p> }.into_any()
    } else {
        view! { <p class="muted">"Sign-up is by invitation. Ask an admin of your tenant for one."</p> }.into_any()
    }
}

/// The reason why a sign-in with the provider failed.
fn refusal(code: &str) -> &'static str {
    match code {
        "unverified" => "The provider has not verified your e-mail address.",
        "no_account" => {
            "There is no account for your e-mail address. Ask an admin of your tenant for an invitation."
        }
        "linked" => {
            "The account of your e-mail address belongs to another identity at the provider. Ask an operator to unlink it."
        }
        "disabled" => "This account is disabled.",
        "second_factor" => {
            "This account has two-factor authentication. Sign in with your password and a code."
        }
        "expired" => "This sign-in took too long or was begun in another browser. Try again.",
        "unavailable" => {
            "The provider does not answer. Try again in a moment, or sign in with your password."
        }
        _ => "The provider did not sign you in. Try again.",
    }
}

/// A rejected sign-in says once what is wrong, not which credentials the API requires.
fn plain(problem: Problem) -> Problem {
    let title = match problem.code {
        Some(ErrorCode::Unauthenticated) => "Wrong e-mail or password",
        Some(ErrorCode::SecondFactor) => "Wrong code",
        _ => return problem,
    };
    Problem { title: title.to_owned(), detail: String::new(), request_id: None, ..problem }
}
