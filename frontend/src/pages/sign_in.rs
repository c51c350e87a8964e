//! Sign in, and go back to where one came from.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};
use weir_wire::problem::ErrorCode;
use weir_wire::sessions::{LogIn, Password};

use crate::api::{Api, Problem};
use crate::browser;
use crate::components::feedback::{ActProblem, Warning};
use crate::components::field::TextField;
use crate::components::load::load;
use crate::components::page::PageHead;
use crate::session::{Session, SessionState, Why};

/// The sign-in page.
#[component]
pub fn SignIn() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let (email, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let query = use_query_map();
    let navigate = use_navigate();
    Effect::new(move |_| {
        if matches!(session.state(), SessionState::SignedIn(_)) {
            let next = query.with_untracked(|query| query.get("next"));
            let next = next.as_deref().and_then(browser::own_address);
            let options = NavigateOptions { replace: true, ..NavigateOptions::default() };
            navigate(next.as_deref().unwrap_or("/"), options);
        }
    });
    let sign_in = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        busy.set(true);
        problem.set(None);
        let body =
            LogIn { email: email.get_untracked(), password: Password(password.get_untracked()) };
        spawn_local(async move {
            let answer = api.sign_in(&body).await;
            busy.try_set(false);
            problem.try_set(answer.err().map(plain));
        });
    };
    let options = load(move || api.sign_in_options());
    let no_account = move || {
        let open = options.data()?.signup_open;
        Some(if open {
            view! { <p class="quiet">"No account yet? "<a href="/sign-up">"Sign up"</a></p> }
                .into_any()
        } else {
            view! { <p class="quiet">"No account yet? Ask an admin of your tenant for an invitation."</p> }.into_any()
        })
    };
    let expired = move || matches!(session.state(), SessionState::SignedOut(Why::Expired));
    view! {
        <main class="narrow">
            <p class="brand">"Weir"</p>
            <PageHead title="Sign in" />
            <Show when=expired>
                <Warning>"Your session has ended. Sign in to go on where you were."</Warning>
            </Show>
            <form class="stack" on:submit=sign_in>
                <TextField label="E-mail" kind="email" autocomplete="username" value=email autofocus=true />
                <TextField label="Password" kind="password" autocomplete="current-password" value=password />
                <ActProblem problem />
                <button type="submit" class="button primary" disabled=busy>
                    {move || if busy.get() { "Signing in…" } else { "Sign in" }}
                </button>
            </form>
            {no_account}
        </main>
    }
}

/// A refused sign-in says what to do, not what is needed.
fn plain(problem: Problem) -> Problem {
    if problem.code == Some(ErrorCode::Unauthenticated) {
        Problem { title: "E-mail and password do not match".to_owned(), ..problem }
    } else {
        problem
    }
}
