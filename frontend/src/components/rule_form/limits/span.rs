//! A length of time: a number and its unit side by side.

use leptos::prelude::*;

use super::super::Editor;
use crate::components::field::{Bind, Choice, TextField};
use crate::model::duration::{Span, Unit};
use crate::model::rule_form::LimitRow;

/// A length of time of a limit.
#[component]
pub(in super::super) fn SpanField(
    editor: Editor,
    row: u32,
    #[prop(into)] label: String,
    name: fn(&LimitRow) -> &'static str,
    of: fn(&mut LimitRow) -> &mut Span,
) -> impl IntoView {
    let number = editor.limit(
        row,
        name,
        move |it| std::mem::take(&mut of(&mut it.clone()).number),
        move |it, value| of(it).number = value,
    );
    let unit = editor.bind(
        move |_| format!("unit of {row}"),
        move |form| {
            let limit = form.limits.iter().find(|it| it.row == row);
            limit.map_or(Unit::Seconds, |it| of(&mut it.clone()).unit)
        },
        move |form, unit| {
            if let Some(limit) = form.limits.iter_mut().find(|it| it.row == row) {
                of(limit).unit = unit;
            }
        },
    );
    view! { <NumberAndUnit label number unit problem=editor.limit_problem(row, name) /> }
}

/// The two fields, labelled as one.
#[component]
pub(in super::super) fn NumberAndUnit(
    #[prop(into)] label: String,
    number: Bind<String>,
    unit: Bind<Unit>,
    problem: Signal<Option<String>>,
) -> impl IntoView {
    let units = Unit::ALL.iter().map(|unit| (*unit, unit.label().to_owned())).collect();
    let unit_label = format!("{label}: unit");
    view! {
        <div class="span">
            <TextField short=true label value=number problem />
            <Choice short=true label=unit_label value=unit options=units />
        </div>
    }
}
