//! Saving a list as a CSV file.

use leptos::prelude::*;

use crate::api::Answer;
use crate::browser;
use crate::components::feedback::SubmitProblem;
use crate::components::submit::SubmitAction;
use crate::model::csv;

/// The most rows of a file.
pub const EXPORT_ROWS_MAX: usize = 10_000;

/// A button that fetches the rows and saves them.
#[component]
pub fn ExportCsv(
    /// The name of the file without its extension.
    name: String,
    titles: &'static [&'static str],
    rows: Callback<(), Answer<Vec<Vec<String>>>>,
    /// The rows of the file, for people.
    note: &'static str,
) -> impl IntoView {
    let action = SubmitAction::new();
    let name = StoredValue::new(name);
    let export = move |_| {
        action
            .run(rows.run(()), move |rows| name.with_value(|name| save_rows(name, titles, &rows)));
    };
    view! {
        <button type="button" class="button small" title=note disabled=action.busy on:click=export>"Export CSV"</button>
        <SubmitProblem problem=action.problem />
    }
}

/// Saves rows below their titles.
pub fn save_rows(name: &str, titles: &[&str], rows: &[Vec<String>]) {
    let mut text = String::new();
    csv::write(titles.iter().copied(), &mut text);
    for row in rows.iter().take(EXPORT_ROWS_MAX) {
        csv::write(row.iter().map(String::as_str), &mut text);
    }
    browser::save_file(&format!("{name}.csv"), "text/csv", &text);
}
