//! What operators see and do for all tenants: the switch of all limits, and the usage by day.

mod usage;

use leptos::prelude::*;
use weir_wire::tenants::{Enforcement, InstallationEnforcement};

use crate::api::Api;
use crate::components::act::Act;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{ActProblem, Skeleton};
use crate::components::load::{load, loaded};
use crate::components::page::PageHead;
use crate::pages::shell::Account;
use crate::session::{Session, SessionState};
use usage::Usage;

/// The page; it begins once somebody is signed in.
#[component]
pub fn Operator() -> impl IntoView {
    let session = expect_context::<Session>();
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <main class="narrow wide">
            <p class="brand">"Weir"</p>
            <PageHead title="Operator" lead="What concerns every tenant of this installation.">
                <a class="button" href="/tenants">"Tenants"</a>
            </PageHead>
            <Show when=move || signed_in.get() fallback=|| view! { <Skeleton /> }>
                <Limits />
                <Usage />
                <Account />
            </Show>
        </main>
    }
}

/// The switch of every tenant's limits.
#[component]
fn Limits() -> impl IntoView {
    let api = expect_context::<Api>();
    let act = Act::new();
    let open = RwSignal::new(false);
    let current = load(move || api.installation_enforcement());
    let set = move |enforcement: Enforcement| {
        act.run(api.set_installation_enforcement(enforcement), move |_| current.again());
    };
    let turn_off = Callback::new(move |()| set(Enforcement::Off));
    let consequence = "Within a second every gate allows every check of every tenant, deny rules included, and nothing \
                       is counted against a limit. Each page of every tenant shows a banner until limits are on again.";
    let body = move |current: InstallationEnforcement| {
        if current.enforcement.is_on() {
            view! {
                <p role="status">"Limits are on."</p>
                <button type="button" class="button danger" disabled=act.busy on:click=move |_| open.set(true)>"Turn limits off for every tenant…"</button>
            }
            .into_any()
        } else {
            view! {
                <div class="problem" role="alert">
                    <p class="problem-title">"Limits are off for every tenant"</p>
                    <p>"Every check is allowed."</p>
                </div>
                <button type="button" class="button" disabled=act.busy on:click=move |_| set(Enforcement::On)>"Turn limits on"</button>
            }
            .into_any()
        }
    };
    view! {
        <section class="panel" aria-label="Limits of every tenant">
            <h2>"Limits of every tenant"</h2>
            <ActProblem problem=act.problem />
            {loaded(current, body)}
            <ConfirmByName
                title="Turn the limits of every tenant off?"
                consequence
                name="every tenant"
                act="Turn limits off"
                open
                on_confirm=turn_off
            />
        </section>
    }
}
