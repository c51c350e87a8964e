//! The limits of a rule, each with the parameters of its algorithm.

mod duration_field;

use leptos::prelude::*;
use weir_domain::limit::LIMITS_PER_RULE_MAX;
use weir_wire::limits::AlgorithmName;
use weir_wire::words::Period;

use super::editor::Editor;
use crate::components::field::{Binding, Checkbox, Choice, TextField};
use crate::components::guide_link::GuideLink;
use crate::model::labels;
use crate::model::rule_form::{LimitRow, RuleForm};
use duration_field::DurationField;
pub(super) use duration_field::NumberAndUnit;

#[component]
pub fn Limits(editor: Editor) -> impl IntoView {
    let rows = Memo::new(move |_| {
        editor.form.with(|form| form.limits.iter().map(|limit| limit.row).collect::<Vec<_>>())
    });
    let full = move || rows.with(Vec::len) >= LIMITS_PER_RULE_MAX;
    let whole = editor.problem(|_| "limits".to_owned());
    view! {
        <fieldset>
            <legend>"Limits"</legend>
            <p class="note">"A request must fit every limit. A denied request consumes nothing. "<GuideLink page="algorithms" text="Choosing an algorithm" /></p>
            <For each=move || rows.get() key=|row| *row let:row>
                <LimitFields editor row />
            </For>
            <button type="button" class="button" disabled=full on:click=move |_| editor.form.update(RuleForm::add_limit)>
                {move || if full() { "A rule can have up to 8 limits" } else { "Add limit" }}
            </button>
            <p class="field-problem">{whole}</p>
        </fieldset>
    }
}

#[component]
fn LimitFields(editor: Editor, row: u32) -> impl IntoView {
    let chosen = move |form: &RuleForm| {
        let limit = form.limits.iter().find(|limit| limit.row == row);
        limit.map_or(AlgorithmName::FixedWindow, |limit| limit.algorithm)
    };
    let algorithm = editor.bind(
        move |_| format!("algorithm of {row}"),
        chosen,
        move |form, algorithm| {
            if let Some(limit) = form.limits.iter_mut().find(|limit| limit.row == row) {
                limit.algorithm = algorithm;
            }
        },
    );
    let names = AlgorithmName::ALL
        .iter()
        .map(|name| (*name, labels::algorithm(*name).to_owned()))
        .collect();
    let only = move || editor.form.with(|form| form.limits.len() == 1);
    let remove = move |_| editor.form.update(|form| form.limits.retain(|limit| limit.row != row));
    view! {
        <div class="limit" role="group" aria-label="Limit">
            <div class="row">
                <Choice label="Algorithm" value=algorithm options=names />
                <button
                    type="button"
                    class="button plain-button"
                    disabled=only
                    title=move || only().then_some("The rule needs at least one limit")
                    on:click=remove
                    aria-label="Remove limit"
                >
                    "Remove"
                </button>
            </div>
            <p class="note">{move || labels::algorithm_hint(algorithm.value.get())}</p>
            <div class="row">{move || parameters(editor, row, algorithm.value.get())}</div>
        </div>
    }
}

/// The fields of one algorithm.
fn parameters(editor: Editor, row: u32, algorithm: AlgorithmName) -> AnyView {
    let units = move |label: &'static str| {
        let value = text(editor, row, units_name, |limit| &mut limit.units);
        view! { <TextField short=true label value problem=editor.limit_problem(row, units_name) /> }
    };
    let rate = move |label: &'static str| {
        let value = text(editor, row, rate_name, |limit| &mut limit.rate);
        view! { <TextField short=true label value problem=editor.limit_problem(row, rate_name) /> }
    };
    let window = move |label: &'static str| view! { <DurationField editor row label name=window_name of=|limit| &mut limit.window /> };
    let every = move || view! { <DurationField editor row label="per" name=every_name of=|limit| &mut limit.every /> };
    match algorithm {
        AlgorithmName::FixedWindow => view! { {units("Limit")}{window("per")} }.into_any(),
        AlgorithmName::SlidingWindowCounter => view! { {units("Limit")}{window("per")} }.into_any(),
        AlgorithmName::SlidingWindowLog => {
            let denied = editor.limit(
                row,
                |_| "count_denied",
                |limit| limit.count_denied,
                |limit, value| limit.count_denied = value,
            );
            view! {
                {units("Limit")}{window("per")}
                <Checkbox label="Count denied requests too: repeated attempts extend the block" value=denied />
            }
            .into_any()
        }
        AlgorithmName::TokenBucket => {
            view! { {units("Capacity")}{rate("Refill")}{every()} }.into_any()
        }
        AlgorithmName::LeakyBucket => {
            view! { {units("Capacity")}{rate("Drain")}{every()} }.into_any()
        }
        AlgorithmName::Spacing => window("Minimum interval").into_any(),
        AlgorithmName::Quota => view! { {units("Limit")}<QuotaFields editor row /> }.into_any(),
    }
}

#[component]
fn QuotaFields(editor: Editor, row: u32) -> impl IntoView {
    let period = editor.bind(
        move |_| format!("period of {row}"),
        move |form| {
            form.limits
                .iter()
                .find(|limit| limit.row == row)
                .map_or(Period::Month, |limit| limit.period)
        },
        move |form, period| {
            if let Some(limit) = form.limits.iter_mut().find(|limit| limit.row == row) {
                limit.period = period;
            }
        },
    );
    let periods = Period::ALL.iter().map(|period| (*period, period.as_str().to_owned())).collect();
    let zone = text(editor, row, |_| "time_zone", |limit| &mut limit.time_zone);
    let day = text(editor, row, |_| "anchor_day", |limit| &mut limit.anchor_day);
    view! {
        <Choice label="per calendar" value=period options=periods short=true />
        <TextField label="Time zone" value=zone problem=editor.limit_problem(row, |_| "time_zone") hint="For example UTC or Europe/Berlin" />
        <TextField short=true label="Starts on day" value=day problem=editor.limit_problem(row, |_| "anchor_day") hint="1 means Monday, the 1st, or 1 January" />
    }
}

/// Binds a text field of a limit.
fn text(
    editor: Editor,
    row: u32,
    name: fn(&LimitRow) -> &'static str,
    of: fn(&mut LimitRow) -> &mut String,
) -> Binding<String> {
    let value = move |limit: &LimitRow| std::mem::take(of(&mut limit.clone()));
    editor.limit(row, name, value, move |limit, value| *of(limit) = value)
}

fn units_name(limit: &LimitRow) -> &'static str {
    match limit.algorithm {
        AlgorithmName::TokenBucket | AlgorithmName::LeakyBucket => "capacity",
        _ => "limit",
    }
}

fn rate_name(limit: &LimitRow) -> &'static str {
    if limit.algorithm == AlgorithmName::TokenBucket { "refill_tokens" } else { "drain_units" }
}

fn window_name(limit: &LimitRow) -> &'static str {
    if limit.algorithm == AlgorithmName::Spacing { "interval_ms" } else { "window_ms" }
}

fn every_name(limit: &LimitRow) -> &'static str {
    if limit.algorithm == AlgorithmName::TokenBucket {
        "refill_interval_ms"
    } else {
        "drain_interval_ms"
    }
}
