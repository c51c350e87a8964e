//! Columns that several tables have.

use leptos::prelude::*;
use weir_wire::time::DateTime;

use crate::components::data_table::Column;
use crate::components::table::time_or_never;
use crate::components::time::RelativeTime;
use crate::model::number::grouped;

impl<T: 'static> Column<T> {
    /// A text by which rows are sorted.
    pub fn text(
        name: &'static str,
        title: &'static str,
        text: impl Fn(&T) -> String + Copy + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, title, text).by_text(text)
    }

    /// A number by which rows are sorted.
    pub fn number(name: &'static str, title: &'static str, number: fn(&T) -> u64) -> Self {
        Self::new(name, title, move |row| number(row).to_string())
            .by_number(move |row| i64::try_from(number(row)).unwrap_or(i64::MAX))
            .cell(move |row| grouped(number(row)).into_any())
            .class("number")
    }

    /// The time of an event.
    pub fn time(name: &'static str, title: &'static str, at: fn(&T) -> DateTime) -> Self {
        Self::new(name, title, move |row| at(row).text())
            .by_number(move |row| at(row).0.as_millis())
            .cell(move |row| view! { <RelativeTime at=at(row) /> }.into_any())
    }

    /// The time of an event that possibly never happened.
    pub fn last_time(
        name: &'static str,
        title: &'static str,
        at: fn(&T) -> Option<DateTime>,
    ) -> Self {
        Self::new(name, title, move |row| at(row).map(DateTime::text).unwrap_or_default())
            .by_number(move |row| at(row).map_or(0, |at| at.0.as_millis()))
            .cell(move |row| time_or_never(at(row)))
    }
}
