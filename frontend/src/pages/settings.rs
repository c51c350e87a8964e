//! Settings: the tenant, and the signed-in person's account.

mod account;
mod enforcement;
mod namespaces;
mod recording;
mod second_factor;
mod sessions;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_domain::names;
use weir_wire::sessions::Me;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::browser;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{Skeleton, SubmitProblem};
use crate::components::field::TextField;
use crate::components::input::Input;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show_shaped};
use crate::components::require_role::RequireRole;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;
use crate::pages::customer_attribute::CustomerAttribute;
use crate::pages::shell::{LAST_TENANT, TenantId};
use account::{OwnName, OwnPassword};
use enforcement::Limits;
use namespaces::Namespaces;
use recording::Recording;
use second_factor::OwnSecondFactor;
use sessions::OwnSessions;

#[component]
pub fn Settings() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    // Refetches the data of the shell after a change, and keeps the forms of this page.
    let me = expect_context::<RemoteData<Me>>();
    let here = fetch_data(move || {
        tenant.get();
        api.me()
    });
    let stored = fetch_data(move || api.tenant(&tenant.get()));
    let tenant_name = move |data: &Me| {
        let id = tenant.now();
        let here = data.memberships.iter().find(|membership| membership.tenant_id == id);
        here.map(|membership| membership.tenant_name.clone()).unwrap_or_default()
    };
    view! {
        <PageHeader title="Settings" />
        <section class="settings-group" aria-labelledby="settings-tenant">
            <h2 id="settings-tenant">"Tenant"</h2>
            {show_shaped(here, Skeleton::Form, move |data| {
                let name = tenant_name(&data);
                view! {
                    <TenantName name=name.clone() me />
                    <Limits name me />
                }
            })}
            {show_shaped(stored, Skeleton::Form, move |data| {
                view! { <CustomerAttribute attribute=data.customer_attribute done=move |()| () /> }
            })}
            <Namespaces />
            <Recording />
            {show_shaped(here, Skeleton::Form, move |data| view! { <DeleteTenant name=tenant_name(&data) /> })}
        </section>
        <section class="settings-group" aria-labelledby="settings-account">
            <h2 id="settings-account">"Your account"</h2>
            {show_shaped(here, Skeleton::Form, move |data| view! { <OwnName name=data.user.name me /> })}
            <OwnPassword />
            <OwnSecondFactor />
            <OwnSessions />
        </section>
    }
}

#[component]
fn TenantName(name: String, me: RemoteData<Me>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (action, toasts) = (SubmitAction::with_fields(&["name"]), expect_context::<Toasts>());
    let typed = Input::new(action, "name", &name, names::title);
    let saved = RwSignal::new(name);
    let rename = Callback::new(move |()| {
        let new = typed.text();
        action.run(api.rename_tenant(&tenant.now(), &new), move |_| {
            toasts.show("Tenant renamed");
            saved.try_set(new);
            me.refetch();
        });
    });
    let incomplete =
        Signal::derive(move || saved.with(|saved| typed.is(saved)) || typed.is_invalid());
    view! {
        <RequireRole role=Role::Admin>
            <SubmitForm action submit="Save" on_submit=rename incomplete>
                <h3>"General"</h3>
                <TextField label="Tenant name" value=typed.value problem=typed.problem />
                <p class="note">"ID: "<code>{move || tenant.get()}</code></p>
            </SubmitForm>
        </RequireRole>
    }
}

#[component]
fn DeleteTenant(name: String) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let open = RwSignal::new(false);
    let action = SubmitAction::new();
    let navigate = use_navigate();
    let consequence = format!(
        "Deletes all rules, overrides, keys and statistics of {name}. Members lose access, and keys stop working on all \
         gates. This cannot be undone."
    );
    let typed = name.clone();
    let delete = Callback::new(move |()| {
        let navigate = navigate.clone();
        action.run(api.delete_tenant(&tenant.now(), &typed), move |()| {
            browser::remove_stored(LAST_TENANT);
            navigate("/tenants", NavigateOptions::default());
        });
    });
    view! {
        <section class="panel" aria-label="Delete tenant">
            <h3>"Delete tenant"</h3>
            <p class="note">"Deletes everything in the tenant. Its checks are denied from then on."</p>
            <RequireRole role=Role::Owner>
                <SubmitProblem problem=action.problem />
                <button type="button" class="button danger" disabled=action.busy on:click=move |_| open.set(true)>"Delete this tenant…"</button>
            </RequireRole>
            <ConfirmByName title="Delete this tenant?" consequence name action="Delete tenant" open on_confirm=delete />
        </section>
    }
}
