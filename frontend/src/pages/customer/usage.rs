//! The checks of the customer in this month: by day as a chart, and by rule as a table.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::customers::{CustomerRuleCounts, CustomerUsage};

use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::data_table::{Column, DataTable, TableOptions, own_view};
use crate::components::feedback::{Empty, SubmitProblem, Warning};
use crate::components::submit::SubmitAction;
use crate::components::time_series::TimeSeries;
use crate::model::customer::{by_rule, usage_chart};
use crate::model::number::signed;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Usage(
    usage: Signal<CustomerUsage>,
    /// The first and the last day.
    days: StoredValue<[String; 2]>,
    customer: StoredValue<String>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let data = Signal::derive(move || {
        let chart = |usage: &CustomerUsage| {
            days.with_value(|days| usage_chart(usage, days, browser::now_ms(), browser::zone_ms))
        };
        usage.with(chart)
    });
    let rules = Memo::new(move |_| usage.with(by_rule));
    let incomplete = Memo::new(move |_| usage.with(|usage| !usage.complete));
    let action = SubmitAction::new();
    let export = Callback::new(move |()| {
        let [first, last] = days.get_value();
        let name = format!("usage-{first}-{last}.csv");
        let call = api.customer_usage_csv(&tenant.now(), &customer.get_value(), [&first, &last]);
        action.run(call, move |text| browser::save_file(&name, "text/csv", &text));
    });
    view! {
        <section class="stack" aria-labelledby="usage-heading">
            <div class="page-head">
                <h2 id="usage-heading">"This month"</h2>
                <button type="button" class="button small" title="A line for each day and rule" disabled=action.busy on:click=move |_| export.run(())>"Export CSV"</button>
            </div>
            <SubmitProblem problem=action.problem />
            <Show when=move || incomplete.get()>
                <Warning><p>"On some days there were more customers than are counted one by one. The counts of this one can lack a part."</p></Warning>
            </Show>
            <TimeSeries label="Checks" data />
            <p class="note">"Days are those of UTC."</p>
            <DataTable
                label="Usage by rule"
                nouns=("rule", "rules")
                rows=rules
                columns=columns()
                id=|rule: &CustomerRuleCounts| rule.rule_id.clone()
                view=own_view()
                options=TableOptions { export: Some(export), ..TableOptions::default() }
                empty=|| view! {
                    <Empty title="No checks this month"><p>"Its checks are counted here by rule."</p></Empty>
                }
            />
        </section>
    }
}

fn columns() -> Vec<Column<CustomerRuleCounts>> {
    let name = |rule: &CustomerRuleCounts| match (&rule.namespace, &rule.rule) {
        (Some(namespace), Some(rule)) => format!("{namespace} / {rule}"),
        _ => "Deleted rule".to_owned(),
    };
    vec![
        Column::text("rule", "Rule", name)
            .cell(move |rule| {
                let text = name(rule);
                if rule.rule.is_none() {
                    return text.into_any();
                }
                let (tenant, page) =
                    (expect_context::<TenantId>(), format!("rules/{}", rule.rule_id));
                view! { <A href=move || tenant.page(&page)>{text}</A> }.into_any()
            })
            .class("name"),
        Column::number("allowed", "Allowed", |rule: &CustomerRuleCounts| rule.counts.allowed),
        Column::number("denied", "Denied", |rule: &CustomerRuleCounts| rule.counts.denied),
        Column::new("units", "Units", |rule: &CustomerRuleCounts| rule.counts.units.to_string())
            .by_number(|rule| rule.counts.units)
            .cell(|rule| signed(rule.counts.units).into_any())
            .class("number"),
    ]
}
