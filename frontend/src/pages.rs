//! The pages: each fetches what it shows, and acts.

mod accept;
mod audit;
mod home;
mod keys;
mod live;
mod members;
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
mod start;
mod tenants;
mod tester;
mod what_if;

use leptos::prelude::*;

use crate::components::feedback::Empty;
use crate::components::page::PageHead;
pub use accept::Accept;
pub use audit::Audit;
pub use home::Home;
pub use keys::Keys;
pub use live::Live;
pub use members::Members;
pub use overrides::Overrides;
pub use overview::Overview;
pub use replicas::Replicas;
pub use rule::RulePage;
pub use rule_editor::{NewRule, RuleEditor};
pub use rules::Rules;
pub use settings::Settings;
pub use shell::Shell;
pub use sign_in::SignIn;
pub use sign_up::SignUp;
pub use start::Start;
pub use tenants::Tenants;
pub use tester::Tester;
pub use what_if::WhatIf;

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
