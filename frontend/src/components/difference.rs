//! A table of the differences between two versions.

use leptos::prelude::*;

use crate::model::difference::Difference;

#[component]
pub fn DifferenceTable(
    #[prop(into)] label: String,
    differences: Vec<Difference>,
    /// The headings of the two sides, if they are not an earlier and a later version.
    #[prop(optional, into)]
    sides: Option<(&'static str, &'static str)>,
) -> impl IntoView {
    let before_class = if sides.is_some() { "after" } else { "before" };
    let sides = sides.unwrap_or(("Before", "After"));
    let side = |text: Option<String>, class: &'static str| match text {
        Some(text) if !text.is_empty() => view! { <span class=class>{text}</span> }.into_any(),
        _ => view! { <span class="muted">"none"</span> }.into_any(),
    };
    let rows: Vec<_> = differences
        .into_iter()
        .map(|difference| {
            view! {
                <tr>
                    <th scope="row">{difference.label}</th>
                    <td>{side(difference.before, before_class)}</td>
                    <td>{side(difference.after, "after")}</td>
                </tr>
            }
        })
        .collect();
    if rows.is_empty() {
        return view! { <p class="note">"No differences"</p> }.into_any();
    }
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label=label>
            <table class="difference">
                <thead><tr><th scope="col">"Field"</th><th scope="col">{sides.0}</th><th scope="col">{sides.1}</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
