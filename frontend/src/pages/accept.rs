//! Accepting an invitation, with an existing or a new account. The token is in the fragment of the URL.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use weir_wire::members::{InvitationToken, Offer, PresentInvitation};
use weir_wire::sessions::{Password, SignUp};

use crate::access::role_with_article;
use crate::api::Api;
use crate::browser;
use crate::components::feedback::{LoadingSkeleton, SubmitProblem};
use crate::components::input::PasswordField;
use crate::components::page::NarrowPage;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::time::RelativeTime;
use crate::session::{Session, SessionState};

#[component]
pub fn Accept() -> impl IntoView {
    let api = expect_context::<Api>();
    let hash = use_location().hash;
    // During navigation to another page the fragment is already empty while this page still exists.
    let token = Memo::new(move |before: Option<&InvitationToken>| {
        let text = hash.with(|hash| hash.trim_start_matches('#').to_owned());
        before.filter(|_| text.is_empty()).cloned().unwrap_or(InvitationToken(text))
    });
    let offer =
        fetch_data(move || api.preview_invitation(&PresentInvitation { token: token.get() }));
    view! {
        <NarrowPage title="Invitation">
            {show(offer, move |offer| view! { <Offer offer token=token.get_untracked() /> })}
            {move || offer.problem().map(|_| view! {
                <p class="muted">"Ask the person who invited you for a new link, or "<a href="/">"go to the dashboard"</a>"."</p>
            })}
        </NarrowPage>
    }
}

#[component]
fn Offer(offer: Offer, token: InvitationToken) -> impl IntoView {
    let session = expect_context::<Session>();
    let Offer { tenant_name, email, role, invited_by, expires_at } = offer;
    let (email, token) = (StoredValue::new(email), StoredValue::new(token));
    let way = move || match session.state() {
        SessionState::Unknown => view! { <LoadingSkeleton /> }.into_any(),
        SessionState::SignedOut(_) => {
            view! { <NewAccount email=email.get_value() token=token.get_value() /> }.into_any()
        }
        // Both are normalised.
        SessionState::SignedIn(me) if me.user.email == email.get_value() => {
            view! { <Join token=token.get_value() /> }.into_any()
        }
        SessionState::SignedIn(me) => {
            view! { <AnotherAccount current=me.user.email invited=email.get_value() /> }.into_any()
        }
    };
    view! {
        <p class="sentence">
            {invited_by}" asks "{email.get_value()}" to join "<strong><bdi>{tenant_name}</bdi></strong>" as "{role_with_article(role)}"."
        </p>
        <p class="note">"The invitation expires "<RelativeTime at=expires_at />"."</p>
        {way}
    }
}

/// For people who are signed in with the invited account.
#[component]
fn Join(token: InvitationToken) -> impl IntoView {
    let api = expect_context::<Api>();
    let action = SubmitAction::new();
    let navigate = use_navigate();
    let join = move |_| {
        let (body, navigate) = (PresentInvitation { token: token.clone() }, navigate.clone());
        action.run(api.accept_invitation(&body), move |tenant| {
            navigate(&format!("/t/{}/rules", tenant.id), NavigateOptions::default());
        });
    };
    view! {
        <SubmitProblem problem=action.problem />
        <button type="button" class="button primary" disabled=action.busy on:click=join>"Accept and join"</button>
    }
}

/// For people who are signed in with another account.
#[component]
fn AnotherAccount(current: String, invited: String) -> impl IntoView {
    let api = expect_context::<Api>();
    let sign_out = move |_| leptos::task::spawn_local(api.sign_out());
    view! {
        <p>"You are signed in as "{current}". This invitation is for "{invited}"."</p>
        <button type="button" class="button" on:click=sign_out>"Sign out and continue"</button>
    }
}

/// For people who are not signed in: create the account, or sign in to an existing one.
#[component]
fn NewAccount(email: String, token: InvitationToken) -> impl IntoView {
    let api = expect_context::<Api>();
    let password = RwSignal::new(String::new());
    let action = SubmitAction::with_fields(&["password"]);
    let navigate = use_navigate();
    let next = format!("/accept#{}", token.0);
    let sign_in = format!("/sign-in?next={}", browser::encode_component(&next));
    let sign_up = Callback::new(move |()| {
        let body = SignUp {
            email: email.clone(),
            password: Some(Password(password.get_untracked())),
            tenant_name: None,
            invitation: Some(token.clone()),
        };
        let navigate = navigate.clone();
        action.run(api.sign_up(&body), move |tenant| {
            navigate(&format!("/t/{tenant}/rules"), NavigateOptions::default());
        });
    });
    let incomplete = Signal::derive(move || password.with(String::is_empty));
    view! {
        <SubmitForm action submit="Create account and join" on_submit=sign_up incomplete class="stack">
            <PasswordField value=password action field="password" new=true />
        </SubmitForm>
        <p class="muted">"Already have an account? "<a href=sign_in>"Sign in to accept"</a></p>
    }
}
