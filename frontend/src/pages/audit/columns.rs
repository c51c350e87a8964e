//! The columns of the audit log.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::audit::AuditEntry;

use super::names::Names;
use crate::components::data_table::Column;
use crate::components::icon::Icon;
use crate::model::audit_entry::{actor_label, named_rule};
use crate::pages::shell::TenantId;

pub(super) fn columns(names: Names, open: RwSignal<Option<AuditEntry>>) -> Vec<Column<AuditEntry>> {
    let actor = |entry: &AuditEntry| actor_label(&entry.actor);
    vec![
        Column::new("event", "Event", move |entry: &AuditEntry| names.sentence(entry))
            .cell(move |entry| event(entry, names, open))
            .class("text-cell"),
        Column::new("change", "Change", |entry: &AuditEntry| {
            entry.summary.clone().unwrap_or_default()
        })
        .cell(|entry| {
            let text = entry.summary.clone().unwrap_or_default();
            view! { <div class="two-lines" title=text.clone()>{text.clone()}</div> }.into_any()
        })
        .class("text-cell"),
        Column::text("actor", "Actor", actor)
            .cell(move |entry| {
                let actor = actor(entry);
                view! { <div class="one-line" title=actor.clone()>{actor.clone()}</div> }.into_any()
            })
            .class("actor"),
        Column::new("ip", "IP address", |entry: &AuditEntry| entry.ip.clone().unwrap_or_default())
            .cell(|entry| view! { <code>{entry.ip.clone().unwrap_or_default()}</code> }.into_any())
            .class("ip-cell"),
        Column::time("time", "Time", |entry: &AuditEntry| entry.at).class("nowrap"),
    ]
}

/// The sentence, which opens the details, and a link to the object.
fn event(entry: &AuditEntry, names: Names, open: RwSignal<Option<AuditEntry>>) -> AnyView {
    let tenant = expect_context::<TenantId>();
    let text = names.sentence(entry);
    let link = page(entry).map(|page| {
        let label = format!("Open the page of: {text}");
        view! { <A href=tenant.page_now(&page) attr:class="icon-link" attr:aria-label=label><Icon name="arrow-right" /></A> }
    });
    let entry = entry.clone();
    view! {
        <div class="event">
            <button type="button" class="link-button" aria-haspopup="dialog" on:click=move |_| open.set(Some(entry.clone()))>{text}</button>
            {link}
        </div>
    }
    .into_any()
}

/// The page of the object, if it exists still.
fn page(entry: &AuditEntry) -> Option<String> {
    if entry.action.ends_with(".delete") || entry.tenant_id.is_none() {
        return None;
    }
    match entry.object_kind.as_str() {
        "rule" => Some(format!("rules/{}", entry.object_id)),
        "override" => Some(format!("overrides?rule={}", named_rule(entry)?)),
        "key" => Some("keys".to_owned()),
        "alert" | "webhook" | "delivery" => Some("alerts".to_owned()),
        "member" | "invitation" => Some("members".to_owned()),
        "tenant" => Some("settings".to_owned()),
        "profile" => Some("proxies".to_owned()),
        "deferred" => Some("deferred".to_owned()),
        _ => None,
    }
}
