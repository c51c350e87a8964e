//! What was and what is, side by side.

use leptos::prelude::*;

use crate::model::difference::Difference;

/// A row for each thing that differs.
#[component]
pub fn DifferenceTable(#[prop(into)] label: String, differences: Vec<Difference>) -> impl IntoView {
    let side = |said: Option<String>, class: &'static str| match said {
        Some(said) if !said.is_empty() => view! { <span class=class>{said}</span> }.into_any(),
        _ => view! { <span class="quiet">"none"</span> }.into_any(),
    };
    let rows: Vec<_> = differences
        .into_iter()
        .map(|it| {
            view! {
                <tr>
                    <th scope="row">{it.what}</th>
                    <td>{side(it.before, "was")}</td>
                    <td>{side(it.after, "is")}</td>
                </tr>
            }
        })
        .collect();
    if rows.is_empty() {
        return view! { <p class="note">"Nothing differs."</p> }.into_any();
    }
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label=label>
            <table class="difference">
                <thead><tr><th scope="col">"What"</th><th scope="col">"Before"</th><th scope="col">"After"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
