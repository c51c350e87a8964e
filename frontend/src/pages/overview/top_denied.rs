//! The most denied rules or subjects.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{Top, TopBy, TopEntry};
use weir_wire::time::DateTime;

use crate::browser;
use crate::model::number::{grouped, share};
use crate::model::subject;
use crate::pages::shell::TenantId;

/// The list, with its error bound.
#[component]
pub(super) fn TopDenied(title: &'static str, top: Signal<Top>) -> impl IntoView {
    let shadows =
        Memo::new(move |_| top.with(|top| top.data.iter().any(|entry| entry.shadow_denied > 0)));
    let rows = move || {
        let entries = top.get().data;
        entries
            .into_iter()
            .filter(|entry| entry.denied > 0)
            .map(|entry| view! { <TopRow entry shadows /> })
            .collect::<Vec<_>>()
    };
    let none = move || top.with(|top| top.data.iter().all(|entry| entry.denied == 0));
    let error = move || {
        let error_bound = top.with(|top| top.error_at_most);
        (error_bound > 0).then(|| {
            format!("Approximate: each count can be too high by up to {}.", grouped(error_bound))
        })
    };
    let covered = move || {
        top.with(|top| {
            let local = |at: DateTime| browser::local_time(at.0.as_millis());
            (top.by == TopBy::Subject).then(|| {
                format!(
                    "Counted from {} to {}, in steps of 10 minutes.",
                    local(top.from),
                    local(top.to)
                )
            })
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
                            <Show when=move || shadows.get()><th scope="col" class="number">"Would deny"</th></Show>
                            <th scope="col" class="number">"Share"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
            <p class="note">{error}</p>
            <p class="note">{covered}</p>
        </section>
    }
}

#[component]
fn TopRow(entry: TopEntry, shadows: Memo<bool>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let TopEntry { rule_id, rule, subject, checks, denied, shadow_denied, .. } = entry;
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
            <td class="number">{grouped(denied - shadow_denied.min(denied))}</td>
            <Show when=move || shadows.get()><td class="number">{grouped(shadow_denied)}</td></Show>
            <td class="number">{share(denied, checks)}</td>
        </tr>
    }
}
