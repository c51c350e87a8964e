//! The most recent denials, with the limit that denied each.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{DenialEntry, Denials};

use crate::components::time::RelativeTime;
use crate::components::verdict::retry_text;
use crate::model::number::grouped;
use crate::model::request_link::denial_link;
use crate::model::subject;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn LatestDenials(denials: Signal<Denials>) -> impl IntoView {
    let rows = move || {
        let entries = denials.get().data;
        entries.into_iter().map(|denial| view! { <DenialRow denial /> }).collect::<Vec<_>>()
    };
    let none = move || denials.with(|denials| denials.data.is_empty());
    let sampled = move || {
        let sampled =
            denials.with(|denials| denials.data.iter().any(|denials| denials.stands_for > 1));
        let per_second = denials.with(|denials| denials.entries_per_second);
        sampled.then(|| format!("Sampled: up to {per_second} denials per second and gate."))
    };
    view! {
        <section aria-label="Latest denials" class="stack">
            <h2>"Latest denials"</h2>
            <Show when=none><p class="muted">"No denials in the last 24 hours"</p></Show>
            <Show when=move || !none()>
                <div class="table-wrap" tabindex="0" role="region" aria-label="Latest denials">
                    <table class="denials">
                        <thead><tr>
                            <th scope="col">"Time"</th><th scope="col">"Subject"</th><th scope="col">"Rule"</th>
                            <th scope="col" class="number">"Cost"</th><th scope="col">"Retry"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
            <p class="note">{sampled}</p>
        </section>
    }
}

#[component]
pub fn DenialRow(denial: DenialEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let link = denial_link(&denial);
    let DenialEntry {
        at,
        namespace,
        rule_id,
        rule,
        shadow,
        subject,
        cost,
        retry_after_ms,
        degraded,
        stands_for,
        ..
    } = denial;
    let many = (stands_for > 1).then(|| {
        view! { <div class="muted">"× "{grouped(u64::from(stands_for))}</div> }
    });
    let subject_label = subject::label(&subject);
    let whole = format!("{rule} in {namespace}");
    view! {
        <tr>
            <td><RelativeTime at /></td>
            <td class="text-cell">
                <div class="two-lines" title=subject_label.clone()><bdi>{subject_label.clone()}</bdi></div>
                {many}
            </td>
            <td class="text-cell">
                <div class="two-lines" title=whole>
                    <A href=move || tenant.page(&format!("rules/{rule_id}"))>{rule}</A>
                    <span class="muted">" in "<bdi>{namespace}</bdi></span>
                </div>
                {shadow.then(|| view! { <span class="badge badge-shadow">"Shadow"</span> })}
                " "{degraded.then(|| view! { <span class="badge badge-shadow">"Redis unavailable"</span> })}
            </td>
            <td class="number">{grouped(cost)}</td>
            <td>
                {retry_text(retry_after_ms)}" "
                <A href=move || tenant.page(&link)>"Reproduce"</A>
            </td>
        </tr>
    }
}
