//! API keys: make one, see its secret once, revoke it.

mod new_key;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::api_keys::{ApiKey, KeyScope};
use weir_wire::tenants::Role;

use crate::api::{Api, Problem};
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::load::{Load, load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::components::time::When;
use crate::pages::shell::TenantId;
use crate::session::Session;
use new_key::NewKey;

/// The page.
#[component]
pub fn Keys() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let keys = load(move || {
        let tenant = tenant.get();
        async move { api.keys(&tenant).await }
    });
    view! {
        <PageHead title="Keys" lead="Your programs authenticate with a key, as Authorization: Bearer." />
        <Needs role=Role::Admin><NewKey on_created=Callback::new(move |()| keys.again()) /></Needs>
        {loaded(keys, move |data| view! { <Needs role=Role::Admin told=true><List data=data.clone() keys /></Needs> })}
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
fn List(data: Vec<ApiKey>, keys: Load<Vec<ApiKey>>) -> impl IntoView {
    if data.is_empty() {
        return view! {
            <Empty title="No keys yet."><p>"Create one above; gates know it within a second."</p></Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = data.into_iter().map(|key| view! { <Line key_line=key keys /> }).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Keys">
            <table>
                <thead><tr>
                    <th>"Name"</th><th>"Key"</th><th>"May"</th><th>"Created"</th><th>"Expires"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

#[component]
fn Line(key_line: ApiKey, keys: Load<Vec<ApiKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let (open, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let ApiKey { id, name, scopes, hint, created_at, expires_at, .. } = key_line;
    let scopes = scopes.into_iter().map(scope_word).collect::<Vec<_>>().join(", ");
    let consequence = format!(
        "Whatever still uses {name} gets 401 from all gates within a second. This cannot be undone."
    );
    let revoke = Callback::new(move |()| {
        let id = id.clone();
        spawn_local(async move {
            match api.revoke_key(&tenant.now(), &id).await {
                Ok(()) => {
                    session.forget(&id);
                    keys.again();
                }
                Err(refused) => drop(problem.try_set(Some(refused))),
            }
        });
    });
    let label = format!("Revoke {name}");
    view! {
        <tr>
            <td class="name">{name.clone()}</td>
            <td><code>"weir_"{hint}"_…"</code></td>
            <td>{scopes}</td>
            <td><When at=created_at /></td>
            <td>{expires_at.map_or_else(|| "never".into_any(), |at| view! { <When at /> }.into_any())}</td>
            <td class="number">
                <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Revoke"</button>
                <ActProblem problem />
                <ConfirmByName title="Revoke this key?" consequence name act="Revoke key" open on_confirm=revoke />
            </td>
        </tr>
    }
}
