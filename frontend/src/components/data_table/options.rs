//! The menu of a table: saved views, columns, density, export.

use leptos::prelude::*;

use super::state::Table;
use crate::components::csv_export::{EXPORT_ROWS_MAX, save_rows};
use crate::components::feedback::SubmitProblem;
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuChoice, MenuItem, MenuSeparator};
use crate::components::saved_views::{ManageViews, ViewWords, Views};
use crate::components::submit::SubmitAction;
use crate::model::number::quantity;

/// The menu; `export` replaces the export of the loaded rows.
#[component]
pub(super) fn Options(
    table: Table,
    partial: Option<Signal<bool>>,
    export: Option<Callback<()>>,
) -> impl IntoView {
    let label = table.label.get_value();
    let trigger = view! { <Icon name="columns-3" /> };
    let is_whole = export.is_some();
    let action = SubmitAction::new();
    let text = Signal::derive(move || {
        let is_partial = !is_whole && partial.is_some_and(|partial| partial.get());
        if is_partial {
            format!("Export CSV, up to {}", quantity(EXPORT_ROWS_MAX, "row", "rows"))
        } else {
            "Export CSV".to_owned()
        }
    });
    let export = export.unwrap_or_else(|| Callback::new(move |()| save(table, action)));
    let densities =
        [("comfortable", "rows-3", "Comfortable rows"), ("compact", "layers", "Compact rows")];
    let views = Views::of(&slug(&label), SAVED, Callback::new(|()| ()));
    view! {
        <ManageViews views />
        <SubmitProblem problem=action.problem />
        <Menu label=format!("View of {label}") trigger=trigger.into_any()>
            {separated(views.entries())}
            {choices(table)}
            <MenuSeparator />
            {densities.map(|(name, icon, label)| {
                let chosen = Signal::derive(move || table.compact.get() == (name == "compact"));
                let choose = move |()| table.change(|view| {
                    let mut view = view.clone();
                    name.clone_into(&mut view.density);
                    view
                });
                view! { <MenuChoice icon text=label chosen on_press=choose /> }
            })}
            <MenuSeparator />
            <MenuItem icon="download" text on_press=export />
        </Menu>
    }
}

const SAVED: &ViewWords = &ViewWords {
    title: "Saved views",
    one: "view",
    hint: "Columns, density, order and filter. All members can use it.",
};

/// The entries and a separator, if there are any.
fn separated(entries: Vec<AnyView>) -> AnyView {
    let separator = (!entries.is_empty()).then(|| view! { <MenuSeparator /> });
    view! { {entries}{separator} }.into_any()
}

/// A name of views and files, such as `api-keys`.
fn slug(label: &str) -> String {
    label.to_lowercase().replace(' ', "-")
}

/// The columns except the first, which names the row, and the actions.
fn choices(table: Table) -> Vec<AnyView> {
    let heads = table.source.heads.get_value();
    let choosable = heads.into_iter().skip(1).filter(|head| !head.title.is_empty());
    choosable
        .map(|head| {
            let chosen =
                Signal::derive(move || !table.view.value.with(|view| view.hides(head.name)));
            let toggle = move |()| table.change(|view| view.toggled(head.name));
            view! { <MenuChoice icon="columns-3" text=head.title chosen on_press=toggle /> }
                .into_any()
        })
        .collect()
}

/// Saves the shown columns of the shown rows, and of the rows that are not loaded.
fn save(table: Table, action: SubmitAction) {
    let heads = table.source.heads.get_value();
    let mut columns = table.columns.get_untracked();
    columns.retain(|column| !heads[*column].title.is_empty());
    let titles: Vec<_> = columns.iter().map(|column| heads[*column].title).collect();
    let cells = |at: usize| columns.iter().map(move |column| table.source.text.run((at, *column)));
    let shown = table.order.get_untracked().into_iter();
    let mut rows: Vec<Vec<String>> = shown.map(|at| cells(at).collect()).collect();
    let name = slug(&table.label.get_value());
    match table.source.rest {
        None => save_rows(&name, &titles, &rows),
        Some(rest) => action.run(rest.run(columns), move |more| {
            rows.extend(more);
            save_rows(&name, &titles, &rows);
        }),
    }
}
