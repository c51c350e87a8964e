//! The rules or subjects that are denied most.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{Top, TopEntry};

use crate::model::number::{grouped, share};
use crate::model::subject;
use crate::pages::shell::TenantId;

/// The list, with how sure it is.
#[component]
pub(super) fn Busiest(title: &'static str, top: Signal<Top>) -> impl IntoView {
    let rows = move || {
        let entries = top.get().data;
        entries
            .into_iter()
            .filter(|it| it.denied > 0)
            .map(|entry| view! { <Line entry /> })
            .collect::<Vec<_>>()
    };
    let none = move || top.with(|top| top.data.iter().all(|it| it.denied == 0));
    let error = move || {
        let most = top.with(|top| top.error_at_most);
        (most > 0).then(|| {
            format!(
                "Counted in a bounded space: each number may be too high by at most {}.",
                grouped(most)
            )
        })
    };
    view! {
        <section aria-label=title class="stack">
            <h2>{title}</h2>
            <Show when=none><p class="quiet">"Nothing was denied in this time."</p></Show>
            <Show when=move || !none()>
                <div class="table-wrap" tabindex="0" role="region" aria-label=title>
                    <table>
                        <thead><tr>
                            <th scope="col">"Which"</th><th scope="col" class="number">"Denied"</th>
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
fn Line(entry: TopEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let TopEntry { rule_id, rule, subject, checks, denied, .. } = entry;
    let name = rule.unwrap_or_else(|| "a rule that is deleted".to_owned());
    let link = view! { <A href=move || tenant.page(&format!("rules/{rule_id}"))>{name}</A> };
    let which = match subject {
        Some(attributes) => {
            let who = subject::words(&attributes);
            view! {
                <div class="name two-lines" title=who.clone()><bdi>{who.clone()}</bdi></div>
                <div class="quiet">{link}</div>
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
