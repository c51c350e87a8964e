//! A duration: a number and its unit side by side.

use leptos::prelude::*;

use crate::components::field::{Binding, Choice, TextField};
use crate::components::rule_form::editor::Editor;
use crate::model::duration::{DurationInput, Unit};
use crate::model::rule_form::LimitRow;

/// A duration of a limit.
#[component]
pub(in super::super) fn DurationField(
    editor: Editor,
    row: u32,
    #[prop(into)] label: String,
    name: fn(&LimitRow) -> &'static str,
    of: fn(&mut LimitRow) -> &mut DurationInput,
) -> impl IntoView {
    let number = editor.limit(
        row,
        name,
        move |limit| std::mem::take(&mut of(&mut limit.clone()).number),
        move |limit, value| of(limit).number = value,
    );
    let unit = editor.bind(
        move |_| format!("unit of {row}"),
        move |form| {
            let limit = form.limits.iter().find(|limit| limit.row == row);
            limit.map_or(Unit::Seconds, |limit| of(&mut limit.clone()).unit)
        },
        move |form, unit| {
            if let Some(limit) = form.limits.iter_mut().find(|limit| limit.row == row) {
                of(limit).unit = unit;
            }
        },
    );
    view! { <NumberAndUnit label number unit problem=editor.limit_problem(row, name) /> }
}

/// Both fields under one label.
#[component]
pub(in super::super) fn NumberAndUnit(
    #[prop(into)] label: String,
    number: Binding<String>,
    unit: Binding<Unit>,
    problem: Signal<Option<String>>,
) -> impl IntoView {
    let units = Unit::ALL.iter().map(|unit| (*unit, unit.label().to_owned())).collect();
    let unit_label = format!("{label}: unit");
    view! {
        <div class="duration">
            <TextField short=true label value=number problem />
            <Choice short=true label=unit_label value=unit options=units />
        </div>
    }
}
