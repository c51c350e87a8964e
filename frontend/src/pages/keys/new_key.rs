//! Creating a key: name, scopes, namespaces and expiry.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::api_keys::{CreateKey, IssuedKey, KEY_NAMESPACES_MAX, KeyScope};

use super::scope::scope_name;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::field::{Binding, Checkbox, Choice, TextField};
use crate::components::input::Input;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::expiry::Expiry;
use crate::pages::shell::TenantId;

/// The form; `changed` receives the key with its secret.
#[component]
pub(super) fn NewKey(changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::with_fields(&["name", "namespaces", "expires_at"]);
    let name = Input::new(action, "name", "", names::title);
    let scopes = RwSignal::new(vec![KeyScope::Check]);
    let namespaces = Input::new(action, "namespaces", "", all_are_namespaces);
    let restrictable = Memo::new(move |_| scopes.with(|scopes| can_be_restricted(scopes)));
    let only =
        move || restrictable.get().then(|| namespaces.value.with(|text| listed(text))).flatten();
    let (expiry, day) = (RwSignal::new(Expiry::Never), RwSignal::new(String::new()));
    let expires_at = move || {
        let day_end_ms = day.with(|day| browser::day_end_ms(day));
        expiry.get().at(browser::now_ms(), day_end_ms)
    };
    let create = Callback::new(move |()| {
        let Ok(expires_at) = untrack(expires_at) else { return };
        let body = CreateKey {
            name: name.text(),
            scopes: scopes.get_untracked(),
            namespaces: untrack(only),
            expires_at,
        };
        let work = api.create_key(&tenant.now(), &body);
        action.run(work, move |key| changed.run(Some(key)));
    });
    let day_refused = action.server_problem("expires_at");
    let day_problem = Signal::derive(move || {
        let wrong = day.with(|day| !day.is_empty()).then(|| expires_at().err()).flatten();
        wrong.map(str::to_owned).or_else(|| day_refused.get())
    });
    let incomplete = Signal::derive(move || {
        name.is_invalid()
            || scopes.with(Vec::is_empty)
            || restrictable.get() && namespaces.is_invalid()
            || expires_at().is_err()
    });
    let ticks = SCOPES.map(|scope| {
        let value = Binding {
            value: Signal::derive(move || scopes.with(|scopes| scopes.contains(&scope))),
            set: Callback::new(move |on| {
                scopes.update(|scopes| set_scope(scopes, scope, on));
            }),
        };
        view! { <Checkbox label=scope_label(scope) value /> }
    });
    view! {
        <SubmitForm action submit="Create key" on_submit=create incomplete>
            <TextField label="Name" value=name.value problem=name.problem hint="For example checkout" />
            <fieldset class="checkboxes"><legend>"Scopes"</legend>{ticks}</fieldset>
            <Show when=move || restrictable.get()>
                <TextField
                    label="Only in these namespaces"
                    value=namespaces.value
                    problem=namespaces.problem
                    hint="Separated by commas, at most 20. Leave this empty to permit all namespaces."
                />
            </Show>
            <Choice label="Expires" value=expiry.into() options=Expiry::choices() />
            <Show when=move || expiry.get() == Expiry::On>
                <TextField label="Expires on" kind="date" value=day problem=day_problem hint=browser::day_end_hint() />
            </Show>
        </SubmitForm>
    }
}

/// The scopes in the order of the form.
const SCOPES: [KeyScope; 7] = [
    KeyScope::Check,
    KeyScope::Exhaust,
    KeyScope::View,
    KeyScope::Read,
    KeyScope::Audit,
    KeyScope::Write,
    KeyScope::Admin,
];

/// Whether the scopes are of namespaces. What the others permit concerns the whole tenant, or the gates.
fn can_be_restricted(scopes: &[KeyScope]) -> bool {
    let of_namespaces = |scope: &KeyScope| matches!(scope, KeyScope::Read | KeyScope::Write);
    !scopes.is_empty() && scopes.iter().all(of_namespaces)
}

/// The namespaces of a text with commas, if there are any.
fn listed(text: &str) -> Option<Vec<String>> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}

fn all_are_namespaces(text: &str) -> Result<(), String> {
    let names = listed(text).unwrap_or_default();
    if names.len() > KEY_NAMESPACES_MAX {
        return Err(format!("must be at most {KEY_NAMESPACES_MAX} namespaces"));
    }
    let wrong =
        |name: &String| names::namespace(name).map_err(|reason| format!("`{name}` {reason}"));
    names.iter().try_for_each(wrong)
}

fn set_scope(scopes: &mut Vec<KeyScope>, scope: KeyScope, on: bool) {
    scopes.retain(|chosen| *chosen != scope);
    if on {
        scopes.push(scope);
        scopes.sort_unstable();
    }
}

fn scope_label(scope: KeyScope) -> String {
    let what = match scope {
        KeyScope::Check => "call the gates",
        KeyScope::Exhaust => "let limits count as exhausted for a time (POST /exhaust)",
        KeyScope::View => "make tokens with which customers read their own usage",
        KeyScope::Read => "read rules, overrides and statistics",
        KeyScope::Audit => "read the audit log",
        KeyScope::Write => "change rules and overrides, test requests, reset counters",
        KeyScope::Admin => "manage keys and members",
    };
    format!("{}: {what}", scope_name(scope))
}
