//! The tenants of a person, and creating one.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_domain::names;
use weir_wire::sessions::Membership;

use crate::access::role_name;
use crate::api::{Api, StatsScope};
use crate::components::control_flow::Show;
use crate::components::feedback::{Empty, LoadingSkeleton};
use crate::components::field::TextField;
use crate::components::input::Input;
use crate::components::logo::Logo;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::health::last_hour;
use crate::pages::shell::Account;
use crate::session::{Session, SessionState};

/// The page; rendered once the person is signed in.
#[component]
pub fn Tenants() -> impl IntoView {
    let session = expect_context::<Session>();
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <main class="narrow">
            <p class="brand"><Logo /></p>
            <PageHeader title="Tenants" lead="Each tenant has its own rules, keys and statistics." />
            <Show when=move || signed_in.get() fallback=|| view! { <LoadingSkeleton /> }>
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
        view! {
            <p><a href="/operator">"Operator: limits, ceilings and usage of all tenants"</a></p>
            <p><a href="/operator/gates">"Gates: state, rollouts and load"</a></p>
            <p><a href="/operator/regions">"Regions: data centres, and the home of the counters"</a></p>
        }
    })
}

#[component]
fn List() -> impl IntoView {
    let api = expect_context::<Api>();
    let me = fetch_data(move || api.me());
    show(me, |me| {
        if me.memberships.is_empty() {
            let next =
                view! { <p>"Create one below, or ask to be invited to an existing tenant."</p> };
            return view! { <Empty title="You are not a member of any tenant yet">{next}</Empty> }
                .into_any();
        }
        view! { <Memberships data=me.memberships /> }.into_any()
    })
}

/// The list, with a filter if it is long. A short one has the traffic of each tenant.
#[component]
fn Memberships(data: Vec<Membership>) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let many = data.len() > FEW;
    let data = StoredValue::new(data);
    let items = move || {
        let typed = typed.get().trim().to_lowercase();
        let named =
            |membership: &&Membership| membership.tenant_name.to_lowercase().contains(&typed);
        let found: Vec<_> = data.with_value(|data| data.iter().filter(named).cloned().collect());
        let few = found.len() <= FEW;
        found.into_iter().map(|membership| row(membership, few)).collect::<Vec<_>>()
    };
    view! {
        {many.then(|| view! { <TextField label="Filter" kind="search" value=typed /> })}
        <ul class="list">{items}</ul>
    }
}

fn row(membership: Membership, with_traffic: bool) -> impl IntoView {
    let state = if membership.suspended {
        Some("Suspended")
    } else if membership.enforcement.is_on() && membership.installation_enforcement.is_on() {
        None
    } else {
        Some("Limits off")
    };
    let state = state.map(|state| view! { " "<span class="badge badge-degraded">{state}</span> });
    let tenant = membership.tenant_id.clone();
    let traffic = with_traffic.then(|| view! { <LastHour tenant /> });
    view! {
        <li>
            <a href=format!("/t/{}/overview", membership.tenant_id)>{membership.tenant_name}</a>
            {state}
            <span class="muted">{role_name(membership.role)}</span>
            {traffic}
        </li>
    }
}

/// The checks of the last hour. The line is there before they are known, so that the list does not jump.
#[component]
fn LastHour(tenant: String) -> impl IntoView {
    let api = expect_context::<Api>();
    let summary = fetch_data(move || api.summary(&StatsScope::last(tenant.clone(), HOUR_MS)));
    let text = move || match summary.data() {
        Some(summary) => last_hour(&summary.counts),
        None => "\u{a0}".to_owned(),
    };
    view! { <span class="note">{text}</span> }
}

/// The form, if the person can create tenants.
#[component]
fn NewTenant() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let operator = session.signed_in().is_some_and(|signed_in| signed_in.user.operator);
    let options = fetch_data(move || api.sign_in_options());
    show(options, move |options| {
        if options.signup_open || operator {
            view! { <Form /> }.into_any()
        } else {
            view! { <p class="note">"On this installation, operators create tenants."</p> }
                .into_any()
        }
    })
}

#[component]
fn Form() -> impl IntoView {
    let api = expect_context::<Api>();
    let action = SubmitAction::with_fields(&["name"]);
    let name = Input::new(action, "name", "", names::title);
    let navigate = use_navigate();
    let create = Callback::new(move |()| {
        let navigate = navigate.clone();
        action.run(api.create_tenant(&name.text()), move |tenant| {
            navigate(&format!("/t/{}/start", tenant.id), NavigateOptions::default());
        });
    });
    view! {
        <h2>"New tenant"</h2>
        <SubmitForm action submit="Create tenant" on_submit=create incomplete=name.invalid() class="stack">
            <TextField label="Name" value=name.value problem=name.problem />
        </SubmitForm>
    }
}

const HOUR_MS: i64 = 3_600_000;
/// The number of tenants that need no filter.
const FEW: usize = 8;
