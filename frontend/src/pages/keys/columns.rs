//! The columns of the key list, with the actions of a key.

use leptos::prelude::*;
use weir_wire::api_keys::{ApiKey, IssuedKey};
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;

use super::scope::scope_name;
use crate::api::Api;
use crate::browser;
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::components::data_table::Column;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{ConfirmedCall, Created, RotateButton, time_or_never};
use crate::components::time::{ExactTime, ExpiryTime};
use crate::components::toast::Toasts;
use crate::model::key_requests::summary;
use crate::model::number::grouped;
use crate::pages::shell::TenantId;
use crate::session::Session;

/// The columns; `changed` receives the key with its new secret after a rotation.
pub(super) fn columns(changed: Callback<Option<IssuedKey>>) -> Vec<Column<ApiKey>> {
    let name = |key: &ApiKey| key.name.clone();
    let hint = |key: &ApiKey| format!("weir_{}_…", key.hint);
    let time = |at: Option<DateTime>| at.map_or_else(|| "Never".to_owned(), DateTime::text);
    let ms = |at: Option<DateTime>, never: i64| at.map_or(never, |at| at.0.as_millis());
    vec![
        Column::text("name", "Name", name).class("name"),
        Column::new("key", "Key", hint)
            .cell(move |key| view! { <code class="nowrap">{hint(key)}</code> }.into_any()),
        Column::new("scopes", "Scopes", permissions).cell(|key| {
            let only = key.namespaces.clone().map(|only| {
                view! { <span class="muted">"only in "</span>{chips(only)} }
            });
            let scopes = chips(scopes(key).into_iter().map(str::to_owned));
            view! { <div class="chips">{scopes}{only}</div> }.into_any()
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
            .cell(last_used)
            .class("place-cell"),
        Column::new("requests", "Requests, last hour", |key: &ApiKey| {
            key.requests.as_ref().map(|requests| requests.last_hour.to_string()).unwrap_or_default()
        })
        .by_number(|key| {
            let last_hour = key.requests.as_ref().map_or(0, |requests| requests.last_hour);
            i64::try_from(last_hour).unwrap_or(i64::MAX)
        })
        .cell(requests),
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

/// `check`, or `read write in payments web` for a key that is restricted to namespaces.
fn permissions(key: &ApiKey) -> String {
    let only = key.namespaces.as_ref().map(|only| format!(" in {}", only.join(" ")));
    scopes(key).join(" ") + &only.unwrap_or_default()
}

fn chips(texts: impl IntoIterator<Item = String>) -> Vec<AnyView> {
    let chip = |text| view! { <span class="badge">{text}</span> }.into_any();
    texts.into_iter().map(chip).collect()
}

/// The time of the last use, and the gate of the last request.
fn last_used(key: &ApiKey) -> AnyView {
    let gate = key.requests.as_ref().and_then(|requests| requests.last_gate.clone());
    let gate = gate.and_then(|gate| gate.address).map(|address| {
        let title = format!("The last request came to the gate {address}");
        let (_, place) = address.split_once("://").unwrap_or(("", &address));
        view! { <div class="muted one-line" title=title>"at "{place.to_owned()}</div> }
    });
    view! { <div>{time_or_never(key.last_used_at)}{gate}</div> }.into_any()
}

/// The requests of the last hour, with a sparkline of 24 hours.
fn requests(key: &ApiKey) -> AnyView {
    let Some(requests) = &key.requests else { return ().into_any() };
    let most = requests.hours.iter().copied().max().unwrap_or(0);
    let line = (most > 0).then(|| {
        view! {
            <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true">
                <path class="checks" d=spark(&requests.hours, most) />
            </svg>
        }
    });
    view! { <div class="spark" title=summary(requests)><span>{grouped(requests.last_hour)}</span>{line}</div> }
        .into_any()
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
        let work = api.rotate_key(&tenant.now(), &id, overlap_s);
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
    let consequence = format!(
        "Services that use {name} get 401 from all gates within a second. This cannot be undone."
    );
    let (revoked, text) = (id.clone(), format!("{name} revoked"));
    let done = move |()| {
        toasts.show(text.clone());
        session.remove_secret(&revoked);
        changed.run(None);
    };
    let call = move |()| api.revoke_key(&tenant.now(), &id);
    view! {
        <ConfirmedCall text="Revoke" name title="Revoke this key?" consequence confirm="Revoke key" call done />
    }
}
