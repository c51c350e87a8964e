//! The rules of a tenant.

mod bulk;
mod bulk_mode;
mod columns;
mod duplicate;
mod filter;
mod list;
mod state;

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::require_role::RoleLink;
use crate::pages::shell::TenantId;
pub use bulk_mode::ModeDialog;
pub use columns::ModeSwitch;
use list::List;
pub use list::last_hour;
pub use state::RuleState;

#[component]
pub fn Rules() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = fetch_data(move || api.some_rules(&tenant.get()));
    let new = Signal::derive(move || tenant.page("rules/new"));
    view! {
        <PageHeader title="Rules" lead="Who can do what, and how often">
            <RoleLink role=Role::Editor href=new text="New rule" primary=true />
        </PageHeader>
        {show_table(rules, page)}
    }
}

fn page(first: Page<RuleAnswer>) -> AnyView {
    if !first.data.is_empty() {
        return view! { <List first /> }.into_any();
    }
    let tenant = expect_context::<TenantId>();
    let new = Signal::derive(move || tenant.page("rules/new"));
    let start = Signal::derive(move || tenant.page("start"));
    view! {
        <Empty title="No rules yet, so every check is allowed">
            <p>"A rule defines which requests are counted, by which attributes, and how many are allowed. "<GuideLink page="rules" text="About rules" /></p>
            <div class="actions">
                <RoleLink role=Role::Admin href=start text="Start from a template" primary=true />
                <RoleLink role=Role::Editor href=new text="Create your first rule" />
            </div>
        </Empty>
    }
    .into_any()
}
