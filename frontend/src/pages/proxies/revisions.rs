//! The revisions of a profile: the changes in each, and how to revert to it.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::audit::Revision;
use weir_wire::page::Page;
use weir_wire::profiles::ProfileAnswer;
use weir_wire::tenants::Role;

use super::state::ProxiesState;
use crate::api::Api;
use crate::components::control_flow::{For, Show};
use crate::components::dialog::Dialog;
use crate::components::difference::DifferenceTable;
use crate::components::feedback::{Skeleton, SubmitProblem};
use crate::components::owner::note;
use crate::components::remote_data::{fetch_data, show_shaped};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::time::RelativeTime;
use crate::components::toast::Toasts;
use crate::model::changes::changes;
use crate::model::difference::Difference;
use crate::pages::shell::TenantId;

/// The revisions of `now`.
#[component]
pub(super) fn ProfileRevisions(now: ProfileAnswer, state: ProxiesState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let id = now.id.clone();
    let revisions = fetch_data(move || {
        let (tenant, id) = (tenant.get(), id.clone());
        async move { api.profile_revisions(&tenant, &id, None).await }
    });
    let now = StoredValue::new(now);
    show_shaped(revisions, Skeleton::Card, move |page| view! { <Pages page now state /> })
}

/// The newest revisions and the pages loaded after them.
#[component]
fn Pages(
    page: Page<Revision>,
    now: StoredValue<ProfileAnswer>,
    state: ProxiesState,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let present = page.data.first().map(|newest| newest.after.clone()).unwrap_or_default();
    let present = StoredValue::new(present);
    let (shown, cursor) = (RwSignal::new(page.data), RwSignal::new(page.next_cursor));
    let action = SubmitAction::new();
    let older = move |_| {
        let (id, from) = (now.with_value(|now| now.id.clone()), cursor.get_untracked());
        let call = async move { api.profile_revisions(&tenant.now(), &id, from.as_deref()).await };
        action.run(call, move |mut page| {
            shown.try_update(|shown| shown.append(&mut page.data));
            cursor.try_set(page.next_cursor);
        });
    };
    view! {
        <ol class="revisions" reversed>
            <For each=move || shown.get() key=|revision| revision.revision let:revision>
                <Item revision present=present.get_value() now state />
            </For>
        </ol>
        <SubmitProblem problem=action.problem />
        <Show when=move || cursor.with(Option::is_some)>
            <button type="button" class="button" disabled=action.busy on:click=older>"Load more"</button>
        </Show>
    }
}

#[component]
fn Item(
    revision: Revision,
    present: Value,
    now: StoredValue<ProfileAnswer>,
    state: ProxiesState,
) -> impl IntoView {
    let Revision { revision, at, actor, before, after } = revision;
    let what = before.as_ref().map(|before| differences(before, &after));
    let summary = match what.as_deref() {
        None => "created".to_owned(),
        Some([]) => "no differences".to_owned(),
        Some(what) => {
            let names: Vec<_> = what.iter().map(|difference| difference.label.as_str()).collect();
            names.join(", ")
        }
    };
    let is_now = now.with_value(|now| now.revision) == revision;
    let actor = actor.name.unwrap_or_else(|| "weir".to_owned());
    let shown = what.map(|differences| {
        view! { <DifferenceTable label=format!("Changes in revision {revision}") differences /> }
    });
    let revert = (!is_now).then(|| {
        view! { <Revert revision differences=differences(&present, &after) now state /> }
    });
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

/// Confirms the revert and lists all that it changes.
#[component]
fn Revert(
    revision: u64,
    differences: Vec<Difference>,
    now: StoredValue<ProfileAnswer>,
    state: ProxiesState,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, action) = (RwSignal::new(false), SubmitAction::new());
    let toasts = expect_context::<Toasts>();
    let differences = StoredValue::new(differences);
    let revert = move |_| {
        let call =
            async move { api.revert_profile(&tenant.now(), &now.get_value(), revision).await };
        action.run(call, move |reverted: ProfileAnswer| {
            toasts.show(format!("{} reverted to revision {revision}", reverted.profile.name));
            open.try_set(false);
            state.history_open.try_set(false);
            state.changed.run(());
        });
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
            {now.with_value(|now| note("profile", "profiles", std::slice::from_ref(&now.managed_by)))}
            <SubmitProblem problem=action.problem />
            <div class="actions">
                <button type="button" class="button primary" disabled=action.busy on:click=revert>"Revert"</button>
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
            </div>
        </Dialog>
    }
}

/// The fields that differ.
fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let changes = changes(Some(before), Some(after)).into_iter();
    let difference = changes.map(|change| Difference {
        label: change.field,
        before: change.before,
        after: change.after,
    });
    difference.collect()
}
