//! The limits of a rule, each with the parameters of its algorithm.

mod duration_field;

use leptos::prelude::*;
use weir_domain::algorithm::{Input, Parameter};
use weir_domain::limit::LIMITS_PER_RULE_MAX;
use weir_wire::limits::AlgorithmName;
use weir_wire::words::Period;

use super::editor::Editor;
use crate::browser::is_time_zone;
use crate::components::control_flow::{For, Show};
use crate::components::field::{Binding, Checkbox, Choice, GroupProblem, TextField};
use crate::components::guide_link::GuideLink;
use crate::components::mini_picture::AlgorithmPicture;
use crate::model::rule_form::{LimitRow, RuleForm, VariantRow};
use crate::model::suggestion::can_suggest;
use duration_field::DurationField;
pub(super) use duration_field::NumberAndUnit;

/// Shows a suggestion for the limit in a row of the form; provided where suggestions can be fetched.
#[derive(Debug, Clone, Copy)]
pub struct SuggestLimit(pub Callback<u32, AnyView>);

#[component]
pub fn Limits(
    editor: Editor,
    /// The limits of everyone, which cannot become an experiment.
    #[prop(optional)]
    plain: bool,
) -> impl IntoView {
    let variants = Memo::new(move |_| {
        editor.form.with(|form| form.variants.iter().map(|variant| variant.row).collect::<Vec<_>>())
    });
    let is_experiment = Memo::new(move |_| variants.with(|rows| !rows.is_empty()));
    let full = Memo::new(move |_| editor.form.with(RuleForm::variants_are_full));
    let whole = editor.problem(|_| "variants".to_owned());
    let add = move || match (is_experiment.get(), full.get()) {
        (false, _) => "Compare with other limits",
        (true, false) => "Add variant",
        (true, true) => "A rule can have up to 4 variants",
    };
    view! {
        <fieldset>
            <legend>"Limits"</legend>
            <p class="note">"A request must fit every limit. A denied request consumes nothing. "<GuideLink page="algorithms" text="Choosing an algorithm" /></p>
            <Show when=move || is_experiment.get()>
                <p class="note">"An experiment: each subject has the limits of one variant, and keeps it. Variants have the same algorithms in the same order. "<GuideLink page="rules" text="About experiments" /></p>
            </Show>
            <Show when=move || !is_experiment.get()><LimitsOf editor variant=0 /></Show>
            <For each=move || variants.get() key=|row| *row let:row>
                <VariantFields editor row />
            </For>
            {(!plain).then(|| view! {
                <div class="actions">
                    <button type="button" class="button small" disabled=move || full.get() on:click=move |_| editor.form.update(RuleForm::add_variant)>{add}</button>
                </div>
            })}
            <GroupProblem problem=whole />
        </fieldset>
    }
}

/// The limits of a variant; of all subjects for 0.
#[component]
fn LimitsOf(editor: Editor, variant: u32) -> impl IntoView {
    let rows = Memo::new(move |_| {
        editor.form.with(|form| form.limits_of(variant).map(|limit| limit.row).collect::<Vec<_>>())
    });
    let full = move || rows.with(Vec::len) >= LIMITS_PER_RULE_MAX;
    let whole = editor.problem(move |form| {
        let at = form.variants.iter().position(|other| other.row == variant);
        at.map_or_else(|| "limits".to_owned(), |at| format!("variants[{at}].limits"))
    });
    view! {
        <For each=move || rows.get() key=|row| *row let:row>
            <LimitFields editor row />
        </For>
        <button type="button" class="button" disabled=full on:click=move |_| editor.form.update(|form| form.add_limit(variant))>
            {move || if full() { "A rule can have up to 8 limits" } else { "Add limit" }}
        </button>
        <GroupProblem problem=whole />
    }
}

/// A variant: its name, its share, its limits.
#[component]
fn VariantFields(editor: Editor, row: u32) -> impl IntoView {
    let path = move |form: &RuleForm, field: &str| {
        let at = form.variants.iter().position(|variant| variant.row == row);
        at.map(|at| format!("variants[{at}].{field}")).unwrap_or_default()
    };
    let text = move |field: &'static str, of: fn(&mut VariantRow) -> &mut String| {
        let find =
            move |variants: &[VariantRow]| variants.iter().position(|variant| variant.row == row);
        editor.bind(
            move |form| path(form, field),
            move |form| {
                let at = find(&form.variants);
                at.map(|at| of(&mut form.variants[at].clone()).clone()).unwrap_or_default()
            },
            move |form, value| {
                if let Some(at) = find(&form.variants) {
                    *of(&mut form.variants[at]) = value;
                }
            },
        )
    };
    let (name, percent) = (
        text("name", |variant| &mut variant.name),
        text("percent", |variant| &mut variant.percent),
    );
    let label = move || format!("Variant {}", name.value.get());
    let remove = move |_| editor.form.update(|form| form.remove_variant(row));
    view! {
        <div class="variant stack" role="group" aria-label=label>
            <div class="row">
                <TextField short=true label="Variant" value=name problem=editor.problem(move |form| path(form, "name")) />
                <TextField short=true label="% of subjects" value=percent problem=editor.problem(move |form| path(form, "percent")) />
                <button type="button" class="button plain-button" on:click=remove aria-label=move || format!("Remove variant {}", name.value.get())>"Remove variant"</button>
            </div>
            <LimitsOf editor variant=row />
        </div>
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
    let names =
        AlgorithmName::ALL.iter().map(|name| (*name, name.kind().title().to_owned())).collect();
    let only = move || {
        editor.form.with(|form| {
            let variant = form.limit_at(row).map(|(_, limit)| limit.variant);
            variant.is_none_or(|variant| form.limits_of(variant).nth(1).is_none())
        })
    };
    let remove = move |_| editor.form.update(|form| form.limits.retain(|limit| limit.row != row));
    let provided = use_context::<SuggestLimit>();
    let suggest = move || {
        let SuggestLimit(suggest) = provided?;
        can_suggest(algorithm.value.get()).then(|| suggest.run(row))
    };
    view! {
        <div class="limit" role="group" aria-label="Limit">
            <div class="row">
                <Choice label="Algorithm" value=algorithm options=names />
                <AlgorithmPicture algorithm=algorithm.value />
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
            <p class="note">{move || algorithm.value.get().kind().hint()}</p>
            <div class="row">{move || parameters(editor, row, algorithm.value.get())}</div>
            {suggest}
        </div>
    }
}

