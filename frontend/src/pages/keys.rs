//! API keys: create, show the secret once, rotate, revoke.

mod new_key;
mod row;
mod scope;
mod secret;

use leptos::prelude::*;
use weir_wire::api_keys::{ApiKey, IssuedKey, KeyScope};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::table::ObjectTable;
use crate::pages::shell::TenantId;
use crate::session::{IssuedSecret, Session};
use new_key::NewKey;
use row::KeyRow;
use secret::Secret;

#[component]
pub fn Keys() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let keys = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.keys(&tenant).await }
    });
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
    let head = move || match issued.get() {
        Some(key) => {
            view! { <Secret issued_key=key stored=Callback::new(move |()| issued.set(None)) /> }
                .into_any()
        }
        None => view! { <NewKey changed /> }.into_any(),
    };
    view! {
        <PageHeader title="API keys" lead="Your services authenticate to the gates with an API key, as Authorization: Bearer." />
        <RequireRole role=Role::Admin>{head}</RequireRole>
        {show(keys, move |data| view! { <List data changed /> })}
    }
}

#[component]
fn List(data: Vec<ApiKey>, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    if data.is_empty() {
        return view! {
            <Empty title="No API keys yet"><p>"Create one above. It works on all gates within a second."</p></Empty>
        }
        .into_any();
    }
    let rows: Vec<_> =
        data.into_iter().map(|key| view! { <KeyRow api_key=key changed /> }).collect();
    view! {
        <ObjectTable label="API keys" columns=&["Name", "Key", "Scopes", "Created", "Last used", "Expires"]>{rows}</ObjectTable>
    }
    .into_any()
}
