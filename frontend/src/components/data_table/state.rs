//! The state of a table, without the type of its rows, so that the table is compiled once.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{FutureExt as _, TryFutureExt as _};
use leptos::prelude::*;

use super::column::{Column, Head, TableOptions};
use crate::api::Answer;
use crate::components::field::Binding;
use crate::components::theme::Appearance;
use crate::model::table_view::TableView;

/// The rows of a table, by their place among all rows; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) heads: StoredValue<Vec<Head>>,
    /// The number of rows.
    pub(super) count: Signal<usize>,
    /// Notifies when a row changes.
    pub(super) changed: Signal<()>,
    pub(super) id: Callback<usize, String>,
    /// The places of the shown rows, in the order of the column with this index; tracked.
    order: Callback<(usize, bool), Vec<usize>>,
    /// The view of a row's cell.
    pub(super) cell: Callback<(usize, usize), AnyView>,
    /// The text of a row's cell.
    pub(super) text: Callback<(usize, usize), String>,
    pub(super) rest: Option<Rest>,
    pub(super) group: Option<Callback<usize, String>>,
    pub(super) link: Option<Callback<usize, String>>,
}

/// Given columns, the texts of the rows that are not loaded.
type Rest = Callback<Vec<usize>, Answer<Vec<Vec<String>>>>;

impl Source {
    pub(super) fn new<T: Clone + Send + Sync + 'static>(
        rows: Signal<Vec<T>>,
        columns: Vec<Column<T>>,
        id: fn(&T) -> String,
        options: TableOptions<T>,
    ) -> Self {
        let columns = Arc::new(columns);
        let heads = columns.iter().map(|column| column.head.clone()).collect();
        // Rows can disappear before their cells do; a missing row has no content.
        let of_row = move |read: fn(&T) -> String| {
            Callback::new(move |at: usize| {
                rows.with_untracked(|rows| rows.get(at).map(read).unwrap_or_default())
            })
        };
        let of_value = move |read: Callback<T, String>| {
            Callback::new(move |at: usize| {
                let row = rows.with_untracked(|rows| rows.get(at).cloned());
                row.map(|row| read.run(row)).unwrap_or_default()
            })
        };
        let (cells, texts) = (columns.clone(), columns.clone());
        let text = move |(at, column): (usize, usize)| {
            rows.with_untracked(|rows| rows.get(at).map(&texts[column].text).unwrap_or_default())
        };
        let cell = move |(at, column): (usize, usize)| {
            let column = &cells[column];
            let Some(row) = rows.with_untracked(|rows| rows.get(at).cloned()) else {
                return ().into_any();
            };
            match &column.cell {
                Some(cell) => cell(&row),
                None => (column.text)(&row).into_any(),
            }
        };
        let rest = options.rest.map(|rest| {
            let columns = columns.clone();
            Callback::new(move |exported: Vec<usize>| {
                let (columns, rows) = (columns.clone(), rest.run(()));
                let cells = move |row: &T| {
                    exported.iter().map(|column| (columns[*column].text)(row)).collect::<Vec<_>>()
                };
                rows.map_ok(move |rows| rows.iter().map(cells).collect()).boxed_local()
            })
        });
        let shown = options.shown;
        let order = move |(column, descending): (usize, bool)| {
            let mut places = match shown {
                Some(shown) => shown.get(),
                None => (0..rows.with(Vec::len)).collect(),
            };
            rows.with(|rows| {
                places.retain(|at| *at < rows.len());
                if let Some(key) = columns.get(column).and_then(|column| column.key.as_ref()) {
                    places.sort_by_cached_key(|at| key(&rows[*at]));
                }
            });
            if descending {
                places.reverse();
            }
            places
        };
        Self {
            heads: StoredValue::new(heads),
            count: Signal::derive(move || rows.with(Vec::len)),
            changed: Signal::derive(move || rows.track()),
            id: of_row(id),
            order: Callback::new(order),
            cell: Callback::new(cell),
            text: Callback::new(text),
            rest,
            group: options.group.map(of_row),
            link: options.link.map(of_value),
        }
    }
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TableLine {
    /// The heading of a group, with the number of its rows.
    Group(String, usize),
    /// The row at a place, with its number in the table.
    Row(usize, usize),
}

