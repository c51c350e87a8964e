//! What was and what is, side by side.

use leptos::prelude::*;

use crate::model::difference::Difference;

/// A row for each thing that differs.
#[component]
pub fn DifferenceTable(
    #[prop(into)] label: String,
    differences: Vec<Difference>,
    /// What the two are called, where neither came before the other.
    #[prop(optional, into)]
    sides: Option<(&'static str, &'static str)>,
) -> impl IntoView {
    let was = if sides.is_some() { "is" } else { "was" };
    let sides = sides.unwrap_or(("Before", "After"));
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
                    <td>{side(it.before, was)}</td>
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
                <thead><tr><th scope="col">"What"</th><th scope="col">{sides.0}</th><th scope="col">{sides.1}</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
