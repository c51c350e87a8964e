//! What the limits of a check say.

use leptos::prelude::*;
use weir_wire::check::LimitAnswer;

use crate::components::badge::{ModeBadge, PassBadge};
use crate::model::duration::about;
use crate::model::number::grouped;
use crate::model::words;

/// One row for each limit.
#[component]
pub fn LimitTable(limits: Vec<LimitAnswer>) -> impl IntoView {
    let rows: Vec<_> = limits.into_iter().map(|limit| view! { <LimitLine limit /> }).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Limits">
            <table>
                <thead><tr>
                    <th>"Rule"</th><th>"Algorithm"</th><th>"Answer"</th>
                    <th class="number">"Left"</th><th class="number">"Again in"</th><th class="number">"As new in"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

/// When the same check could pass, after "could".
pub fn again(retry_after_ms: Option<u64>) -> String {
    match retry_after_ms {
        Some(0) => "pass again now".to_owned(),
        Some(wait_ms) => format!("pass again in {}", about(wait_ms)),
        None => "never pass".to_owned(),
    }
}

/// How long until the same check could pass.
fn wait(retry_after_ms: Option<u64>) -> String {
    match retry_after_ms {
        Some(0) => "now".to_owned(),
        Some(wait_ms) => about(wait_ms),
        None => "never".to_owned(),
    }
}

#[component]
fn LimitLine(limit: LimitAnswer) -> impl IntoView {
    let shadow = (limit.mode != weir_wire::words::Mode::Enforce)
        .then(|| view! { " "<ModeBadge mode=limit.mode /> });
    let left = match limit.remaining {
        Some(remaining) => format!("{} of {}", grouped(remaining), grouped(limit.limit)),
        None => "unknown".to_owned(),
    };
    view! {
        <tr>
            <td><span class="name">{limit.rule}</span>{shadow}</td>
            <td>{words::algorithm(limit.algorithm)}</td>
            <td><PassBadge passes=limit.allowed yes="passes" no="denied" /></td>
            <td class="number">{left}</td>
            <td class="number">{wait(limit.retry_after_ms)}</td>
            <td class="number">{limit.reset_after_ms.map_or_else(|| "unknown".to_owned(), about)}</td>
        </tr>
    }
}
