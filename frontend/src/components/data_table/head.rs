//! The head of a table: titles that sort, and the checkbox that selects all shown rows.

use std::collections::BTreeSet;

use leptos::prelude::*;

use super::state::Table;

#[component]
pub(super) fn TableHead(table: Table) -> impl IntoView {
    let cells = move || {
        let columns = table.columns.get();
        columns.into_iter().map(|column| head_cell(table, column)).collect::<Vec<_>>()
    };
    view! {
        <thead><tr>
            {table.selected.map(|selected| view! { <th class="checkbox-cell"><SelectAll table selected /></th> })}
            {cells}
        </tr></thead>
    }
}

fn head_cell(table: Table, column: usize) -> AnyView {
    let head = table.source.heads.with_value(|heads| heads[column].clone());
    if head.title.is_empty() {
        return view! { <th scope="col"><span class="hidden">"Actions"</span></th> }.into_any();
    }
    if !head.sorted {
        return view! { <th scope="col" class=head.class>{head.title}</th> }.into_any();
    }
    let sorted = move || Some(table.sort.get()).filter(|(by, _)| *by == column);
    let direction =
        move || sorted().map(|(_, descending)| if descending { "descending" } else { "ascending" });
    let sort = move |_| {
        let was = untrack(sorted).map(|(_, descending)| descending);
        table.change(|view| view.sorted_by(head.name, was, head.descending_first));
    };
    view! {
        <th scope="col" class=head.class aria-sort=direction>
            <button type="button" class="sort" on:click=sort>{head.title}<span aria-hidden="true"></span></button>
        </th>
    }
    .into_any()
}

/// Selects all shown rows, or none.
#[component]
fn SelectAll(table: Table, selected: RwSignal<BTreeSet<String>>) -> impl IntoView {
    let all = move || {
        table.order.track();
        let shown = untrack(|| table.shown_ids());
        !shown.is_empty() && selected.with(|selected| shown.is_subset(selected))
    };
    let change = move |event| {
        let ids = if event_target_checked(&event) { table.shown_ids() } else { BTreeSet::new() };
        selected.set(ids);
    };
    let label = format!("Select all {} shown", table.nouns.1);
    view! { <input type="checkbox" aria-label=label prop:checked=all on:change=change /> }
}
