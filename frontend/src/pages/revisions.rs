//! The revisions of an object: the changes in each, and how to revert to it.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::audit::Revision;
use weir_wire::page::Page;
use weir_wire::tenants::Role;

use crate::api::Answer;
use crate::components::control_flow::For;
use crate::components::dialog::Dialog;
use crate::components::difference::DifferenceTable;
use crate::components::feedback::{Skeleton, SubmitProblem};
use crate::components::paged::Paged;
use crate::components::remote_data::{fetch_data, show_shaped};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::time::RelativeTime;
use crate::model::difference::Difference;

/// The revisions of an object of one kind; cheap to copy.
#[derive(Clone, Copy)]
pub struct RevisionSource {
    /// Fetches the newest revisions, or those after a cursor.
    pub fetch: Callback<Option<String>, Answer<Page<Revision>>>,
    pub words: RevisionWords,
    /// The note about the object's owner in the dialog of a revert.
    pub note: Callback<(), Option<AnyView>>,
    pub revert: Callback<Revert>,
}

/// The texts of the bodies of one kind of objects.
#[derive(Clone, Copy)]
pub struct RevisionWords {
    /// The differences between two bodies. `None` if one is of a former release, in a format that is no longer supported.
    pub differences: fn(&Value, &Value) -> Option<Vec<Difference>>,
    /// The name of a difference in a list of them.
    pub name: fn(&Difference) -> String,
    /// The first body in words.
    pub created: fn(&Value) -> Option<String>,
}

/// A revert that was confirmed.
#[derive(Clone, Copy)]
pub struct Revert {
    pub revision: u64,
    pub action: SubmitAction,
    /// Whether the dialog is open.
    pub open: RwSignal<bool>,
}

/// The list, of which the newest one is current.
#[component]
pub fn Revisions(source: RevisionSource) -> impl IntoView {
    let revisions = fetch_data(move || source.fetch.run(None));
    show_shaped(revisions, Skeleton::Card, move |page| view! { <Pages page source /> })
}

/// The newest revisions and the pages loaded after them.
#[component]
fn Pages(page: Page<Revision>, source: RevisionSource) -> impl IntoView {
    let current = page.data.first().map(|newest| (newest.revision, newest.after.clone()));
    let current = StoredValue::new(current.unwrap_or_default());
    let paged = Paged::new(Signal::stored(page), move |cursor| source.fetch.run(cursor));
    view! {
        <ol class="revisions" reversed>
            <For each=move || paged.rows.get() key=|revision| revision.revision let:revision>
                <Item revision current source />
            </For>
        </ol>
        {paged.more.button("Load more")}
    }
}

#[component]
fn Item(
    revision: Revision,
    current: StoredValue<(u64, Value)>,
    source: RevisionSource,
) -> impl IntoView {
    let Revision { revision, at, actor, before, after } = revision;
    let RevisionWords { differences, name, created } = source.words;
    let what = before.as_ref().map(|before| differences(before, &after).unwrap_or_default());
    let summary = match what.as_deref() {
        None => "created".to_owned(),
        Some([]) => "no differences".to_owned(),
        Some(what) => {
            let mut texts: Vec<_> = what.iter().map(|one| in_short(one, name(one))).collect();
            texts.dedup();
            texts.join(", ")
        }
    };
    let is_now = current.with_value(|(current, _)| *current == revision);
    let actor = actor.name.unwrap_or_else(|| "weir".to_owned());
    let shown = match what {
        None => {
            created(&after).map(|text| view! { <p class="sentence">{text}</p> }.into_any())
        }
        Some(differences) => Some(
            view! { <DifferenceTable label=format!("Changes in revision {revision}") differences /> }
                .into_any(),
        ),
    };
    let reverted =
        if is_now { None } else { current.with_value(|(_, current)| differences(current, &after)) };
    let revert = reverted.map(|differences| view! { <RevertButton revision differences source /> });
    view! {
        <li>
            <details>
                <summary>
                    <span class="name">"Revision "{revision}</span>" "
                    {is_now.then(|| view! { <span class="badge badge-enforce">"Current"</span>" " })}
                    <span>{summary}</span>
                    <span class="muted">{actor}", "<RelativeTime at /></span>
                </summary>
                {shown}
                {revert}
            </details>
        </li>
    }
}

/// A difference in one line: with both values if they are short.
fn in_short(difference: &Difference, name: String) -> String {
    let sides = difference.before.as_deref().zip(difference.after.as_deref());
    match sides.filter(|(before, after)| before.len() + after.len() <= SHORT_BYTES) {
        Some((before, after)) => format!("{name}: {before} → {after}"),
        None => name,
    }
}

/// The longest two values that a line has, in bytes.
const SHORT_BYTES: usize = 100;

/// Confirms the revert and lists all that it changes.
#[component]
fn RevertButton(
    revision: u64,
    differences: Vec<Difference>,
    source: RevisionSource,
) -> impl IntoView {
    let (open, action) = (RwSignal::new(false), SubmitAction::new());
    let differences = StoredValue::new(differences);
    let revert = move |_| source.revert.run(Revert { revision, action, open });
    view! {
        <RequireRole role=Role::Editor reason_shown=true>
            <button type="button" class="button" on:click=move |_| open.set(true)>
                "Revert to revision "{revision}
            </button>
        </RequireRole>
        <Dialog title=format!("Revert to revision {revision}?") open>
            <p>"This creates a new revision with these changes and applies it on all gates:"</p>
            <DifferenceTable label="Changes of the revert" differences=differences.get_value() />
            {source.note.run(())}
            <SubmitProblem problem=action.problem />
            <div class="actions">
                <button type="button" class="button primary" disabled=action.busy on:click=revert>"Revert"</button>
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
            </div>
        </Dialog>
    }
}
