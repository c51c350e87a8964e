//! Accepting an invitation, with an account or by making one. The token is behind the hash of the address.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use weir_wire::members::{InvitationToken, Offer, PresentInvitation};
use weir_wire::sessions::{Password, SignUp};

use crate::access::a_role;
use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::feedback::{ActProblem, Skeleton};
use crate::components::field::TextField;
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;
use crate::components::time::When;
use crate::session::{Session, SessionState};

/// The page.
#[component]
pub fn Accept() -> impl IntoView {
    let api = expect_context::<Api>();
    let hash = use_location().hash;
    // On the way to another page the hash is empty already, and this one still here.
    let token = Memo::new(move |before: Option<&InvitationToken>| {
        let text = hash.with(|hash| hash.trim_start_matches('#').to_owned());
        before.filter(|_| text.is_empty()).cloned().unwrap_or(InvitationToken(text))
    });
    let offer = load(move || {
        let token = token.get();
        async move { api.look_at_invitation(&PresentInvitation { token }).await }
    });
    view! {
        <main class="narrow">
            <p class="brand">"Weir"</p>
            <PageHead title="Invitation" />
            {loaded(offer, move |offer| view! { <Offered offer token=token.get_untracked() /> })}
            {move || offer.problem().map(|_| view! {
                <p class="quiet">"Ask whoever invited you for a new link, or "<a href="/">"go to the start"</a>"."</p>
            })}
        </main>
    }
}

#[component]
fn Offered(offer: Offer, token: InvitationToken) -> impl IntoView {
    let session = expect_context::<Session>();
    let Offer { tenant_name, email, role, invited_by, expires_at } = offer;
    let (email, token) = (StoredValue::new(email), StoredValue::new(token));
    let way = move || match session.state() {
        SessionState::Unknown => view! { <Skeleton /> }.into_any(),
        SessionState::SignedOut(_) => {
            view! { <NewAccount email=email.get_value() token=token.get_value() /> }.into_any()
        }
        // Both are in normal form.
        SessionState::SignedIn(me) if me.user.email == email.get_value() => {
            view! { <Join token=token.get_value() /> }.into_any()
        }
        SessionState::SignedIn(me) => {
            view! { <AnotherAccount mine=me.user.email wanted=email.get_value() /> }.into_any()
        }
    };
    view! {
        <p class="sentence">
            {invited_by}" asks "{email.get_value()}" to join "<strong><bdi>{tenant_name}</bdi></strong>" as "{a_role(role)}"."
        </p>
        <p class="note">"The invitation ends "<When at=expires_at />"."</p>
        {way}
    }
}

/// Somebody with the right account is signed in.
#[component]
fn Join(token: InvitationToken) -> impl IntoView {
    let api = expect_context::<Api>();
    let act = Act::new();
    let navigate = use_navigate();
    let join = move |_| {
        let (body, navigate) = (PresentInvitation { token: token.clone() }, navigate.clone());
        act.run(async move { api.accept_invitation(&body).await }, move |tenant| {
            navigate(&format!("/t/{}/rules", tenant.id), NavigateOptions::default());
        });
    };
    view! {
        <ActProblem problem=act.problem />
        <button type="button" class="button primary" disabled=act.busy on:click=join>"Accept and join"</button>
    }
}

/// Somebody else is signed in.
#[component]
fn AnotherAccount(mine: String, wanted: String) -> impl IntoView {
    let api = expect_context::<Api>();
    let sign_out = move |_| leptos::task::spawn_local(api.sign_out());
    view! {
        <p>"You are signed in as "{mine}". Only "{wanted}" can accept this invitation."</p>
        <button type="button" class="button" on:click=sign_out>"Sign out and go on"</button>
    }
}

/// Nobody is signed in: make the account, or sign in to the one that is there.
#[component]
fn NewAccount(email: String, token: InvitationToken) -> impl IntoView {
    let api = expect_context::<Api>();
    let password = RwSignal::new(String::new());
    let act = Act::with_fields(&["password"]);
    let navigate = use_navigate();
    let next = format!("/accept#{}", token.0);
    let sign_in = format!("/sign-in?next={}", browser::encoded(&next));
    let sign_up = Callback::new(move |()| {
        let body = SignUp {
            email: email.clone(),
            password: Some(Password(password.get_untracked())),
            tenant_name: None,
            invitation: Some(token.clone()),
        };
        let navigate = navigate.clone();
        act.run(async move { api.sign_up(&body).await }, move |tenant| {
            navigate(&format!("/t/{tenant}/rules"), NavigateOptions::default());
        });
    });
    let incomplete = Signal::derive(move || password.with(String::is_empty));
    view! {
        <ActForm act submit="Make an account and join" on_submit=sign_up incomplete class="stack">
            <TextField
                label="Choose a password"
                kind="password"
                autocomplete="new-password"
                value=password
                problem=act.refused("password")
                hint="8 to 128 characters, and not a common password"
            />
        </ActForm>
        <p class="quiet">"Have an account? "<a href=sign_in>"Sign in to accept"</a></p>
    }
}
