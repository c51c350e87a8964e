//! The result of a check, limit by limit.

use leptos::prelude::*;
use weir_wire::check::LimitAnswer;

use crate::components::badge::{ModeBadge, PassBadge};
use crate::model::duration::about;
use crate::model::number::grouped;

#[component]
pub fn LimitTable(limits: Vec<LimitAnswer>) -> impl IntoView {
    let rows: Vec<_> = limits.into_iter().map(|limit| view! { <LimitTableRow limit /> }).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Limits">
            <table>
                <thead><tr>
                    <th>"Rule"</th><th>"Algorithm"</th><th>"Result"</th>
                    <th class="number">"Remaining"</th><th class="number">"Retry in"</th><th class="number">"Resets in"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

/// When the same check can pass, as a sentence.
pub fn retry_text(retry_after_ms: Option<u64>) -> String {
    match retry_after_ms {
        Some(0) => "Can retry now".to_owned(),
        Some(wait_ms) => format!("Retry in {}", about(wait_ms)),
        None => "Never allowed".to_owned(),
    }
}

/// The time until the same check can pass.
fn wait(retry_after_ms: Option<u64>) -> String {
    match retry_after_ms {
        Some(0) => "now".to_owned(),
        Some(wait_ms) => about(wait_ms),
        None => "never".to_owned(),
    }
}

#[component]
fn LimitTableRow(limit: LimitAnswer) -> impl IntoView {
    let shadow = (limit.mode != weir_wire::words::Mode::Enforce)
        .then(|| view! { " "<ModeBadge mode=limit.mode /> });
    let remaining = match limit.remaining {
        Some(remaining) => format!("{} of {}", grouped(remaining), grouped(limit.limit)),
        None => "unknown".to_owned(),
    };
    view! {
        <tr>
            <td><span class="name">{limit.rule}</span>{shadow}</td>
            <td>{limit.algorithm.kind().title()}</td>
            <td><PassBadge passes=limit.allowed yes="allowed" no="denied" /></td>
            <td class="number">{remaining}</td>
            <td class="number">{wait(limit.retry_after_ms)}</td>
            <td class="number">{limit.reset_after_ms.map_or_else(|| "unknown".to_owned(), about)}</td>
        </tr>
    }
}
