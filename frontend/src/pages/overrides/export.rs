//! All overrides as a CSV file.

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;

use crate::api::Api;
use crate::browser;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::model::override_table;
use crate::pages::shell::TenantId;

/// The button.
#[component]
pub(super) fn Export(rules: StoredValue<Vec<RuleAnswer>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let export = move |_| {
        act.run(async move { api.all_overrides(&tenant.now()).await }, move |overrides| {
            let text = rules.with_value(|rules| override_table::write(&overrides, rules));
            browser::save_file("overrides.csv", "text/csv", &text);
        });
    };
    view! {
        <button type="button" class="button" disabled=act.busy on:click=export>
            {move || if act.busy.get() { "Exporting…" } else { "Export CSV" }}
        </button>
        <ActProblem problem=act.problem />
    }
}
