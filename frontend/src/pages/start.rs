//! Get started: a rule from a template, a key, code to paste, and the first decision as it is made.

mod pick;
mod snippets;
mod watch;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::check::CheckBody;
use weir_wire::rules::RuleAnswer;

use crate::components::copy::CodeBlock;
use crate::components::page::PageHead;
use crate::model::words;
use crate::pages::shell::TenantId;
use pick::Pick;
use snippets::Snippets;
use watch::Watch;

/// The page.
#[component]
pub fn Start() -> impl IntoView {
    let begun = RwSignal::new(None::<Begun>);
    view! {
        <PageHead title="Get started" lead="A rule, a key, and your first decision: about five minutes." />
        {move || match begun.get() {
            None => view! { <Pick begun /> }.into_any(),
            Some(it) => view! { <Steps it begun /> }.into_any(),
        }}
    }
}

/// What was made from the template.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    rule: RuleAnswer,
    secret: String,
    /// Whether the key was made just now, and so has to be stored.
    new_key: bool,
    check: CheckBody,
}

#[component]
fn Steps(it: Begun, begun: RwSignal<Option<Begun>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let Begun { rule, secret, new_key, check } = it;
    let address = format!("rules/{}", rule.id);
    let name = rule.rule.name.clone();
    view! {
        <section class="panel" aria-label="Your rule">
            <h2>"1. Your rule "<A href=move || tenant.page(&address)>{name}</A></h2>
            <p class="sentence">{words::sentence(&rule.rule)}</p>
            <p class="note">"It is in force on all gates, in the namespace "<code>{rule.rule.namespace.clone()}</code>". You can change every part of it later."</p>
        </section>
        <Key secret=secret.clone() new_key />
        <Snippets secret check=check.clone() />
        <Watch rule_id=rule.id check />
        <div class="actions">
            <button type="button" class="button" on:click=move |_| begun.set(None)>"Another template"</button>
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
            return view! { <p>"Stored. The code below still has it, until you leave this page."</p> }
                .into_any();
        }
        view! {
            <p>"Your programs show it to the gates. Store it now: it is shown this one time."</p>
            <CodeBlock code=secret.clone() label="Copy the key" />
            <button type="button" class="button" on:click=move |_| stored.set(true)>"I stored it"</button>
        }
        .into_any()
    };
    view! {
        <section class="panel" aria-label="Your key">
            <h2>"2. Your key"</h2>
            {shown}
        </section>
    }
}
