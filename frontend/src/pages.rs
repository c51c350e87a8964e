//! The pages: each fetches the data it shows.

mod accept;
mod alerts;
mod audit;
mod confirm;
mod deferred;
mod forgot;
mod gates;
mod home;
mod keys;
mod lazy;
mod live;
mod members;
mod namespace_filter;
mod operator;
mod overrides;
mod overview;
mod proxies;
mod published;
mod reset;
mod rollout;
mod rule;
mod rule_editor;
mod rule_options;
mod rules;
mod settings;
mod shell;
mod sign_in;
mod sign_up;
mod start;
mod subject_actions;
mod subjects;
mod tenants;
mod tester;
mod traffic;
mod what_if;

use leptos::prelude::*;

use crate::components::feedback::Empty;
use crate::components::page::PageHeader;
pub use accept::Accept;
pub use home::Home;
pub use lazy::{
    Alerts, Audit, Confirm, DeferredJobs, Forgot, Gates, Keys, Live, Members, NewRule, Operator,
    Overrides, Overview, Proxies, Reset, RuleEditor, RulePage, Rules, Settings, Subjects, Tester,
    WhatIf,
};
pub use published::UndoneChanges;
pub use shell::Shell;
pub use sign_in::SignIn;
pub use sign_up::SignUp;
pub use start::Start;
pub use tenants::Tenants;

#[component]
pub fn NotFound() -> impl IntoView {
    view! { <main class="narrow"><NotFoundInside /></main> }
}

/// The same inside the frame of a tenant.
#[component]
pub fn NotFoundInside() -> impl IntoView {
    view! {
        <PageHeader title="Page not found" />
        <Empty title="There is no page at this address.">
            <p><a href="/">"Back to the dashboard"</a></p>
        </Empty>
    }
}
