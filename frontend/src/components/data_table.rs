//! The table of a list page: sorting, choice of columns, density, selection, links of rows, groups and CSV. Rows of fixed
//! height are virtualised, so ten thousand scroll like ten.

#![expect(
    clippy::large_types_passed_by_value,
    reason = "a table is a bundle of signals, and components receive those by value"
)]

mod column;
mod frame;
mod head;
mod options;
mod row;
mod state;

use leptos::prelude::*;

use crate::components::control_flow::Show;
use crate::components::field::Binding;
use crate::model::number::{grouped, quantity};
use crate::model::table_view::TableView;
pub use column::{Column, TableOptions};
use frame::Frame;
use options::Options;
use state::{Source, Table};

/// The view of the page's main table, which the URL stores.
pub fn table_in_url() -> Binding<TableView> {
    crate::components::url_state::url_state(
        &TableView::PARAMETERS,
        |url| TableView::of(|name| url.get(name)),
        TableView::parameters,
    )
}

/// The view of another table, which nothing stores.
pub fn own_view() -> Binding<TableView> {
    RwSignal::new(TableView::default()).into()
}

/// The table with its number of rows, its options, and `empty` in place of no rows.
#[component]
pub fn DataTable<T>(
    #[prop(into)] label: String,
    /// One row and several rows, as in "1 rule" and "2 rules".
    nouns: (&'static str, &'static str),
    /// A stored signal: each cell reads its row.
    #[prop(into)]
    rows: Signal<Vec<T>>,
    /// The first column names the row.
    columns: Vec<Column<T>>,
    /// The id of a row.
    id: fn(&T) -> String,
    view: Binding<TableView>,
    #[prop(optional)] options: TableOptions<T>,
    #[prop(into)] empty: ViewFn,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    let source = Source::new(rows, columns, id, options);
    let TableOptions { selected, is_virtual, partial, total, export, .. } = options;
    let table = Table::new(label, nouns, source, view, (selected, is_virtual, partial.is_some()));
    view! { <Whole table partial total export empty /> }
}

/// Not generic, so that the code is not duplicated for each type of row.
#[component]
fn Whole(
    table: Table,
    partial: Option<Signal<bool>>,
    total: Option<Signal<Option<String>>>,
    export: Option<Callback<()>>,
    empty: ViewFn,
) -> impl IntoView {
    let count = move || {
        let (one, many) = table.nouns;
        let (shown, all) = (table.order.with(Vec::len), table.source.count.get());
        let is_partial = partial.is_some_and(|partial| partial.get());
        let some = grouped(u64::try_from(shown).unwrap_or(u64::MAX));
        if let Some(total) = total.filter(|_| is_partial).and_then(|total| total.get()) {
            return format!("{some} of {total} {many}");
        }
        let counted = quantity(all, one, many);
        let counted = if shown == all { counted } else { format!("{some} of {counted}") };
        if is_partial { counted + "; more are not loaded yet" } else { counted }
    };
    let is_empty = Memo::new(move |_| table.order.with(Vec::is_empty));
    view! {
        <div class="data-table">
            <div class="table-tools">
                <p class="muted" role="status">{count}</p>
                <Options table partial export />
            </div>
            <Show when=move || !is_empty.get() fallback=move || empty.run()>
                <Frame table />
            </Show>
        </div>
    }
}
