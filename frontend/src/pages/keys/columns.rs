//! The columns of the key list, with the actions of a key.

use leptos::prelude::*;
use weir_wire::api_keys::{ApiKey, IssuedKey};
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;

use super::scope::scope_name;
use crate::api::Api;
use crate::browser;
use crate::components::data_table::Column;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{ConfirmedButton, Created, RotateButton, time_or_never};
use crate::components::time::{ExactTime, ExpiryTime};
use crate::components::toast::Toasts;
use crate::pages::shell::TenantId;
use crate::session::Session;

/// The columns; `changed` receives the key with its new secret after a rotation.
pub(super) fn columns(changed: Callback<Option<IssuedKey>>) -> Vec<Column<ApiKey>> {
    let name = |key: &ApiKey| key.name.clone();
    let hint = |key: &ApiKey| format!("weir_{}_…", key.hint);
    let time = |at: Option<DateTime>| at.map_or_else(|| "Never".to_owned(), DateTime::text);
    let ms = |at: Option<DateTime>, never: i64| at.map_or(never, |at| at.0.as_millis());
    vec![
        Column::new("name", "Name", name).by_text(name).class("name"),
        Column::new("key", "Key", hint)
            .cell(move |key| view! { <code class="nowrap">{hint(key)}</code> }.into_any()),
        Column::new("scopes", "Scopes", |key: &ApiKey| scopes(key).join(" ")).cell(|key| {
            let chip = |scope| view! { <span class="badge">{scope}</span> };
            let chips: Vec<_> = scopes(key).into_iter().map(chip).collect();
            view! { <span class="chips">{chips}</span> }.into_any()
        }),
        Column::new("namespaces", "Namespaces", namespaces).cell(|key| match &key.namespaces {
            None => view! { <span class="muted">"All"</span> }.into_any(),
            Some(only) => {
                let chip = |name: &String| view! { <span class="badge">{name.clone()}</span> };
                let chips: Vec<_> = only.iter().map(chip).collect();
                view! { <span class="chips">{chips}</span> }.into_any()
            }
        }),
        Column::new("created", "Created", |key: &ApiKey| {
            format!("{} by {}", key.created_at.text(), key.created_by)
        })
        .by_number(|key| key.created_at.0.as_millis())
        .cell(|key| {
            let former = key.created_by_former_member;
            let former = former
                .then(|| view! { <span class="badge badge-degraded">"Creator was removed"</span> });
            view! { <div><Created at=key.created_at by=key.created_by.clone() />{former}</div> }
                .into_any()
        }),
        Column::new("used", "Last used", move |key: &ApiKey| time(key.last_used_at))
            .by_number(move |key| ms(key.last_used_at, 0))
            .cell(|key| view! { <span>{time_or_never(key.last_used_at)}</span> }.into_any()),
        Column::new("expires", "Expires", move |key: &ApiKey| {
            let previous = key.previous_expires_at.map(|at| format!("; old secret {}", at.text()));
            time(key.expires_at) + &previous.unwrap_or_default()
        })
        .by_number(move |key| ms(key.expires_at, i64::MAX))
        .cell(expiry),
        Column::actions(move |key: &ApiKey| {
            let (id, name) = (key.id.clone(), key.name.clone());
            view! {
                <RequireRole role=Role::Admin reason_shown=true>
                    <Rotate id=id.clone() name=name.clone() changed />
                    <Revoke id name changed />
                </RequireRole>
            }
            .into_any()
        })
        .class("number row-actions"),
    ]
}

fn scopes(key: &ApiKey) -> Vec<&'static str> {
    key.scopes.iter().copied().map(scope_name).collect()
}

fn namespaces(key: &ApiKey) -> String {
    key.namespaces.as_ref().map_or_else(|| "All".to_owned(), |only| only.join(" "))
}

fn expiry(key: &ApiKey) -> AnyView {
    let previous = key.previous_expires_at.filter(|at| !over(*at));
    view! {
        <div>
            <ExpiryTime at=key.expires_at />
            {previous.map(|at| view! { <div class="muted">"old secret valid until "<ExactTime at /></div> })}
        </div>
    }
    .into_any()
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
            note="The new secret is shown only once. Name, scopes, namespaces and expiry do not change."
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
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let action = SubmitAction::new();
    let shown_name = name.clone();
    let consequence = format!(
        "Services that use {name} get 401 from all gates within a second. This cannot be undone."
    );
    let revoke = Callback::new(move |()| {
        let (key, revoked) = (id.clone(), id.clone());
        let text = format!("{shown_name} revoked");
        action.run(async move { api.revoke_key(&tenant.now(), &key).await }, move |()| {
            toasts.show(text);
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