/// The state of a table; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub(super) label: StoredValue<String>,
    pub(super) nouns: (&'static str, &'static str),
    pub(super) source: Source,
    pub(super) view: Binding<TableView>,
    pub(super) selected: Option<RwSignal<BTreeSet<String>>>,
    pub(super) is_virtual: bool,
    /// The indexes of the visible columns.
    pub(super) columns: Memo<Vec<usize>>,
    /// The column that sorts the rows, beyond the last one for none, and whether in descending order.
    pub(super) sort: Memo<(usize, bool)>,
    /// The places of the shown rows, in their order.
    pub(super) order: Memo<Vec<usize>>,
    /// The names of closed groups.
    pub(super) closed: RwSignal<BTreeSet<String>>,
    pub(super) lines: Memo<Vec<TableLine>>,
    /// Whether rows are compact.
    pub(super) compact: Memo<bool>,
}

impl Table {
    pub(super) fn new(
        label: String,
        nouns: (&'static str, &'static str),
        source: Source,
        view: Binding<TableView>,
        (selected, is_virtual, in_pages): (Option<RwSignal<BTreeSet<String>>>, bool, bool),
    ) -> Self {
        let heads = source.heads;
        let columns = Memo::new(move |_| {
            let shows = |view: &TableView, at: usize| {
                at == 0 || heads.with_value(|heads| !view.hides(heads[at].name))
            };
            let count = heads.with_value(Vec::len);
            view.value.with(|view| (0..count).filter(|at| shows(view, *at)).collect())
        });
        // Pages come in the order of the server, which the loaded rows keep unless a person sorts them.
        let default = if in_pages { usize::MAX } else { 0 };
        let sort = Memo::new(move |_| {
            view.value.with(|view| {
                let named = |head: &Head| head.sorted && head.name == view.sort;
                let at = heads.with_value(|heads| heads.iter().position(named));
                at.map_or((default, false), |at| (at, view.descending))
            })
        });
        let order = Memo::new(move |_| source.order.run(sort.get()));
        let closed = RwSignal::new(BTreeSet::new());
        let lines = Memo::new(move |_| lines(source, sort.get().0, &order.get(), &closed.get()));
        let density = expect_context::<Appearance>();
        let compact = Memo::new(move |_| {
            let chosen = view.value.with(|view| view.density.clone());
            if chosen.is_empty() { density.get() == "compact" } else { chosen == "compact" }
        });
        let label = StoredValue::new(label);
        Self {
            label,
            nouns,
            source,
            view,
            selected,
            is_virtual,
            columns,
            sort,
            order,
            closed,
            lines,
            compact,
        }
    }

    /// Changes the view.
    pub(super) fn change(self, change: impl FnOnce(&TableView) -> TableView) {
        self.view.set.run(change(&self.view.value.get_untracked()));
    }

    /// The ids of the shown rows; not tracked.
    pub(super) fn shown_ids(self) -> BTreeSet<String> {
        let places = self.order.get_untracked();
        places.into_iter().map(|at| self.source.id.run(at)).collect()
    }

    /// Selects a row, or no longer.
    pub(super) fn toggle(self, id: &str) {
        if let Some(selected) = self.selected {
            selected.update(|selected| {
                if !selected.remove(id) {
                    selected.insert(id.to_owned());
                }
            });
        }
    }
}

/// The rows in their order, below the headings of their groups if they are sorted by the first column.
fn lines(
    source: Source,
    column: usize,
    order: &[usize],
    closed: &BTreeSet<String>,
) -> Vec<TableLine> {
    let rows = order.iter().enumerate().map(|(number, at)| TableLine::Row(*at, number));
    let Some(group) = source.group.filter(|_| column == 0) else { return rows.collect() };
    let mut lines: Vec<TableLine> = Vec::with_capacity(order.len());
    let mut heading = 0;
    for row in rows {
        let TableLine::Row(at, _) = row else { continue };
        let name = group.run(at);
        match lines.get_mut(heading) {
            Some(TableLine::Group(current, count)) if *current == name => *count += 1,
            _ => {
                heading = lines.len();
                lines.push(TableLine::Group(name.clone(), 1));
            }
        }
        if !closed.contains(&name) {
            lines.push(row);
        }
    }
    lines
}
