//! Exporting all overrides as CSV.

use leptos::prelude::*;

use crate::api::Api;
use crate::browser;
use crate::components::feedback::SubmitProblem;
use crate::components::rule_picker::Rules;
use crate::components::submit::SubmitAction;
use crate::model::override_table;
use crate::pages::rule_options::load_missing_rules;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Export(rules: Rules) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let export = move |_| {
        let preferred = async move {
            let overrides = api.all_overrides(&tenant.now()).await?;
            load_missing_rules(
                api,
                &tenant.now(),
                rules,
                overrides.iter().map(|entry| &entry.body.rule_id),
            )
            .await?;
            Ok(overrides)
        };
        action.run(preferred, move |overrides| {
            let text = override_table::write(&overrides, &rules.known());
            browser::save_file("overrides.csv", "text/csv", &text);
        });
    };
    view! {
        <button type="button" class="button" disabled=action.busy on:click=export>
            {move || if action.busy.get() { "Exporting…" } else { "Export CSV" }}
        </button>
        <SubmitProblem problem=action.problem />
    }
}
