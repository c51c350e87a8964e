//! The columns of a table, and the parts that few tables have.

use std::collections::BTreeSet;

use leptos::prelude::*;

use crate::api::Answer;

/// Makes something of a row.
type OfRow<T, R> = Box<dyn Fn(&T) -> R + Send + Sync>;

/// A column of a table of `T`.
pub struct Column<T> {
    pub(super) head: Head,
    pub(super) text: OfRow<T, String>,
    pub(super) cell: Option<OfRow<T, AnyView>>,
    pub(super) key: Option<OfRow<T, SortKey>>,
}

/// The parts of a table that few pages need.
#[derive(Debug)]
pub struct TableOptions<T: 'static> {
    /// The places of the rows to show; all rows without it.
    pub shown: Option<Signal<Vec<usize>>>,
    /// The ids of the selected rows; without it rows cannot be selected.
    pub selected: Option<RwSignal<BTreeSet<String>>>,
    /// The group of a row; rows are grouped while they are sorted by the first column.
    pub group: Option<fn(&T) -> String>,
    /// The address that a press on the row opens.
    pub link: Option<Callback<T, String>>,
    /// Rows have a fixed height, and only visible ones are rendered.
    pub is_virtual: bool,
    /// The server has rows that are not loaded.
    pub partial: Option<Signal<bool>>,
    /// The number of rows that the server has, if it is known; shown while `partial`.
    pub total: Option<Signal<Option<String>>>,
    /// Fetches the rows that are not loaded, for an export.
    pub rest: Option<Callback<(), Answer<Vec<T>>>>,
    /// Replaces the export of the rows.
    pub export: Option<Callback<()>>,
}

impl<T> Clone for TableOptions<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TableOptions<T> {}

impl<T> Default for TableOptions<T> {
    fn default() -> Self {
        Self {
            shown: None,
            selected: None,
            group: None,
            link: None,
            is_virtual: false,
            partial: None,
            total: None,
            rest: None,
            export: None,
        }
    }
}

/// The part of a column that the head of a table shows.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// The name in the URL.
    pub(super) name: &'static str,
    /// Empty for the column of actions, which has no text.
    pub(super) title: &'static str,
    pub(super) class: &'static str,
    pub(super) sorted: bool,
    /// The first press on the head sorts in descending order.
    pub(super) descending_first: bool,
    /// The cells update by themselves.
    pub(super) live: bool,
}

/// The value by which rows are sorted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SortKey {
    Number(i64),
    Text(String),
}

impl<T: 'static> Column<T> {
    /// A column with a text, which is also that of the exported file.
    pub fn new(
        name: &'static str,
        title: &'static str,
        text: impl Fn(&T) -> String + Send + Sync + 'static,
    ) -> Self {
        let head =
            Head { name, title, class: "", sorted: false, descending_first: false, live: false };
        Self { head, text: Box::new(text), cell: None, key: None }
    }

    /// The column of the buttons of a row.
    pub fn actions(cell: impl Fn(&T) -> AnyView + Send + Sync + 'static) -> Self {
        Self::new("actions", "", |_| String::new()).class("row-actions").cell(cell)
    }

    /// The cell, if it is more than the text.
    pub fn cell(mut self, cell: impl Fn(&T) -> AnyView + Send + Sync + 'static) -> Self {
        self.cell = Some(Box::new(cell));
        self
    }

    /// Sorts by the text, without regard to case.
    pub fn by_text(mut self, key: impl Fn(&T) -> String + Send + Sync + 'static) -> Self {
        self.head.sorted = true;
        self.key = Some(Box::new(move |row| SortKey::Text(key(row).to_lowercase())));
        self
    }

    /// Sorts by a number, the largest first.
    pub fn by_number(mut self, key: impl Fn(&T) -> i64 + Send + Sync + 'static) -> Self {
        self.head.sorted = true;
        self.head.descending_first = true;
        self.key = Some(Box::new(move |row| SortKey::Number(key(row))));
        self
    }

    /// The cells update by themselves, so another text does not render a row again, with its menus and its focus.
    pub fn live(mut self) -> Self {
        self.head.live = true;
        self
    }

    /// Classes of the cells.
    pub fn class(mut self, class: &'static str) -> Self {
        self.head.class = class;
        self
    }
}

impl<T> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Column").field("head", &self.head).finish_non_exhaustive()
    }
}
