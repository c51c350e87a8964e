//! The operator page: the switch for all limits, ceilings, and the usage of all tenants.

mod accounts;
mod ceilings;
mod usage;

use leptos::prelude::*;
use weir_wire::tenants::{Enforcement, InstallationEnforcement};

use crate::api::Api;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{LoadingSkeleton, SubmitProblem};
use crate::components::logo::Logo;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::SubmitAction;
use crate::pages::not_found::NotFound;
use crate::pages::shell::Account;
use crate::session::{Session, SessionState};
use accounts::Accounts;
use ceilings::Ceilings;
use usage::Usage;

/// The page for operators, rendered once the person is signed in.
#[component]
pub fn Operator() -> impl IntoView {
    let session = expect_context::<Session>();
    let operator = Memo::new(move |_| match session.state() {
        SessionState::SignedIn(signed_in) => Some(signed_in.user.operator),
        SessionState::Unknown | SessionState::SignedOut(_) => None,
    });
    let page = move || match operator.get() {
        None => view! { <main class="narrow"><LoadingSkeleton /></main> }.into_any(),
        // To others the page does not exist, as its API does not.
        Some(false) => view! { <NotFound /> }.into_any(),
        Some(true) => view! { <Page /> }.into_any(),
    };
    view! { {page} }
}

#[component]
fn Page() -> impl IntoView {
    view! {
        <main class="narrow wide">
            <p class="brand"><Logo /></p>
            <PageHeader title="Operator" lead="Settings and usage of all tenants of this installation">
                <a class="button" href="/tenants">"Tenants"</a>
            </PageHeader>
            <Limits />
            <Ceilings />
            <Usage />
            <Accounts />
            <Account />
        </main>
    }
}

/// The switch for the limits of every tenant.
#[component]
fn Limits() -> impl IntoView {
    let api = expect_context::<Api>();
    let action = SubmitAction::new();
    let open = RwSignal::new(false);
    let current = fetch_data(move || api.installation_enforcement());
    let set = move |enforcement: Enforcement| {
        action.run(api.set_installation_enforcement(enforcement), move |_| current.refetch());
    };
    let turn_off = Callback::new(move |()| set(Enforcement::Off));
    let consequence = "All gates allow every check of every tenant within a second, including those that a deny rule matches. Nothing \
                       is counted, and every page of every tenant shows a banner until limits are turned on again.";
    let body = move |current: InstallationEnforcement| {
        if current.enforcement.is_on() {
            view! {
                <p role="status">"Limits are on."</p>
                <button type="button" class="button danger" disabled=action.busy on:click=move |_| open.set(true)>"Turn limits off for every tenant…"</button>
            }
            .into_any()
        } else {
            view! {
                <div class="problem" role="alert">
                    <p class="problem-title">"Limits are off for every tenant"</p>
                    <p>"Every check is allowed."</p>
                </div>
                <button type="button" class="button" disabled=action.busy on:click=move |_| set(Enforcement::On)>"Turn limits on"</button>
            }
            .into_any()
        }
    };
    view! {
        <section class="panel" aria-label="Limits of every tenant">
            <h2>"Limits of every tenant"</h2>
            <SubmitProblem problem=action.problem />
            {show(current, body)}
            <ConfirmByName
                title="Turn the limits of every tenant off?"
                consequence
                name="every tenant"
                action="Turn limits off"
                open
                on_confirm=turn_off
            />
        </section>
    }
}
