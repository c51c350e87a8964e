//! One entry of the log, with details rendered when it is opened.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::audit::AuditEntry;
use weir_wire::rules::RuleBody;

use crate::components::field::fresh_id;
use crate::components::time::{ExactTime, RelativeTime};
use crate::model::audit_entry::{actor_label, description};
use crate::model::changes::{FieldChange, changes};
use crate::model::labels;

#[component]
pub(super) fn Entry(entry: AuditEntry) -> impl IntoView {
    let open = RwSignal::new(false);
    let id = fresh_id();
    let (what, actor_label, at) =
        (labels::capital(&description(&entry)), actor_label(&entry.actor), entry.at);
    let ip = entry.ip.clone().unwrap_or_default();
    let controls = id.clone();
    view! {
        <tbody class="entry">
            <tr>
                <td>
                    <button
                        type="button"
                        class="disclose"
                        aria-expanded=move || open.get().to_string()
                        aria-controls=controls
                        on:click=move |_| open.update(|open| *open = !*open)
                    >{what}</button>
                </td>
                <td class="actor">{actor_label}</td>
                <td><code>{ip}</code></td>
                <td><RelativeTime at /></td>
            </tr>
            <tr id=id class="details" hidden=move || !open.get()>
                <td colspan="4">{move || open.get().then(|| details(&entry))}</td>
            </tr>
        </tbody>
    }
}

fn details(entry: &AuditEntry) -> AnyView {
    let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
    let changed = changes(before, after);
    let nothing = changed.is_empty() && (before.is_some() || after.is_some());
    view! {
        <div class="stack">
            {(entry.object_kind == "rule").then(|| in_words(before, after))}
            {(!changed.is_empty()).then(|| difference(changed, before.is_some(), after.is_some()))}
            {nothing.then(|| view! { <p class="muted">"No differences"</p> })}
            <dl class="facts">
                <dt>"Time"</dt><dd><ExactTime at=entry.at /></dd>
                <dt>"Action"</dt><dd><code>{entry.action.clone()}</code></dd>
                <dt>"Object"</dt><dd><code>{entry.object_id.clone()}</code></dd>
                <dt>"Request"</dt><dd><code>{entry.request_id.clone()}</code></dd>
            </dl>
        </div>
    }
    .into_any()
}

/// A rule as a sentence, before and after.
fn in_words(before: Option<&Value>, after: Option<&Value>) -> AnyView {
    let sentence = |title, rule: Option<&Value>| {
        let rule: RuleBody = serde_json::from_value(rule?.clone()).ok()?;
        Some(view! { <dt>{title}</dt><dd>{labels::sentence(&rule)}</dd> })
    };
    view! { <dl class="facts">{sentence("Before", before)}{sentence("After", after)}</dl> }
        .into_any()
}

/// The fields that differ, with the sides that exist.
fn difference(changed: Vec<FieldChange>, before: bool, after: bool) -> AnyView {
    let side = |there: bool, text: Option<String>| {
        let text = text.unwrap_or_else(|| "–".to_owned());
        there.then(|| view! { <td>{text}</td> })
    };
    let rows: Vec<_> = changed
        .into_iter()
        .map(|change| {
            view! { <tr><td><code>{change.field}</code></td>{side(before, change.before)}{side(after, change.after)}</tr> }
        })
        .collect();
    view! {
        <table class="changes" aria-label="Changes">
            <thead><tr>
                <th>"Field"</th>
                {before.then(|| view! { <th>"Before"</th> })}
                {after.then(|| view! { <th>"After"</th> })}
            </tr></thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}
