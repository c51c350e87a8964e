//! The latest denials, each to be opened for which limit refused it.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{DenialEntry, Denials};

use crate::components::time::When;
use crate::components::verdict::again;
use crate::model::number::grouped;
use crate::model::request_link::request_link;
use crate::model::subject;
use crate::pages::shell::TenantId;

/// The list.
#[component]
pub(super) fn Latest(denials: Signal<Denials>) -> impl IntoView {
    let rows = move || {
        let entries = denials.get().data;
        entries.into_iter().map(|denial| view! { <DenialLine denial /> }).collect::<Vec<_>>()
    };
    let none = move || denials.with(|denials| denials.data.is_empty());
    let sampled = move || {
        let sampled = denials.with(|it| it.data.iter().any(|it| it.stands_for > 1));
        let per_second = denials.with(|it| it.kept_per_second);
        sampled.then(|| format!("A sample: each gate keeps at most {per_second} a second."))
    };
    view! {
        <section aria-label="Latest denials" class="stack">
            <h2>"Latest denials"</h2>
            <Show when=none><p class="quiet">"None in the last day."</p></Show>
            <Show when=move || !none()>
                <div class="table-wrap" tabindex="0" role="region" aria-label="Latest denials">
                    <table>
                        <thead><tr>
                            <th scope="col">"When"</th><th scope="col">"Subject"</th><th scope="col">"Rule"</th>
                            <th scope="col" class="number">"Cost"</th><th scope="col">"The same check"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
            <p class="note">{sampled}</p>
        </section>
    }
}

/// One denial.
#[component]
pub fn DenialLine(denial: DenialEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
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
        view! { <div class="quiet">"× "{grouped(u64::from(stands_for))}</div> }
    });
    let who = subject::words(&subject);
    let whole = format!("{rule} in {namespace}");
    let link = request_link(Some(&namespace), &subject);
    view! {
        <tr>
            <td><When at /></td>
            <td class="says">
                <div class="two-lines" title=who.clone()><bdi>{who.clone()}</bdi></div>
                {many}
            </td>
            <td class="says">
                <div class="two-lines" title=whole>
                    <A href=move || tenant.page(&format!("rules/{rule_id}"))>{rule}</A>
                    <span class="quiet">" in "<bdi>{namespace}</bdi></span>
                </div>
                {shadow.then(|| view! { <span class="badge badge-shadow">"Shadow"</span> })}
                " "{degraded.then(|| view! { <span class="badge badge-shadow">"Without Redis"</span> })}
            </td>
            <td class="number">{grouped(cost)}</td>
            <td>
                {format!("could {}", again(retry_after_ms))}" "
                <A href=move || tenant.page(&link)>"Test it"</A>
            </td>
        </tr>
    }
}
