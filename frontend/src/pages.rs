//! The pages: each fetches what it shows, and acts.

mod accept;
mod alerts;
mod audit;
mod confirm;
mod home;
mod keys;
mod later;
mod live;
mod members;
mod operator;
mod overrides;
mod overview;
mod replicas;
mod rule;
mod rule_editor;
mod rules;
mod settings;
mod shell;
mod sign_in;
mod sign_up;
mod some_rules;
mod start;
mod tenants;
mod tester;
mod what_if;

use leptos::prelude::*;

use crate::components::feedback::Empty;
use crate::components::page::PageHead;
pub use accept::Accept;
pub use confirm::Confirm;
pub use home::Home;
pub use later::{
    Alerts, Audit, Keys, Live, Members, NewRule, Operator, Overrides, Overview, Replicas,
    RuleEditor, RulePage, Settings, Tester, WhatIf,
};
pub use rules::Rules;
pub use shell::Shell;
pub use sign_in::SignIn;
pub use sign_up::SignUp;
pub use start::Start;
pub use tenants::Tenants;

/// No page has this address.
#[component]
pub fn NotFound() -> impl IntoView {
    view! {
        <main class="narrow">
            <PageHead title="Not found" />
            <Empty title="No page has this address.">
                <p><a href="/">"Go to the start"</a></p>
            </Empty>
        </main>
    }
}
