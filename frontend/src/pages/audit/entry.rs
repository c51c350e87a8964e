//! The details of one entry of the log.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::audit::AuditEntry;
use weir_wire::changes::{FieldChange, changes};
use weir_wire::rules::RuleBody;

use super::names::Names;
use crate::components::dialog::Drawer;
use crate::components::time::ExactTime;
use crate::model::audit_entry::actor_label;
use crate::model::deleted_overrides::{DeletedOverrides, object_before};
use crate::model::number::quantity;
use crate::model::{json, labels, override_labels, subject};

/// The details of the open entry, over the log.
#[component]
pub(super) fn EntryDrawer(open: RwSignal<Option<AuditEntry>>, names: Names) -> impl IntoView {
    let shown = RwSignal::new(false);
    Effect::new(move |_| shown.set(open.with(Option::is_some)));
    Effect::new(move |_| {
        if !shown.get() && open.with_untracked(Option::is_some) {
            open.set(None);
        }
    });
    let title = move || open.with(|entry| entry.as_ref().map(|entry| names.sentence(entry)));
    view! {
        <Drawer title=Signal::derive(move || title().unwrap_or_default()) open=shown>
            {move || open.get().map(|entry| details(&entry))}
        </Drawer>
    }
}

fn details(entry: &AuditEntry) -> AnyView {
    let before = object_before(entry);
    let (before, after) = (before.as_ref(), entry.after.as_ref());
    let changed = changes(before, after);
    let nothing = changed.is_empty() && (before.is_some() || after.is_some());
    view! {
        <div class="stack">
            {(entry.object_kind == "rule").then(|| in_words(before, after))}
            {(!changed.is_empty()).then(|| difference(changed, before.is_some(), after.is_some()))}
            {nothing.then(|| view! { <p class="muted">"No differences"</p> })}
            {DeletedOverrides::of(entry).map(deleted)}
            <dl class="facts">
                <dt>"Time"</dt><dd><ExactTime at=entry.at /></dd>
                <dt>"Action"</dt><dd><code>{entry.action.clone()}</code></dd>
                <dt>"Actor"</dt><dd>{actor_label(&entry.actor)}</dd>
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
        let rule: RuleBody = json::read_value(rule?).ok()?;
        Some(view! { <dt>{title}</dt><dd>{labels::sentence(&rule)}</dd> })
    };
    view! { <dl class="facts">{sentence("Before", before)}{sentence("After", after)}</dl> }
        .into_any()
}

/// The overrides that were deleted with a rule.
fn deleted(overrides: DeletedOverrides) -> AnyView {
    let title = format!("{} deleted with the rule", overrides.text());
    let more = overrides.more();
    let rows: Vec<_> = overrides
        .first
        .into_iter()
        .map(|body| {
            let (subject, effect) = (subject::label(&body.subject), override_labels::effect(&body));
            view! { <tr><td><bdi>{subject}</bdi></td><td>{effect}</td></tr> }
        })
        .collect();
    let more = (more > 0).then(|| {
        let more = quantity(more, "more override", "more overrides");
        view! { <p class="note">"And "{more}" that the entry does not list"</p> }
    });
    view! {
        <h3>{title.clone()}</h3>
        <table class="changes" aria-label=title>
            <thead><tr><th>"Subject"</th><th>"Effect"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
        {more}
    }
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
