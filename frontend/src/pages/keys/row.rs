//! A row of the key list with its actions.

use leptos::prelude::*;
use weir_wire::api_keys::{ApiKey, IssuedKey};
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;

use super::scope::scope_name;
use crate::api::Api;
use crate::browser;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{ConfirmedButton, Created, RotateButton, time_or_never};
use crate::components::time::{ExactTime, RelativeTime};
use crate::pages::shell::TenantId;
use crate::session::Session;

/// A row; `changed` receives the key with its new secret after a rotation.
#[component]
pub(super) fn KeyRow(api_key: ApiKey, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let ApiKey { id, name, scopes, hint, created_by, created_at, expires_at, .. } = api_key;
    let scopes = scopes.into_iter().map(scope_name).collect::<Vec<_>>().join(", ");
    let (last_used, former) = (api_key.last_used_at, api_key.created_by_former_member);
    let previous = api_key.previous_expires_at.filter(|at| !over(*at));
    view! {
        <tr>
            <td class="name">{name.clone()}</td>
            <td><code class="nowrap">"weir_"{hint}"_…"</code></td>
            <td>{scopes}</td>
            <td>
                <Created at=created_at by=created_by />
                {former.then(|| view! { <span class="badge badge-shadow">"Creator was removed"</span> })}
            </td>
            <td>{time_or_never(last_used)}</td>
            <td>
                {expires(expires_at)}
                {previous.map(|at| view! { <div class="muted">"old secret valid until "<ExactTime at /></div> })}
            </td>
            <td class="number">
                <RequireRole role=Role::Admin reason_shown=true>
                    <Rotate id=id.clone() name=name.clone() changed />
                    <Revoke id name changed />
                </RequireRole>
            </td>
        </tr>
    }
}

fn expires(at: Option<DateTime>) -> AnyView {
    match at {
        None => "Never".into_any(),
        Some(at) if over(at) => {
            view! { <span class="badge badge-shadow">"Expired"</span>" "<RelativeTime at /> }
                .into_any()
        }
        Some(at) => view! { <RelativeTime at /> }.into_any(),
    }
}

fn over(at: DateTime) -> bool {
    at.0.as_millis() <= browser::now_ms()
}

#[component]
fn Rotate(id: String, name: String, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, action) = (RwSignal::new(false), SubmitAction::with_fields(&["overlap_s"]));
    let rotate = Callback::new(move |overlap_s| {
        let id = id.clone();
        let work = async move { api.rotate_key(&tenant.now(), &id, overlap_s).await };
        action.run(work, move |key| {
            open.try_set(false);
            changed.run(Some(key));
        });
    });
    view! {
        <RotateButton
            label=format!("Rotate {name}")
            submit="Rotate key"
            note="The new secret is shown only once. Name, scopes and expiry do not change."
            hint="The time needed to deploy the new secret"
            open
            action
            on_rotate=rotate
        />
    }
}

#[component]
fn Revoke(id: String, name: String, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let action = SubmitAction::new();
    let consequence = format!(
        "Services that use {name} get 401 from all gates within a second. This cannot be undone."
    );
    let revoke = Callback::new(move |()| {
        let (key, revoked) = (id.clone(), id.clone());
        action.run(async move { api.revoke_key(&tenant.now(), &key).await }, move |()| {
            session.remove_secret(&revoked);
            changed.run(None);
        });
    });
    view! {
        <ConfirmedButton
            text="Revoke"
            name
            title="Revoke this key?"
            consequence
            confirm="Revoke key"
            action
            on_confirm=revoke
        />
    }
}
