//! The rows of a table and the headings of their groups.

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use super::state::{Table, TableLine};
use crate::browser;
use crate::model::number::grouped;

impl Table {
    /// Identifies a line with its content: a line with another key is rendered again.
    pub(super) fn line_key(self, line: &TableLine) -> String {
        match line {
            TableLine::Group(name, count) => format!("{name}\n{count}"),
            TableLine::Row(at, number) => {
                let mut columns = self.columns.get();
                let heads = self.source.heads;
                heads.with_value(|heads| columns.retain(|column| !heads[*column].live));
                let texts = columns.iter().map(|column| self.source.text.run((*at, *column)));
                let texts: Vec<_> = texts.collect();
                format!("{number}\t{}\t{}", self.source.id.run(*at), texts.join("\t"))
            }
        }
    }
}

/// The row at the place `at` of all rows, and with this number in the table.
#[component]
pub(super) fn Row(table: Table, at: usize, number: usize) -> impl IntoView {
    let source = table.source;
    let id = source.id.run(at);
    let heads = source.heads.get_value();
    // A row with other content is rendered again, so its cells need not track what they read.
    let name = untrack(|| source.text.run((at, 0)));
    let select = table.selected.map(|selected| {
        let (of_row, toggled) = (id.clone(), id.clone());
        let is_selected = move || selected.with(|selected| selected.contains(&of_row));
        view! {
            <td class="checkbox-cell">
                <input type="checkbox" aria-label=format!("Select {name}") prop:checked=is_selected on:change=move |_| table.toggle(&toggled) />
            </td>
        }
    });
    let cells: Vec<_> = table
        .columns
        .get_untracked()
        .into_iter()
        .map(|column| {
            let (head, is_title) = (&heads[column], column == 0);
            view! { <td class=head.class class:title-cell=is_title data-label=head.title>{untrack(|| source.cell.run((at, column)))}</td> }
        })
        .collect();
    let link = source.link.map(|link| link.run(at));
    let (is_link, row_index) = (link.is_some(), number + 2);
    let navigate = use_navigate();
    let open = move |event: MouseEvent| {
        if let Some(link) = link.as_ref().filter(|_| !browser::is_for_control(&event)) {
            navigate(link, NavigateOptions::default());
        }
    };
    view! { <tr aria-rowindex=row_index data-id=id class:linked=is_link on:click=open>{select}{cells}</tr> }
}

/// The heading of a group, which closes and opens it.
#[component]
pub(super) fn GroupRow(table: Table, name: String, count: usize) -> impl IntoView {
    let span = move || table.columns.with(Vec::len) + usize::from(table.selected.is_some());
    let (shown, toggled) = (name.clone(), name.clone());
    let is_open = move || !table.closed.with(|closed| closed.contains(&name));
    let toggle = move |_| {
        table.closed.update(|closed| {
            if !closed.remove(&toggled) {
                closed.insert(toggled.clone());
            }
        });
    };
    let count = grouped(u64::try_from(count).unwrap_or(u64::MAX));
    view! {
        <tr class="group">
            <th scope="rowgroup" colspan=span>
                <button type="button" class="disclose" aria-expanded=move || is_open().to_string() on:click=toggle>
                    {shown}<span class="muted">{count}</span>
                </button>
            </th>
        </tr>
    }
}

/// The keys of a table, also while nothing in it has focus: `x` selects the row with the focus or below the pointer, `j`
/// and `k` move between rows.
pub(super) fn row_keys(table: Table, frame: NodeRef<html::Div>) -> WindowListenerHandle {
    window_event_listener(leptos::ev::keydown, move |event: KeyboardEvent| {
        let Some(key) = browser::page_key(&event) else { return };
        let Some(frame) = frame.get_untracked() else { return };
        let find = |selector: &str| frame.query_selector(selector).ok().flatten();
        let focused = find("tbody tr:focus-within");
        match key.as_str() {
            "x" if table.selected.is_some() => {
                let row = focused.or_else(|| find("tr[data-id]:hover"));
                let Some(id) = row.and_then(|row| row.get_attribute("data-id")) else { return };
                table.toggle(&id);
            }
            key @ ("j" | "k") => {
                let next = match focused {
                    None if table.is_virtual => find("tr[data-id]"),
                    None => return,
                    Some(row) if key == "j" => row.next_element_sibling(),
                    Some(row) => row.previous_element_sibling(),
                };
                let control = next.and_then(|row| row.query_selector("a, button").ok().flatten());
                browser::focus(control);
            }
            _ => return,
        }
        event.prevent_default();
    })
}
