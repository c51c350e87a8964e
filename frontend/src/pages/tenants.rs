//! All tenants of a person, and a new one.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::sessions::Membership;
use weir_wire::tenants::Role;

use crate::api::{Api, Problem};
use crate::components::feedback::{ActProblem, Empty, Skeleton};
use crate::components::field::TextField;
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;
use crate::pages::shell::Account;
use crate::session::{Session, SessionState};

/// The page; it begins once somebody is signed in.
#[component]
pub fn Tenants() -> impl IntoView {
    let session = expect_context::<Session>();
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <main class="narrow">
            <p class="brand">"Weir"</p>
            <PageHead title="Tenants" lead="Rules, keys and statistics belong to a tenant." />
            <Show when=move || signed_in.get() fallback=|| view! { <Skeleton /> }>
                <List />
                <NewTenant />
                <Account />
            </Show>
        </main>
    }
}

#[component]
fn List() -> impl IntoView {
    let api = expect_context::<Api>();
    let me = load(move || api.me());
    loaded(me, |me| {
        if me.memberships.is_empty() {
            let next =
                view! { <p>"Create the first below, or ask somebody to invite you to theirs."</p> };
            return view! { <Empty title="You are not a member of any tenant.">{next}</Empty> }
                .into_any();
        }
        let items: Vec<_> = me.memberships.into_iter().map(line).collect();
        view! { <ul class="list">{items}</ul> }.into_any()
    })
}

fn line(membership: Membership) -> impl IntoView {
    let role = match membership.role {
        Role::Viewer => "viewer",
        Role::Editor => "editor",
        Role::Admin => "admin",
        Role::Owner => "owner",
    };
    let suspended = membership
        .suspended
        .then(|| view! { " "<span class="badge badge-shadow">"Suspended"</span> });
    view! {
        <li>
            <a href=format!("/t/{}/rules", membership.tenant_id)>{membership.tenant_name}</a>
            {suspended}
            <span class="quiet">{role}</span>
        </li>
    }
}

#[component]
fn NewTenant() -> impl IntoView {
    let api = expect_context::<Api>();
    let name = RwSignal::new(String::new());
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let navigate = use_navigate();
    let create = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        busy.set(true);
        problem.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            match api.create_tenant(name.get_untracked().trim()).await {
                Ok(tenant) => {
                    navigate(&format!("/t/{}/start", tenant.id), NavigateOptions::default());
                }
                Err(refused) => drop(problem.try_set(Some(refused))),
            }
            busy.try_set(false);
        });
    };
    view! {
        <form class="stack" on:submit=create>
            <TextField label="Name of a new tenant" value=name />
            <ActProblem problem />
            <button type="submit" class="button" disabled=move || busy.get() || name.with(|name| name.trim().is_empty())>
                "Create tenant"
            </button>
        </form>
    }
}
