//! A list that the server sends in pages: the rows loaded so far, their table, and a button that loads more.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::page::Page;

use crate::api::Answer;
use crate::components::control_flow::Show;
use crate::components::csv_export::EXPORT_ROWS_MAX;
use crate::components::data_table::{Column, DataTable, TableOptions};
use crate::components::feedback::SubmitProblem;
use crate::components::field::Binding;
use crate::components::submit::SubmitAction;
use crate::model::table_view::TableView;

/// The rows loaded so far; cheap to copy.
#[derive(Debug)]
pub struct Paged<T: Send + Sync + 'static> {
    pub rows: Signal<Vec<T>>,
    pub more: More,
    /// Fetches the rows that are not loaded, up to the bound of an export.
    rest: Callback<(), Answer<Vec<T>>>,
}

/// The rows that are not loaded yet.
#[derive(Debug, Clone, Copy)]
pub struct More {
    /// Loads the next page. Actions of rows can use it as well: the list shows its problem.
    pub action: SubmitAction,
    /// Continues the list; `None` at its end.
    cursor: RwSignal<Option<String>>,
    load: Callback<()>,
}

impl<T: Clone + PartialEq + Send + Sync + 'static> Paged<T> {
    /// The list begins with `first`, also whenever that changes. `next` fetches the page after a cursor; it is not tracked.
    pub fn new(
        first: impl Into<Signal<Page<T>>>,
        next: impl Fn(Option<String>) -> Answer<Page<T>> + Send + Sync + 'static,
    ) -> Self {
        let (first, next) = (first.into(), Callback::new(next));
        let Page { data, next_cursor } = first.get_untracked();
        let loaded = RwSignal::new(data);
        let cursor = RwSignal::new(next_cursor);
        // A page that was asked for before another first page arrived does not follow it.
        let firsts = StoredValue::new(0_u32);
        Effect::new(move |_| {
            let Page { data, next_cursor } = first.get();
            loaded.set(data);
            cursor.set(next_cursor);
            firsts.update_value(|firsts| *firsts += 1);
        });
        let action = SubmitAction::new();
        let load = Callback::new(move |()| {
            let asked = firsts.get_value();
            let page = untrack(|| next.run(cursor.get_untracked()));
            action.run(page, move |mut page| {
                if firsts.try_get_value() == Some(asked) {
                    loaded.update(|rows| rows.append(&mut page.data));
                    cursor.set(page.next_cursor);
                }
            });
        });
        let rest = Callback::new(move |()| {
            let (mut cursor, loaded) = (cursor.get_untracked(), loaded.with_untracked(Vec::len));
            async move {
                let mut rows = Vec::new();
                while cursor.is_some() && loaded + rows.len() < EXPORT_ROWS_MAX {
                    let page = untrack(|| next.run(cursor)).await?;
                    rows.extend(page.data);
                    cursor = page.next_cursor;
                }
                Ok(rows)
            }
            .boxed_local()
        });
        // Stored, because each cell reads its row, and unchanged rows are not shown anew.
        let rows = Memo::new(move |_| loaded.get()).into();
        Self { rows, more: More { action, cursor, load }, rest }
    }
}

impl More {
    /// Whether there are such rows.
    pub fn is_some(self) -> Signal<bool> {
        Signal::derive(move || self.cursor.with(Option::is_some))
    }

    /// The problem of the last request, and the button that loads the next page.
    pub fn button(self, text: &'static str) -> AnyView {
        let Self { action, cursor, load } = self;
        view! {
            <SubmitProblem problem=action.problem />
            <Show when=move || cursor.with(Option::is_some)>
                <button type="button" class="button" disabled=action.busy on:click=move |_| load.run(())>{text}</button>
            </Show>
        }
        .into_any()
    }
}

/// The table of the rows, and the button below it.
#[component]
pub fn PagedTable<T>(
    paged: Paged<T>,
    label: &'static str,
    nouns: (&'static str, &'static str),
    columns: Vec<Column<T>>,
    id: fn(&T) -> String,
    view: Binding<TableView>,
    /// Its `partial` is that of the list.
    #[prop(optional)]
    options: TableOptions<T>,
    #[prop(into)] empty: ViewFn,
    /// The label of the button.
    #[prop(default = "Load more")]
    more: &'static str,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    let (partial, rest) = (Some(paged.more.is_some()), Some(paged.rest));
    let options = TableOptions { partial, rest, ..options };
    view! {
        <DataTable label nouns rows=paged.rows columns id view options empty />
        {paged.more.button(more)}
    }
}

impl<T: Send + Sync + 'static> Clone for Paged<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Paged<T> {}
