//! What a rule was before: each revision with what it changed, and the way back to it.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::audit::{AuditActor, RuleRevision};
use weir_wire::page::Page;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::act::Act;
use crate::components::dialog::Dialog;
use crate::components::difference::DifferenceTable;
use crate::components::feedback::ActProblem;
use crate::components::load::{Load, load, loaded};
use crate::components::needs::Needs;
use crate::components::time::When;
use crate::model::difference::{Difference, differences};
use crate::model::words;
use crate::pages::shell::TenantId;

/// The revisions of `now`; `rule` is fetched anew after a revert.
#[component]
pub(super) fn Revisions(now: RuleAnswer, rule: Load<RuleAnswer>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let id = now.id.clone();
    let revisions = load(move || {
        let (tenant, id) = (tenant.get(), id.clone());
        async move { api.revisions(&tenant, &id, None).await }
    });
    let now = StoredValue::new(now);
    view! {
        <section aria-labelledby="revisions-heading" class="stack">
            <h2 id="revisions-heading">"Revisions"</h2>
            {loaded(revisions, move |page| view! { <Pages page now rule /> })}
        </section>
    }
}

/// The newest, and those that were asked for after them.
#[component]
fn Pages(
    page: Page<RuleRevision>,
    now: StoredValue<RuleAnswer>,
    rule: Load<RuleAnswer>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (shown, cursor) = (RwSignal::new(page.data), RwSignal::new(page.next_cursor));
    let act = Act::new();
    let older = move |_| {
        let (id, from) = (now.with_value(|now| now.id.clone()), cursor.get_untracked());
        let asked = async move { api.revisions(&tenant.now(), &id, from.as_deref()).await };
        act.run(asked, move |mut page| {
            shown.try_update(|shown| shown.append(&mut page.data));
            cursor.try_set(page.next_cursor);
        });
    };
    view! {
        <ol class="revisions" reversed>
            <For each=move || shown.get() key=|it| it.revision let:it>
                <Revision it now=now.get_value() rule />
            </For>
        </ol>
        <ActProblem problem=act.problem />
        <Show when=move || cursor.with(Option::is_some)>
            <button type="button" class="button" disabled=act.busy on:click=older>"Show older revisions"</button>
        </Show>
    }
}

#[component]
fn Revision(it: RuleRevision, now: RuleAnswer, rule: Load<RuleAnswer>) -> impl IntoView {
    let RuleRevision { revision, at, actor, before, after } = it;
    let (before, after) = (before.and_then(body), body(after));
    let what = match (&before, &after) {
        (Some(before), Some(after)) => differences(before, after),
        _ => Vec::new(),
    };
    let summary = match (&before, what.as_slice()) {
        (None, _) => "made".to_owned(),
        (_, []) => "nothing differs".to_owned(),
        (_, what) => {
            let mut names: Vec<_> = what.iter().map(|it| it.what.to_lowercase()).collect();
            names.dedup();
            names.join(", ")
        }
    };
    let is_now = revision == now.revision;
    let shown = match (before, &after) {
        (None, Some(after)) => {
            view! { <p class="sentence">{words::sentence(after)}</p> }.into_any()
        }
        _ => view! { <DifferenceTable label=format!("What revision {revision} changed") differences=what /> }.into_any(),
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
                    {is_now.then(|| view! { <span class="badge badge-enforce">"Now"</span>" " })}
                    <span>{summary}</span>
                    <span class="quiet">{who(actor)}", "<When at /></span>
                </summary>
                {shown}
                {revert}
            </details>
        </li>
    }
}

/// Asks first, with all that will change.
#[component]
fn Revert(
    revision: u64,
    differences: Vec<Difference>,
    now: RuleAnswer,
    rule: Load<RuleAnswer>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let open = RwSignal::new(false);
    let act = Act::new();
    let (now, differences) = (StoredValue::new(now), StoredValue::new(differences));
    let revert = move |_| {
        act.run(
            async move { api.revert_rule(&tenant.now(), &now.get_value(), revision).await },
            move |_| {
                open.set(false);
                rule.again();
            },
        );
    };
    view! {
        <Needs role=Role::Editor told=true>
            <button type="button" class="button" on:click=move |_| open.set(true)>
                "Revert to revision "{revision}
            </button>
        </Needs>
        <Dialog title=format!("Revert to revision {revision}?") open>
            <p>"What holds now changes like this, on all gates at once, as a new revision:"</p>
            <DifferenceTable label="What the revert changes" differences=differences.get_value() />
            <ActProblem problem=act.problem />
            <div class="actions">
                <button type="button" class="button primary" disabled=act.busy on:click=revert>"Revert"</button>
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
            </div>
        </Dialog>
    }
}

/// A rule as it is kept; one that a former release wrote in a way no longer read is left out.
fn body(value: Value) -> Option<RuleBody> {
    serde_json::from_value(value).ok()
}

fn who(actor: AuditActor) -> String {
    actor.name.unwrap_or_else(|| "weir".to_owned())
}
