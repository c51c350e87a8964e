//! The rule as it is written: a picture of what it does, its limits, and its JSON.

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::words::Action;

use crate::components::copy::CodeBlock;
use crate::components::picture::{RulePicture, SimulatedRule};
use crate::model::labels;
use crate::model::rule_form::RuleForm;

#[component]
pub(super) fn Definition(rule: RuleAnswer) -> impl IntoView {
    let body = rule.rule;
    let drawn = RuleForm::of(&body).for_picture().map(SimulatedRule);
    let picture = (body.action == Action::Limit)
        .then(|| view! { <RulePicture rule=Signal::stored(drawn) /> });
    let limits: Vec<_> = body
        .limits
        .iter()
        .map(|limit| view! { <li>{labels::capital(&labels::limit(limit))}</li> })
        .collect();
    let limits = (!limits.is_empty())
        .then(|| view! { <h2>"Limits"</h2><ul class="plain-list">{limits}</ul> });
    let variants: Vec<_> = body.variants.iter().map(|variant| {
        let limits = variant.limits.iter().map(labels::limit);
        let limits = limits.collect::<Vec<_>>().join(", ");
        view! { <li>{format!("Variant {}, {} % of subjects: {limits}", variant.name, variant.percent)}</li> }
    }).collect();
    let variants = (!variants.is_empty())
        .then(|| view! { <h2>"Variants"</h2><ul class="plain-list">{variants}</ul> });
    let json = serde_json::to_string_pretty(&body).unwrap_or_default();
    view! {
        <div class="stack">
            {limits}
            {variants}
            {picture}
            <h2>"As JSON"</h2>
            <CodeBlock code=json label="Copy JSON" />
        </div>
    }
}
