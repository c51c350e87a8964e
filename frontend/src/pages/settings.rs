//! Settings: the tenant's name and its end, one's own name, password and sessions.

mod account;
mod enforcement;
mod recording;
mod sessions;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_domain::names;
use weir_wire::sessions::Me;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::ActProblem;
use crate::components::field::TextField;
use crate::components::load::{Load, load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::pages::shell::{LAST_TENANT, TenantId};
use account::{OwnName, OwnPassword};
use enforcement::Limits;
use recording::Recording;
use sessions::OwnSessions;

/// The page.
#[component]
pub fn Settings() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    // What the frame shows is fetched anew after a change; the forms here stay as they are.
    let me = expect_context::<Load<Me>>();
    let here = load(move || {
        tenant.get();
        api.me()
    });
    view! {
        <PageHead title="Settings" />
        {loaded(here, move |data| {
            let id = tenant.now();
            let membership = data.memberships.into_iter().find(|it| it.tenant_id == id);
            let name = membership.map(|it| it.tenant_name).unwrap_or_default();
            view! {
                <TenantName name=name.clone() me />
                <Limits name=name.clone() me />
                <Recording />
                <OwnName name=data.user.name me />
                <OwnPassword />
                <OwnSessions />
                <DeleteTenant name />
            }
        })}
    }
}

#[component]
fn TenantName(name: String, me: Load<Me>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let name = RwSignal::new(name);
    let act = Act::with_fields(&["name"]);
    let rename = Callback::new(move |()| {
        let name = name.get_untracked();
        let asked = async move { api.rename_tenant(&tenant.now(), name.trim()).await };
        act.run(asked, move |_| me.again());
    });
    let problem = act.checked("name", name, names::title);
    let incomplete = Signal::derive(move || name.with(|name| names::title(name.trim()).is_err()));
    view! {
        <Needs role=Role::Admin>
            <ActForm act submit="Rename" on_submit=rename incomplete>
                <h2>"Tenant"</h2>
                <TextField label="Name of the tenant" value=name problem />
                <p class="note">"Id "<code>{move || tenant.get()}</code></p>
            </ActForm>
        </Needs>
    }
}

#[component]
fn DeleteTenant(name: String) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let open = RwSignal::new(false);
    let act = Act::new();
    let navigate = use_navigate();
    let consequence = format!(
        "All rules, overrides, keys and statistics of {name} go, its members lose access, and its keys get 401 from all \
         gates at once. This cannot be undone."
    );
    let typed = name.clone();
    let delete = Callback::new(move |()| {
        let (name, navigate) = (typed.clone(), navigate.clone());
        act.run(async move { api.delete_tenant(&tenant.now(), &name).await }, move |()| {
            browser::forget(LAST_TENANT);
            navigate("/tenants", NavigateOptions::default());
        });
    });
    view! {
        <section class="panel" aria-label="Delete the tenant">
            <h2>"Delete the tenant"</h2>
            <p class="note">"With all it has; its checks are refused from then on."</p>
            <Needs role=Role::Owner>
                <ActProblem problem=act.problem />
                <button type="button" class="button danger" disabled=act.busy on:click=move |_| open.set(true)>"Delete this tenant…"</button>
            </Needs>
            <ConfirmByName title="Delete this tenant?" consequence name act="Delete tenant" open on_confirm=delete />
        </section>
    }
}
