//! The palette: Ctrl-K, a few letters, Enter.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::tenants::Role;

use super::{PAGES, TenantId};
use crate::access::Access;
use crate::api::{Api, Problem};
use crate::components::combobox::Combobox;
use crate::components::dialog::Dialog;
use crate::components::load::load;
use crate::model::palette::{Entry, found};

/// The button that opens it, and the palette itself.
#[component]
pub(super) fn Palette() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let access = expect_context::<Access>();
    let open = RwSignal::new(false);
    // Fetched anew each time it opens; what was there the last time is found meanwhile.
    let there = load(move || {
        let wanted = open.get();
        let (tenant, keys) = (tenant.get(), access.lacks(Role::Admin).is_none());
        async move { if wanted { rules_and_keys(api, &tenant, keys).await.map(Some) } else { Ok(None) } }
    });
    let kept = RwSignal::new(Vec::new());
    Effect::new(move |_| {
        if let Some(Some(entries)) = there.data() {
            kept.set(entries);
        }
    });
    Effect::new(move |_| {
        tenant.get();
        kept.set(Vec::new());
    });
    let listener = window_event_listener(leptos::ev::keydown, move |event| {
        if (event.ctrl_key() || event.meta_key()) && event.key().eq_ignore_ascii_case("k") {
            event.prevent_default();
            open.set(true);
        }
    });
    on_cleanup(move || listener.remove());
    view! {
        <button type="button" class="button search" aria-keyshortcuts="Control+K" on:click=move |_| open.set(true)>
            "Go to…"<kbd aria-hidden="true">"Ctrl K"</kbd>
        </button>
        <Dialog title="Go to" open><Search open kept /></Dialog>
    }
}

#[component]
fn Search(open: RwSignal<bool>, kept: RwSignal<Vec<Entry>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let navigate = use_navigate();
    let typed = RwSignal::new(String::new());
    let entries = Memo::new(move |_| {
        let mut entries = pages();
        kept.with(|kept| entries.extend_from_slice(kept));
        typed.with(|typed| found(typed, &entries))
    });
    let lines = Signal::derive(move || {
        let line = |entry: Entry| (entry.kind, entry.label, entry.detail);
        entries.get().into_iter().map(line).collect()
    });
    let choose = Callback::new(move |at: usize| {
        if let Some(entry) = entries.with_untracked(|entries| entries.get(at).cloned()) {
            open.set(false);
            navigate(&format!("/t/{}/{}", tenant.now(), entry.page), NavigateOptions::default());
        }
    });
    view! {
        <Combobox label="Page, rule, key, or attribute=value" typed lines choose />
    }
}

/// What is always there.
fn pages() -> Vec<Entry> {
    let entry = |kind, label: &str, page: &str| Entry {
        kind,
        label: label.to_owned(),
        detail: String::new(),
        page: page.to_owned(),
    };
    let pages = PAGES.iter().map(|(page, name)| entry("Page", name, page));
    pages.chain([entry("Do", "Create a rule", "rules/new")]).collect()
}

async fn rules_and_keys(api: Api, tenant: &str, keys: bool) -> Result<Vec<Entry>, Problem> {
    let rules = api.rules(tenant).await?;
    let keys = if keys { api.keys(tenant).await? } else { Vec::new() };
    let rules = rules.into_iter().map(|it| Entry {
        kind: "Rule",
        label: it.rule.name,
        detail: it.rule.namespace,
        page: format!("rules/{}", it.id),
    });
    let keys = keys.into_iter().map(|it| Entry {
        kind: "Key",
        label: it.name,
        detail: format!("weir_{}_…", it.hint),
        page: "keys".to_owned(),
    });
    Ok(rules.chain(keys).collect())
}
