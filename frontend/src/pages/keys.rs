//! API keys: make one, see its secret once, give it a new one, revoke it.

mod line;
mod new_key;
mod secret;

use leptos::prelude::*;
use weir_wire::api_keys::{ApiKey, IssuedKey, KeyScope};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::load::{load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::pages::shell::TenantId;
use crate::session::{KnownSecret, Session};
use line::Line;
use new_key::NewKey;
use secret::Secret;

/// The page.
#[component]
pub fn Keys() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let keys = load(move || {
        let tenant = tenant.get();
        async move { api.keys(&tenant).await }
    });
    let issued = RwSignal::new(None::<IssuedKey>);
    let changed = Callback::new(move |key: Option<IssuedKey>| {
        keys.again();
        let Some(key) = key else { return };
        session.forget(&key.id);
        if key.scopes.contains(&KeyScope::Check) {
            session.remember(KnownSecret {
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
        <PageHead title="Keys" lead="Your programs authenticate with a key, as Authorization: Bearer." />
        <Needs role=Role::Admin>{head}</Needs>
        {loaded(keys, move |data| view! { <List data changed /> })}
    }
}

/// What a scope is called.
const fn scope_word(scope: KeyScope) -> &'static str {
    match scope {
        KeyScope::Check => "check",
        KeyScope::Read => "read",
        KeyScope::Write => "write",
        KeyScope::Admin => "admin",
    }
}

#[component]
fn List(data: Vec<ApiKey>, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    if data.is_empty() {
        return view! {
            <Empty title="No keys yet."><p>"Create one above; gates know it within a second."</p></Empty>
        }
        .into_any();
    }
    let rows: Vec<_> =
        data.into_iter().map(|key| view! { <Line key_line=key changed /> }).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Keys">
            <table>
                <thead><tr>
                    <th>"Name"</th><th>"Key"</th><th>"May"</th><th>"Created"</th><th>"Last used"</th><th>"Expires"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
