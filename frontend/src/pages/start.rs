//! Get started: a rule from a template, a key, code to paste, and the first decision in real time.

mod pick;
mod snippets;
mod state;
mod try_it;
mod watch;

use leptos::prelude::*;
use leptos_router::components::A;

use crate::api::GateResponse;
use crate::components::copy::CodeBlock;
use crate::components::page::PageHeader;
use crate::model::labels;
use crate::pages::rollout::rollout_text;
use crate::pages::shell::TenantId;
use pick::Pick;
use snippets::Snippets;
use state::Started;
use try_it::TryIt;
use watch::Watch;

#[component]
pub fn Start() -> impl IntoView {
    let started_state = RwSignal::new(None::<Started>);
    view! {
        <PageHeader title="Get started" lead="Protect your first endpoint: create a rule, and see it deny a request." />
        {move || match started_state.get() {
            None => view! { <Pick started_state /> }.into_any(),
            Some(started) => view! { <Steps started started_state /> }.into_any(),
        }}
    }
}

#[component]
fn Steps(started: Started, started_state: RwSignal<Option<Started>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let attempt = started.clone();
    let Started { rule, secret, new_key, check, .. } = started;
    let address = format!("rules/{}", rule.id);
    let name = rule.rule.name.clone();
    let live = rollout_text(rule.rulebook_version);
    let responses = RwSignal::new(Vec::<GateResponse>::new());
    view! {
        <section class="panel" aria-label="Your rule">
            <h2>"1. Your rule "<A href=move || tenant.page(&address)>{name}</A></h2>
            <p class="sentence">{labels::sentence(&rule.rule)}</p>
            <p class="note"><span role="status">"In namespace "<code>{rule.rule.namespace.clone()}</code>", "{live}</span>". You can edit it at any time."</p>
        </section>
        <TryIt started=attempt started_state responses />
        <Key secret=secret.clone() new_key />
        <Snippets secret check=check.clone() />
        <Watch rule_id=rule.id check responses />
        <div class="actions">
            <button type="button" class="button" on:click=move |_| started_state.set(None)>"Another template"</button>
            <A href=move || tenant.page("rules") attr:class="button">"All rules"</A>
        </div>
    }
}

/// The secret until it is stored.
#[component]
fn Key(secret: String, new_key: bool) -> impl IntoView {
    let stored = RwSignal::new(!new_key);
    let shown = move || {
        if stored.get() {
            return view! { <p>"Saved. The code below contains the key until you leave this page."</p> }
                .into_any();
        }
        view! {
            <p>"Your services send this key with every check. Copy it now: it is shown only once."</p>
            <CodeBlock code=secret.clone() label="Copy key" />
            <button type="button" class="button" on:click=move |_| stored.set(true)>"I have saved it"</button>
        }
        .into_any()
    };
    view! {
        <section class="panel" aria-label="Your key">
            <h2>"3. Your key"</h2>
            {shown}
        </section>
    }
}
