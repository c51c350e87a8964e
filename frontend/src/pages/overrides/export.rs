//! All overrides as a CSV file.

use leptos::prelude::*;

use crate::api::Api;
use crate::browser;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::components::rule_picker::Rules;
use crate::model::override_table;
use crate::pages::shell::TenantId;
use crate::pages::some_rules::meet;

/// The button.
#[component]
pub(super) fn Export(rules: Rules) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let export = move |_| {
        let asked = async move {
            let overrides = api.all_overrides(&tenant.now()).await?;
            meet(api, &tenant.now(), rules, overrides.iter().map(|it| &it.body.rule_id)).await?;
            Ok(overrides)
        };
        act.run(asked, move |overrides| {
            let text = override_table::write(&overrides, &rules.known());
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
