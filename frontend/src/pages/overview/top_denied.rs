//! The most denied rules or subjects.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{Top, TopEntry};

use crate::model::number::{grouped, share};
use crate::model::subject;
use crate::pages::shell::TenantId;

/// The list, with its error bound.
#[component]
pub(super) fn TopDenied(title: &'static str, top: Signal<Top>) -> impl IntoView {
    let rows = move || {
        let entries = top.get().data;
        entries
            .into_iter()
            .filter(|entry| entry.denied > 0)
            .map(|entry| view! { <TopRow entry /> })
            .collect::<Vec<_>>()
    };
    let none = move || top.with(|top| top.data.iter().all(|entry| entry.denied == 0));
    let error = move || {
        let error_bound = top.with(|top| top.error_at_most);
        (error_bound > 0).then(|| {
            format!("Approximate: each count can be too high by up to {}.", grouped(error_bound))
        })
    };
    view! {
        <section aria-label=title class="stack">
            <h2>{title}</h2>
            <Show when=none><p class="muted">"No denials in this period"</p></Show>
            <Show when=move || !none()>
                <div class="table-wrap" tabindex="0" role="region" aria-label=title>
                    <table>
                        <thead><tr>
                            <th scope="col">"Name"</th><th scope="col" class="number">"Denied"</th>
                            <th scope="col" class="number">"Share"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
            <p class="note">{error}</p>
        </section>
    }
}

#[component]
fn TopRow(entry: TopEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let TopEntry { rule_id, rule, subject, checks, denied, .. } = entry;
    let name = rule.unwrap_or_else(|| "Deleted rule".to_owned());
    let link = view! { <A href=move || tenant.page(&format!("rules/{rule_id}"))>{name}</A> };
    let which = match subject {
        Some(attributes) => {
            let subject_label = subject::label(&attributes);
            view! {
                <div class="name two-lines" title=subject_label.clone()><bdi>{subject_label.clone()}</bdi></div>
                <div class="muted">{link}</div>
            }
            .into_any()
        }
        None => view! { <span class="name">{link}</span> }.into_any(),
    };
    view! {
        <tr>
            <td>{which}</td>
            <td class="number">{grouped(denied)}</td>
            <td class="number">{share(denied, checks)}</td>
        </tr>
    }
}
