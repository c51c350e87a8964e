//! The revisions of a rule: the changes in each, and how to revert to it.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::audit::{AuditActor, Revision};
use weir_wire::page::Page;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::control_flow::{For, Show};
use crate::components::dialog::Dialog;
use crate::components::difference::DifferenceTable;
use crate::components::feedback::{Skeleton, SubmitProblem};
use crate::components::owner::note_of_rules;
use crate::components::remote_data::{RemoteData, fetch_data, show_shaped};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::time::RelativeTime;
use crate::model::difference::{Difference, differences};
use crate::model::{json, labels};
use crate::pages::published::Confirmation;
use crate::pages::shell::TenantId;

/// The revisions of `now`; `rule` is refetched after a revert.
#[component]
pub(super) fn Revisions(now: RuleAnswer, rule: RemoteData<RuleAnswer>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let id = now.id.clone();
    let revisions = fetch_data(move || {
        let (tenant, id) = (tenant.get(), id.clone());
        async move { api.revisions(&tenant, &id, None).await }
    });
    let now = StoredValue::new(now);
    view! {
        <section aria-labelledby="revisions-heading" class="stack">
            <h2 id="revisions-heading">"Revisions"</h2>
            {show_shaped(revisions, Skeleton::Card, move |page| view! { <Pages page now rule /> })}
        </section>
    }
}

/// The newest revisions and the pages loaded after them.
#[component]
fn Pages(
    page: Page<Revision>,
    now: StoredValue<RuleAnswer>,
    rule: RemoteData<RuleAnswer>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (shown, cursor) = (RwSignal::new(page.data), RwSignal::new(page.next_cursor));
    let action = SubmitAction::new();
    let older = move |_| {
        let (id, from) = (now.with_value(|now| now.id.clone()), cursor.get_untracked());
        let call = async move { api.revisions(&tenant.now(), &id, from.as_deref()).await };
        action.run(call, move |mut page| {
            shown.try_update(|shown| shown.append(&mut page.data));
            cursor.try_set(page.next_cursor);
        });
    };
    view! {
        <ol class="revisions" reversed>
            <For each=move || shown.get() key=|revision| revision.revision let:revision>
                <Item revision now=now.get_value() rule />
            </For>
        </ol>
        <SubmitProblem problem=action.problem />
        <Show when=move || cursor.with(Option::is_some)>
            <button type="button" class="button" disabled=action.busy on:click=older>"Load more"</button>
        </Show>
    }
}

#[component]
fn Item(revision: Revision, now: RuleAnswer, rule: RemoteData<RuleAnswer>) -> impl IntoView {
    let Revision { revision, at, actor, before, after } = revision;
    let (before, after) = (before.as_ref().and_then(body), body(&after));
    let what = match (&before, &after) {
        (Some(before), Some(after)) => differences(before, after),
        _ => Vec::new(),
    };
    let summary = match (&before, what.as_slice()) {
        (None, _) => "created".to_owned(),
        (_, []) => "no differences".to_owned(),
        (_, what) => {
            let mut names: Vec<_> =
                what.iter().map(|difference| difference.label.to_lowercase()).collect();
            names.dedup();
            names.join(", ")
        }
    };
    let is_now = revision == now.revision;
    let shown = match (before, &after) {
        (None, Some(after)) => {
            view! { <p class="sentence">{labels::sentence(after)}</p> }.into_any()
        }
        _ => view! { <DifferenceTable label=format!("Changes in revision {revision}") differences=what /> }.into_any(),
    };
    let revert = after.filter(|_| !is_now).map(|after| {
        let differences = differences(&now.rule, &after);
        view! { <Revert revision differences now=now.clone() rule /> }
    });
    view! {
        <li>
            <details>
                <summary>
                    <span class="name">"Revision "{revision}</span>" "
                    {is_now.then(|| view! { <span class="badge badge-enforce">"Current"</span>" " })}
                    <span>{summary}</span>
                    <span class="muted">{actor_name(actor)}", "<RelativeTime at /></span>
                </summary>
                {shown}
                {revert}
            </details>
        </li>
    }
}

/// Confirms the revert and lists all that it changes.
#[component]
fn Revert(
    revision: u64,
    differences: Vec<Difference>,
    now: RuleAnswer,
    rule: RemoteData<RuleAnswer>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let open = RwSignal::new(false);
    let action = SubmitAction::new();
    let (now, differences) = (StoredValue::new(now), StoredValue::new(differences));
    let confirmation = StoredValue::new(Confirmation::new());
    let revert = move |_| {
        let confirmation = confirmation.get_value();
        action.run(
            async move { api.revert_rule(&tenant.now(), &now.get_value(), revision).await },
            move |reverted| {
                open.set(false);
                let before = now.with_value(|now| now.revision);
                confirmation.published("Reverted", reverted, Some(before));
                rule.refetch();
            },
        );
    };
    view! {
        <RequireRole role=Role::Editor reason_shown=true>
            <button type="button" class="button" on:click=move |_| open.set(true)>
                "Revert to revision "{revision}
            </button>
        </RequireRole>
        <Dialog title=format!("Revert to revision {revision}?") open>
            <p>"This creates a new revision with these changes and applies it on all gates:"</p>
            <DifferenceTable label="Changes of the revert" differences=differences.get_value() />
            {now.with_value(|now| note_of_rules(std::slice::from_ref(now)))}
            <SubmitProblem problem=action.problem />
            <div class="actions">
                <button type="button" class="button primary" disabled=action.busy on:click=revert>"Revert"</button>
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
            </div>
        </Dialog>
    }
}

/// The rule of a revision; `None` if a former release wrote it in a format that is no longer supported.
fn body(value: &Value) -> Option<RuleBody> {
    json::read_value(value).ok()
}

fn actor_name(actor: AuditActor) -> String {
    actor.name.unwrap_or_else(|| "weir".to_owned())
}
