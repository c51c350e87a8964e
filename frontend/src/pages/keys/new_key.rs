//! A new key: name and scopes, then the secret, once.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::api_keys::{CreateKey, IssuedKey, KeyScope};

use super::scope_word;
use crate::api::{Api, Problem};
use crate::components::copy::CodeBlock;
use crate::components::feedback::ActProblem;
use crate::components::field::{Bind, TextField, Tick};
use crate::pages::shell::TenantId;
use crate::session::{KnownSecret, Session};

/// The form, or the key just made until it is stored.
#[component]
pub(super) fn NewKey(on_created: Callback<()>) -> impl IntoView {
    let issued = RwSignal::new(None::<IssuedKey>);
    move || match issued.get() {
        Some(key) => {
            view! { <Secret key_made=key stored=Callback::new(move |()| issued.set(None)) /> }
                .into_any()
        }
        None => view! { <Form issued on_created /> }.into_any(),
    }
}

#[component]
fn Form(issued: RwSignal<Option<IssuedKey>>, on_created: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let name = RwSignal::new(String::new());
    let scopes = RwSignal::new(vec![KeyScope::Check]);
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let create = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        busy.set(true);
        problem.set(None);
        let body = CreateKey {
            name: name.get_untracked().trim().to_owned(),
            scopes: scopes.get_untracked(),
            expires_at: None,
        };
        spawn_local(async move {
            let tenant_id = tenant.now();
            let answer = api.create_key(&tenant_id, &body).await;
            busy.try_set(false);
            match answer {
                Ok(key) => {
                    if key.scopes.contains(&KeyScope::Check) {
                        session.remember(KnownSecret {
                            tenant_id,
                            key_id: key.id.clone(),
                            secret: key.secret.clone(),
                        });
                    }
                    on_created.run(());
                    issued.try_set(Some(key));
                }
                Err(refused) => drop(problem.try_set(Some(refused))),
            }
        });
    };
    let incomplete = move || name.with(|name| name.trim().is_empty()) || scopes.with(Vec::is_empty);
    let ticks = [KeyScope::Check, KeyScope::Read, KeyScope::Write, KeyScope::Admin].map(|scope| {
        let value = Bind {
            value: Signal::derive(move || scopes.with(|scopes| scopes.contains(&scope))),
            set: Callback::new(move |on| scopes.update(|scopes| set_scope(scopes, scope, on))),
        };
        view! { <Tick label=scope_label(scope) value /> }
    });
    view! {
        <form class="panel" on:submit=create>
            <h2>"New key"</h2>
            <TextField label="Name" value=name hint="What to recognise it by, such as checkout" />
            <fieldset class="ticks"><legend>"May"</legend>{ticks}</fieldset>
            <ActProblem problem />
            <button type="submit" class="button primary" disabled=move || busy.get() || incomplete()>"Create key"</button>
        </form>
    }
}

#[component]
fn Secret(key_made: IssuedKey, stored: Callback<()>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    view! {
        <div class="panel" role="group" aria-label="New key">
            <h2>"Key "{key_made.name}</h2>
            <p>"Store it now: it is shown this one time."</p>
            <CodeBlock code=key_made.secret label="Copy the key" />
            <div class="actions">
                <button type="button" class="button primary" on:click=move |_| stored.run(())>"I stored it"</button>
                <a class="button" href=move || tenant.page("test")>"Try it with a real check"</a>
            </div>
        </div>
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
