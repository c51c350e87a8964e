//! How much: the limits of a rule, each with its algorithm's own parameters.

mod span;

use leptos::prelude::*;
use weir_domain::limit::LIMITS_PER_RULE_MAX;
use weir_wire::limits::AlgorithmName;
use weir_wire::words::Period;

use super::Editor;
use crate::components::field::{Bind, Choice, TextField, Tick};
use crate::model::rule_form::{LimitRow, RuleForm};
use crate::model::words;
pub(super) use span::NumberAndUnit;
use span::SpanField;

#[component]
pub fn Limits(editor: Editor) -> impl IntoView {
    let rows = Memo::new(move |_| {
        editor.form.with(|form| form.limits.iter().map(|it| it.row).collect::<Vec<_>>())
    });
    let full = move || rows.with(Vec::len) >= LIMITS_PER_RULE_MAX;
    let whole = editor.problem(|_| "limits".to_owned());
    view! {
        <fieldset>
            <legend>"How much"</legend>
            <p class="note">"A request passes when every limit admits it; a denied one takes nothing."</p>
            <For each=move || rows.get() key=|row| *row let:row>
                <LimitFields editor row />
            </For>
            <button type="button" class="button" disabled=full on:click=move |_| editor.form.update(RuleForm::add_limit)>
                {move || if full() { "A rule has at most 8 limits" } else { "Add a limit" }}
            </button>
            <p class="field-problem">{whole}</p>
        </fieldset>
    }
}

#[component]
fn LimitFields(editor: Editor, row: u32) -> impl IntoView {
    let chosen = move |form: &RuleForm| {
        let limit = form.limits.iter().find(|it| it.row == row);
        limit.map_or(AlgorithmName::FixedWindow, |it| it.algorithm)
    };
    let algorithm = editor.bind(
        move |_| format!("algorithm of {row}"),
        chosen,
        move |form, algorithm| {
            if let Some(limit) = form.limits.iter_mut().find(|it| it.row == row) {
                limit.algorithm = algorithm;
            }
        },
    );
    let names =
        AlgorithmName::ALL.iter().map(|name| (*name, words::algorithm(*name).to_owned())).collect();
    let only = move || editor.form.with(|form| form.limits.len() == 1);
    let remove = move |_| editor.form.update(|form| form.limits.retain(|it| it.row != row));
    view! {
        <div class="limit" role="group" aria-label="Limit">
            <div class="row">
                <Choice label="Algorithm" value=algorithm options=names />
                <button
                    type="button"
                    class="button quiet-button"
                    disabled=only
                    title=move || only().then_some("A rule that limits needs at least one limit")
                    on:click=remove
                    aria-label="Remove the limit"
                >
                    "Remove"
                </button>
            </div>
            <p class="note">{move || words::algorithm_hint(algorithm.value.get())}</p>
            <div class="row">{move || parameters(editor, row, algorithm.value.get())}</div>
        </div>
    }
}

/// The fields of one algorithm.
fn parameters(editor: Editor, row: u32, algorithm: AlgorithmName) -> AnyView {
    let units = move |label: &'static str| {
        let value = text(editor, row, units_name, |it| &mut it.units);
        view! { <TextField short=true label value problem=editor.limit_problem(row, units_name) /> }
    };
    let rate = move |label: &'static str| {
        let value = text(editor, row, rate_name, |it| &mut it.rate);
        view! { <TextField short=true label value problem=editor.limit_problem(row, rate_name) /> }
    };
    let window = move |label: &'static str| view! { <SpanField editor row label name=window_name of=|it| &mut it.window /> };
    let every = move || view! { <SpanField editor row label="per" name=every_name of=|it| &mut it.every /> };
    match algorithm {
        AlgorithmName::FixedWindow => view! { {units("Limit")}{window("in each")} }.into_any(),
        AlgorithmName::SlidingWindowCounter => {
            view! { {units("Limit")}{window("in any")} }.into_any()
        }
        AlgorithmName::SlidingWindowLog => {
            let denied = editor.limit(
                row,
                |_| "count_denied",
                |it| it.count_denied,
                |it, value| it.count_denied = value,
            );
            view! {
                {units("Limit")}{window("in any")}
                <Tick label="Count denied requests too: whoever keeps hammering stays out" value=denied />
            }
            .into_any()
        }
        AlgorithmName::TokenBucket => {
            view! { {units("Capacity")}{rate("Refill")}{every()} }.into_any()
        }
        AlgorithmName::LeakyBucket => {
            view! { {units("Capacity")}{rate("Drain")}{every()} }.into_any()
        }
        AlgorithmName::Spacing => window("At least apart").into_any(),
        AlgorithmName::Quota => view! { {units("Limit")}<QuotaFields editor row /> }.into_any(),
    }
}

#[component]
fn QuotaFields(editor: Editor, row: u32) -> impl IntoView {
    let period = editor.bind(
        move |_| format!("period of {row}"),
        move |form| {
            form.limits.iter().find(|it| it.row == row).map_or(Period::Month, |it| it.period)
        },
        move |form, period| {
            if let Some(limit) = form.limits.iter_mut().find(|it| it.row == row) {
                limit.period = period;
            }
        },
    );
    let periods = Period::ALL.iter().map(|it| (*it, it.as_str().to_owned())).collect();
    let zone = text(editor, row, |_| "time_zone", |it| &mut it.time_zone);
    let day = text(editor, row, |_| "anchor_day", |it| &mut it.anchor_day);
    view! {
        <Choice label="in each calendar" value=period options=periods short=true />
        <TextField label="Time zone" value=zone problem=editor.limit_problem(row, |_| "time_zone") hint="Such as UTC or Europe/Berlin" />
        <TextField short=true label="First day" value=day problem=editor.limit_problem(row, |_| "anchor_day") hint="1 is Monday, the 1st, or 1 January" />
    }
}

/// A text of a limit.
fn text(
    editor: Editor,
    row: u32,
    name: fn(&LimitRow) -> &'static str,
    of: fn(&mut LimitRow) -> &mut String,
) -> Bind<String> {
    let value = move |it: &LimitRow| std::mem::take(of(&mut it.clone()));
    editor.limit(row, name, value, move |it, value| *of(it) = value)
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
