//! All tenants of a person, and a new one.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_domain::names;
use weir_wire::sessions::Membership;

use crate::access::role_word;
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::feedback::{Empty, Skeleton};
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
                <ForOperators />
                <Account />
            </Show>
        </main>
    }
}

#[component]
fn ForOperators() -> impl IntoView {
    let session = expect_context::<Session>();
    let operator = session.signed_in().is_some_and(|signed_in| signed_in.user.operator);
    operator.then(|| {
        view! { <p><a href="/operator">"Operator: limits of every tenant, and usage"</a></p> }
    })
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
        view! { <Memberships data=me.memberships /> }.into_any()
    })
}

/// The list; a long one can be filtered.
#[component]
fn Memberships(data: Vec<Membership>) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let many = data.len() > FEW;
    let data = StoredValue::new(data);
    let items = move || {
        let typed = typed.get().trim().to_lowercase();
        let named = |it: &&Membership| it.tenant_name.to_lowercase().contains(&typed);
        data.with_value(|data| data.iter().filter(named).cloned().map(line).collect::<Vec<_>>())
    };
    view! {
        {many.then(|| view! { <TextField label="Filter" kind="search" value=typed /> })}
        <ul class="list">{items}</ul>
    }
}

fn line(membership: Membership) -> impl IntoView {
    let suspended = membership
        .suspended
        .then(|| view! { " "<span class="badge badge-shadow">"Suspended"</span> });
    view! {
        <li>
            <a href=format!("/t/{}/rules", membership.tenant_id)>{membership.tenant_name}</a>
            {suspended}
            <span class="quiet">{role_word(membership.role)}</span>
        </li>
    }
}

/// The form, where this person may make one.
#[component]
fn NewTenant() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let operator = session.signed_in().is_some_and(|signed_in| signed_in.user.operator);
    let options = load(move || api.sign_in_options());
    loaded(options, move |options| {
        if options.signup_open || operator {
            view! { <Form /> }.into_any()
        } else {
            view! { <p class="note">"New tenants are made by operators here."</p> }.into_any()
        }
    })
}

#[component]
fn Form() -> impl IntoView {
    let api = expect_context::<Api>();
    let name = RwSignal::new(String::new());
    let act = Act::with_fields(&["name"]);
    let navigate = use_navigate();
    let create = Callback::new(move |()| {
        let (name, navigate) = (name.get_untracked(), navigate.clone());
        act.run(async move { api.create_tenant(name.trim()).await }, move |tenant| {
            navigate(&format!("/t/{}/start", tenant.id), NavigateOptions::default());
        });
    });
    let problem = act.checked("name", name, names::title);
    let incomplete = Signal::derive(move || name.with(|name| names::title(name.trim()).is_err()));
    view! {
        <ActForm act submit="Create tenant" on_submit=create incomplete class="stack">
            <TextField label="Name of a new tenant" value=name problem />
        </ActForm>
    }
}

/// So many are seen at a glance.
const FEW: usize = 8;