/// The fields of one algorithm.
fn parameters(editor: Editor, row: u32, algorithm: AlgorithmName) -> AnyView {
    let parameters = algorithm.kind().parameters().iter();
    parameters.map(|parameter| field(editor, row, parameter)).collect_view().into_any()
}

fn field(editor: Editor, row: u32, parameter: &'static Parameter) -> AnyView {
    let label = parameter.label;
    match parameter.input {
        Input::TimeZone | Input::AnchorDay => {
            let has_calendar = has_calendar(editor, row);
            let field = move || has_calendar.get().then(|| calendar_field(editor, row, parameter));
            field.into_any()
        }
        Input::EndsAt => {
            let never_renews = never_renews(editor, row);
            let field = move || never_renews.get().then(|| end_field(editor, row, label));
            field.into_any()
        }
        Input::Units => {
            let value = text(editor, row, units_name, |limit| &mut limit.units);
            view! { <TextField short=true label value problem=editor.limit_problem(row, units_name) /> }
                .into_any()
        }
        Input::Rate => {
            let value = text(editor, row, rate_name, |limit| &mut limit.rate);
            view! { <TextField short=true label value problem=editor.limit_problem(row, rate_name) /> }
                .into_any()
        }
        Input::Window => {
            view! { <DurationField editor row label name=window_name of=|limit| &mut limit.window /> }
                .into_any()
        }
        Input::Every => {
            view! { <DurationField editor row label name=every_name of=|limit| &mut limit.every /> }
                .into_any()
        }
        Input::CountDenied => {
            let denied = editor.limit(
                row,
                |_| "count_denied",
                |limit| limit.count_denied,
                |limit, value| limit.count_denied = value,
            );
            view! { <Checkbox label value=denied /> }.into_any()
        }
        Input::Period => view! { <PeriodField editor row label /> }.into_any(),
    }
}

/// Whether the periods of a quota have a calendar. A time zone that is unknown can be corrected in any case.
fn has_calendar(editor: Editor, row: u32) -> Memo<bool> {
    quota_has(editor, row, |limit| {
        limit.period != Period::None || !is_time_zone(limit.time_zone.trim())
    })
}

fn never_renews(editor: Editor, row: u32) -> Memo<bool> {
    quota_has(editor, row, |limit| limit.period == Period::None)
}

fn quota_has(editor: Editor, row: u32, property: fn(&LimitRow) -> bool) -> Memo<bool> {
    Memo::new(move |_| {
        editor
            .form
            .with(|form| form.limits.iter().find(|limit| limit.row == row).is_some_and(property))
    })
}

/// A field that says when the periods of a quota begin.
fn calendar_field(editor: Editor, row: u32, parameter: &'static Parameter) -> AnyView {
    let label = parameter.label;
    if parameter.input == Input::AnchorDay {
        let value = text(editor, row, |_| "anchor_day", |limit| &mut limit.anchor_day);
        let problem = editor.limit_problem(row, |_| "anchor_day");
        return view! { <TextField short=true label value problem hint="1 means Monday, the 1st, or 1 January" /> }
            .into_any();
    }
    let value = text(editor, row, |_| "time_zone", |limit| &mut limit.time_zone);
    let rejected = editor.limit_problem(row, |_| "time_zone");
    let unknown = move || value.value.with(|zone| !is_time_zone(zone.trim()));
    let problem = Signal::derive(move || {
        rejected.get().or_else(|| unknown().then(|| UNKNOWN_ZONE.to_owned()))
    });
    view! { <TextField label value problem hint="For example UTC or Europe/Berlin" /> }.into_any()
}

/// The end of a quota that never renews.
fn end_field(editor: Editor, row: u32, label: &'static str) -> AnyView {
    let value = text(editor, row, |_| "ends_at", |limit| &mut limit.ends_at);
    let problem = editor.limit_problem(row, |_| "ends_at");
    view! { <TextField label value problem hint="Optional, like 2026-12-31T00:00:00Z" /> }
        .into_any()
}

#[component]
fn PeriodField(editor: Editor, row: u32, label: &'static str) -> impl IntoView {
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
    view! { <Choice label value=period options=Period::choices() short=true /> }
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
    name(limit, Input::Units)
}

fn rate_name(limit: &LimitRow) -> &'static str {
    name(limit, Input::Rate)
}

fn window_name(limit: &LimitRow) -> &'static str {
    name(limit, Input::Window)
}

fn every_name(limit: &LimitRow) -> &'static str {
    name(limit, Input::Every)
}

/// The name of the parameter that takes this input; empty if the algorithm has none.
fn name(limit: &LimitRow, input: Input) -> &'static str {
    let parameters = limit.algorithm.kind().parameters();
    parameters.iter().find(|parameter| parameter.input == input).map_or("", |found| found.name)
}

/// The API's reason for an unknown time zone, shown while it is typed.
const UNKNOWN_ZONE: &str = "must be the name of an IANA time zone such as `Europe/Berlin` or `UTC`";
