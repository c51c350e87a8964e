//! The input of an import: a file or a pasted text, and the lines that cannot be imported.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::browser;
use crate::components::field::TextArea;
use crate::model::number::quantity;

/// The maximum number of problems listed.
const WRONG_SHOWN: usize = 20;

#[component]
pub fn CsvInput(
    text: RwSignal<String>,
    /// The number of rows that are ready, or the columns of a file.
    #[prop(into)]
    status: Signal<String>,
    /// The problems, each with its line.
    #[prop(into)]
    wrong: Signal<Vec<String>>,
) -> impl IntoView {
    let chosen = move |event: leptos::ev::Event| {
        spawn_local(async move {
            if let Some(content) = browser::read_chosen_file(&event).await {
                text.try_set(content);
            }
        });
    };
    let wrong = move || {
        let mut lines = wrong.get();
        let more = lines.len().saturating_sub(WRONG_SHOWN);
        lines.truncate(WRONG_SHOWN);
        if more > 0 {
            lines.push(format!("and {}", quantity(more, "more line", "more lines")));
        }
        (!lines.is_empty()).then(|| {
            let lines: Vec<_> = lines.into_iter().map(|line| view! { <li>{line}</li> }).collect();
            view! { <div class="problem" role="alert"><p class="problem-title">"Fix these lines before importing"</p><ul>{lines}</ul></div> }
        })
    };
    view! {
        <label class="field"><span>"File"</span><input type="file" accept=".csv,text/csv" on:change=chosen /></label>
        <TextArea label="Or paste CSV" value=text rows=6 code=true />
        <p class="note" role="status">{status}</p>
        {wrong}
    }
}
