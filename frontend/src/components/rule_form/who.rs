//! Who: which requests a rule matches and whom it counts.

use leptos::prelude::*;
use weir_wire::words::Op;

use super::Editor;
use crate::components::field::{Choice, TextArea, TextField};
use crate::model::rule_form::ConditionRow;
use crate::model::words;

#[component]
pub(super) fn Who(editor: Editor) -> impl IntoView {
    let rows = Memo::new(move |_| {
        editor.form.with(|form| form.conditions.iter().map(|it| it.row).collect::<Vec<_>>())
    });
    let counted = editor.bind(
        |_| "count_by".to_owned(),
        |form| form.count_by.clone(),
        |form, value| form.count_by = value,
    );
    let whole = editor.problem(|_| "match".to_owned());
    view! {
        <fieldset>
            <legend>"Who"</legend>
            <p class="note">"All conditions must hold. With none, the rule matches every request of its namespace."</p>
            <For each=move || rows.get() key=|row| *row let:row>
                <Condition editor row />
            </For>
            <button
                type="button"
                class="button"
                on:click=move |_| editor.form.update(crate::model::rule_form::RuleForm::add_condition)
            >
                "Add a condition"
            </button>
            <p class="field-problem">{whole}</p>
            <TextField
                label="Count by"
                value=counted
                problem=editor.problem(|_| "count_by".to_owned())
                hint="Attributes that form the subject, such as: user, ip. Each subject has its own counter. Empty: one counter for all."
            />
        </fieldset>
    }
}

#[component]
fn Condition(editor: Editor, row: u32) -> impl IntoView {
    let attribute = editor.condition(
        row,
        "attribute",
        |it| it.map(|it| it.attribute.clone()).unwrap_or_default(),
        |it, value| it.attribute = value,
    );
    let op =
        editor.condition(row, "op", |it| it.map_or(Op::Equals, |it| it.op), |it, op| it.op = op);
    let ops = Op::ALL.iter().map(|op| (*op, words::op(*op).to_owned())).collect();
    let takes_value = Memo::new(move |_| {
        editor.form.with(|form| {
            form.conditions.iter().find(|it| it.row == row).is_some_and(ConditionRow::takes_value)
        })
    });
    let remove = move |_| editor.form.update(|form| form.conditions.retain(|it| it.row != row));
    let whole = editor.condition_problem(row, "");
    view! {
        <div class="row condition" role="group" aria-label="Condition">
            <TextField label="Attribute" value=attribute problem=editor.condition_problem(row, "attribute") />
            <Choice label="Comparison" value=op options=ops />
            <Show when=move || takes_value.get()>
                <Operand editor row op=op.value />
            </Show>
            <button type="button" class="button quiet-button" on:click=remove aria-label="Remove the condition">"Remove"</button>
            <p class="field-problem whole-row">{whole}</p>
        </div>
    }
}

#[component]
fn Operand(editor: Editor, row: u32, op: Signal<Op>) -> impl IntoView {
    let several = Memo::new(move |_| op.get() == Op::OneOf);
    let value = editor.condition(
        row,
        "value",
        |it| it.map(|it| it.value.clone()).unwrap_or_default(),
        |it, value| it.value = value,
    );
    let problem = editor.condition_problem(row, "value");
    move || {
        if several.get() {
            view! { <TextArea label="Values, one a line" value problem /> }.into_any()
        } else {
            view! { <TextField label="Value" value problem /> }.into_any()
        }
    }
}
