//! A new key: name, scopes, and when it stops working.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::api_keys::{CreateKey, IssuedKey, KeyScope};

use super::scope_word;
use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::field::{Bind, Choice, TextField, Tick};
use crate::model::expiry::Expiry;
use crate::pages::shell::TenantId;

/// The form; `changed` gets the key with its secret.
#[component]
pub(super) fn NewKey(changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::with_fields(&["name", "expires_at"]);
    let name = RwSignal::new(String::new());
    let scopes = RwSignal::new(vec![KeyScope::Check]);
    let (expiry, day) = (RwSignal::new(Expiry::Never), RwSignal::new(String::new()));
    let expires_at = move || {
        let day_end_ms = day.with(|day| browser::day_end_ms(day));
        expiry.get().at(browser::now_ms(), day_end_ms)
    };
    let create = Callback::new(move |()| {
        let Ok(expires_at) = untrack(expires_at) else { return };
        let body = CreateKey {
            name: name.get_untracked().trim().to_owned(),
            scopes: scopes.get_untracked(),
            expires_at,
        };
        let work = async move { api.create_key(&tenant.now(), &body).await };
        act.run(work, move |key| changed.run(Some(key)));
    });
    let name_problem = act.checked("name", name, names::title);
    let day_refused = act.refused("expires_at");
    let day_problem = Signal::derive(move || {
        let wrong = day.with(|day| !day.is_empty()).then(|| expires_at().err()).flatten();
        wrong.map(str::to_owned).or_else(|| day_refused.get())
    });
    let incomplete = Signal::derive(move || {
        name.with(|name| names::title(name.trim()).is_err())
            || scopes.with(Vec::is_empty)
            || expires_at().is_err()
    });
    let ticks = [KeyScope::Check, KeyScope::Read, KeyScope::Write, KeyScope::Admin].map(|scope| {
        let value = Bind {
            value: Signal::derive(move || scopes.with(|scopes| scopes.contains(&scope))),
            set: Callback::new(move |on| scopes.update(|scopes| set_scope(scopes, scope, on))),
        };
        view! { <Tick label=scope_label(scope) value /> }
    });
    view! {
        <ActForm act submit="Create key" on_submit=create incomplete>
            <h2>"New key"</h2>
            <TextField label="Name" value=name problem=name_problem hint="What to recognise it by, such as checkout" />
            <fieldset class="ticks"><legend>"May"</legend>{ticks}</fieldset>
            <Choice label="Expires" value=expiry.into() options=Expiry::choices() />
            <Show when=move || expiry.get() == Expiry::On>
                <TextField label="Last day" kind="date" value=day problem=day_problem hint="In your time zone" />
            </Show>
        </ActForm>
    }
}

fn set_scope(scopes: &mut Vec<KeyScope>, scope: KeyScope, on: bool) {
    scopes.retain(|it| *it != scope);
    if on {
        scopes.push(scope);
        scopes.sort_unstable();
    }
}

fn scope_label(scope: KeyScope) -> String {
    let what = match scope {
        KeyScope::Check => "ask gates whether a request may pass",
        KeyScope::Read => "read rules, overrides and statistics",
        KeyScope::Write => "change rules and overrides, test and reset",
        KeyScope::Admin => "manage keys and members",
    };
    format!("{}: {what}", scope_word(scope))
}
