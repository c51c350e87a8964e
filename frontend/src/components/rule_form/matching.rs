//! The requests that a rule matches, and the subjects that it counts separately.

use leptos::prelude::*;
use weir_domain::draft;
use weir_wire::words::Op;

use super::editor::Editor;
use crate::components::control_flow::{For, Show};
use crate::components::field::{Choice, GroupProblem, TextArea, TextField};
use crate::components::seen::SeenAttributes;
use crate::model::rule_form::ConditionRow;

#[component]
pub(super) fn MatchFields(editor: Editor) -> impl IntoView {
    let rows = Memo::new(move |_| {
        editor
            .form
            .with(|form| form.conditions.iter().map(|condition| condition.row).collect::<Vec<_>>())
    });
    let quantity = editor.bind(
        |_| "count_by".to_owned(),
        |form| form.count_by.clone(),
        |form, value| form.count_by = value,
    );
    let whole = editor.problem(|_| "match".to_owned());
    let seen = expect_context::<SeenAttributes>();
    let by_address = Memo::new(move |_| {
        let known = seen.seen.get();
        editor.form.with(|form| form.count_by_address(|name| known.are_addresses(name)))
    });
    let count_by_address = move |_| {
        if let Some(text) = by_address.get_untracked() {
            editor.form.update(|form| form.count_by = text);
        }
    };
    view! {
        <fieldset>
            <legend>"Match"</legend>
            <p class="note">"The rule matches requests that meet all conditions. Without conditions it matches every request in its namespace."</p>
            <For each=move || rows.get() key=|row| *row let:row>
                <Condition editor row />
            </For>
            <button
                type="button"
                class="button"
                on:click=move |_| editor.form.update(crate::model::rule_form::RuleForm::add_condition)
            >
                "Add condition"
            </button>
            <GroupProblem problem=whole />
            <TextField
                label="Count by"
                value=quantity
                problem=editor.problem(|_| "count_by".to_owned())
                hint="Attributes that are counted separately, for example: user, ip as address, email as email. Leave empty for one shared counter."
            />
            <Show when=move || by_address.with(Option::is_some)>
                <p class="note">
                    "These values are addresses. One client can have many of them: "
                    <button type="button" class="button plain-button" on:click=count_by_address>"Count by address, IPv6 by /64"</button>
                </p>
            </Show>
        </fieldset>
    }
}

#[component]
fn Condition(editor: Editor, row: u32) -> impl IntoView {
    let attribute = editor.condition(
        row,
        "attribute",
        |condition| condition.map(|condition| condition.attribute.clone()).unwrap_or_default(),
        |condition, value| condition.attribute = value,
    );
    let op = editor.condition(
        row,
        "op",
        |condition| condition.map_or(Op::Equals, |condition| condition.op),
        |condition, op| condition.op = op,
    );
    let ops = Op::choices();
    let takes_value = Memo::new(move |_| {
        editor.form.with(|form| {
            form.conditions
                .iter()
                .find(|condition| condition.row == row)
                .is_some_and(ConditionRow::takes_value)
        })
    });
    let remove = move |_| {
        editor.form.update(|form| form.conditions.retain(|condition| condition.row != row));
    };
    let whole = editor.condition_problem(row, "");
    let names = expect_context::<SeenAttributes>().names();
    view! {
        <div class="row condition" role="group" aria-label="Condition">
            <TextField label="Attribute" value=attribute problem=editor.condition_problem(row, "attribute") suggestions=names />
            <Choice label="Comparison" value=op options=ops />
            <Show when=move || takes_value.get()>
                <Operand editor row op=op.value attribute=attribute.value />
            </Show>
            <button type="button" class="button plain-button" on:click=remove aria-label="Remove condition">"Remove"</button>
            <GroupProblem problem=whole whole_row=true />
        </div>
    }
}

#[component]
fn Operand(editor: Editor, row: u32, op: Signal<Op>, attribute: Signal<String>) -> impl IntoView {
    let values = expect_context::<SeenAttributes>().values(move || attribute.get());
    let several = Memo::new(move |_| draft::Op::from(op.get()).takes_list());
    let value = editor.condition(
        row,
        "value",
        |condition| condition.map(|condition| condition.value.clone()).unwrap_or_default(),
        |condition, value| condition.value = value,
    );
    let problem = editor.condition_problem(row, "value");
    move || {
        if several.get() {
            view! { <TextArea label="Values, one per line" value problem /> }.into_any()
        } else {
            view! { <TextField label="Value" value problem suggestions=values /> }.into_any()
        }
    }
}
