//! API keys: create, show the secret once, rotate, revoke.

mod columns;
mod new_key;
mod scope;
mod secret;

use leptos::prelude::*;
use weir_wire::api_keys::{IssuedKey, KeyScope};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::data_table::{DataTable, table_in_url};
use crate::components::dialog::Drawer;
use crate::components::feedback::Empty;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_rows};
use crate::components::require_role::{RequireRole, RoleButton};
use crate::components::url_state::open_from_url;
use crate::pages::shell::TenantId;
use crate::session::{IssuedSecret, Session};
use columns::columns;
use new_key::NewKey;
use secret::Secret;

#[component]
pub fn Keys() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let keys = fetch_data(move || api.keys(&tenant.get()));
    let issued = RwSignal::new(None::<IssuedKey>);
    let changed = Callback::new(move |key: Option<IssuedKey>| {
        keys.refetch();
        let Some(key) = key else { return };
        session.remove_secret(&key.id);
        if key.scopes.contains(&KeyScope::Check) {
            session.add_secret(IssuedSecret {
                tenant_id: tenant.now(),
                key_id: key.id.clone(),
                secret: key.secret.clone(),
            });
        }
        issued.try_set(Some(key));
    });
    let new = open_from_url("1");
    let created = Callback::new(move |key: Option<IssuedKey>| {
        new.set(false);
        changed.run(key);
    });
    let secret = move || {
        let stored = Callback::new(move |()| issued.set(None));
        issued.get().map(|key| view! { <Secret issued_key=key stored /> })
    };
    view! {
        <PageHeader title="API keys" lead="Your services authenticate to the gates with an API key, as Authorization: Bearer.">
            <RoleButton role=Role::Admin text="New key" class="button primary" on_press=move |()| new.set(true) />
        </PageHeader>
        <Drawer title="New key" open=new><NewKey changed=created /></Drawer>
        <RequireRole role=Role::Admin reason_shown=true>{secret}</RequireRole>
        {show_rows(keys, move |rows| view! {
            <DataTable
                label="API keys"
                nouns=("key", "keys")
                rows
                columns=columns(changed)
                id=|key| key.id.clone()
                view=table_in_url()
                empty=|| view! {
                    <Empty title="No API keys yet"><p>"Create one: it works on all gates within a second."</p></Empty>
                }
            />
        })}
    }
}
