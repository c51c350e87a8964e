//! The command palette, opened with Ctrl-K.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;

use super::tenant::{GROUPS, TenantId};
use crate::access::Access;
use crate::api::{Api, OverrideSearch, Problem};
use crate::browser;
use crate::components::combobox::Combobox;
use crate::components::dialog::Dialog;
use crate::components::icon::Icon;
use crate::components::remote_data::fetch_data;
use crate::model::palette::{Entry, search, server_query};
use crate::model::{override_labels, subject};

/// The button that opens the palette, and the palette.
#[component]
pub(super) fn Palette(open: RwSignal<bool>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let access = expect_context::<Access>();
    // Refetched each time the palette opens; the previous entries are searchable meanwhile.
    let loaded_entries = fetch_data(move || {
        let is_open = open.get();
        let (tenant, keys) = (tenant.get(), access.missing_role(Role::Admin).is_none());
        async move {
            if is_open { rules_and_keys(api, &tenant, keys).await.map(Some) } else { Ok(None) }
        }
        .boxed_local()
    });
    let cache = RwSignal::new(PaletteCache::default());
    Effect::new(move |_| {
        if let Some(Some(entries)) = loaded_entries.data() {
            cache.set(entries);
        }
    });
    Effect::new(move |_| {
        tenant.get();
        cache.set(PaletteCache::default());
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
            <Icon name="search" /><span>"Search or jump to…"</span><kbd aria-hidden="true">"Ctrl K"</kbd>
        </button>
        <Dialog title="Search" open><Search open cache /></Dialog>
    }
}

/// The entries that need no server search.
#[derive(Debug, Clone, Default)]
struct PaletteCache {
    entries: Vec<Entry>,
    /// Whether there are more rules than these.
    more_rules: bool,
}

#[component]
fn Search(open: RwSignal<bool>, cache: RwSignal<PaletteCache>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let navigate = use_navigate();
    let typed = RwSignal::new(String::new());
    let text = Memo::new(move |_| typed.with(|typed| server_query(typed)));
    let more_rules = Memo::new(move |_| cache.with(|cache| cache.more_rules));
    let by_server = fetch_data(move || {
        let (tenant, query, rules) = (tenant.get(), text.get(), more_rules.get());
        async move {
            let Some(query) = query else { return Ok(ServerResults::default()) };
            browser::wait_ms(PAUSE_MS).await;
            if text.try_get_untracked().flatten().as_ref() != Some(&query) {
                return Ok(ServerResults::default());
            }
            search_server(api, &tenant, &query, rules).await
        }
        .boxed_local()
    });
    let entries = Memo::new(move |_| {
        let mut entries = pages();
        cache.with(|cache| entries.extend_from_slice(&cache.entries));
        let ServerResults { rules, overrides } = by_server.data().unwrap_or_default();
        for rule in rules {
            if !entries.contains(&rule) {
                entries.push(rule);
            }
        }
        let mut found = typed.with(|typed| search(typed, &entries));
        let query = text.get().unwrap_or_default().to_lowercase();
        found.extend(
            overrides.into_iter().filter(|entry| entry.label.to_lowercase().contains(&query)),
        );
        found
    });
    let options = Signal::derive(move || {
        let option = |entry: Entry| (entry.kind, entry.label, entry.detail);
        entries.get().into_iter().map(option).collect()
    });
    let choose = Callback::new(move |at: usize| {
        if let Some(entry) = entries.with_untracked(|entries| entries.get(at).cloned()) {
            open.set(false);
            navigate(&format!("/t/{}/{}", tenant.now(), entry.page), NavigateOptions::default());
        }
    });
    view! {
        <Combobox label="Search pages, rules, keys, or subjects (user=u-17)" typed options choose />
    }
}

/// The pages and actions.
fn pages() -> Vec<Entry> {
    let entry = |kind, label: &str, words: &str, page: &str| Entry {
        kind,
        label: label.to_owned(),
        detail: words.to_owned(),
        page: page.to_owned(),
    };
    let pages = GROUPS.iter().flat_map(|(_, pages)| pages.iter());
    let pages = pages.map(|page| entry("Page", page.name, "", page.path));
    let actions = ACTIONS.iter().map(|(label, words, page)| entry("Action", label, words, page));
    pages.chain(actions).collect()
}

/// The most frequent actions: label, synonyms, path.
const ACTIONS: [(&str, &str, &str); 9] = [
    ("Create rule", "new", "rules/new"),
    ("Get started", "template", "start"),
    ("New override", "create limit", "overrides?new=1"),
    ("Import overrides", "csv", "overrides?new=import"),
    ("Create API key", "new secret", "keys?new=1"),
    ("Invite a member", "new person", "members?new=1"),
    ("New webhook", "create", "alerts?new=webhook"),
    ("Change password", "account", "settings"),
    ("Sign-in sessions", "sign out", "settings"),
];

async fn rules_and_keys(api: Api, tenant: &str, keys: bool) -> Result<PaletteCache, Problem> {
    let rules = api.some_rules(tenant, "").await?;
    let keys = if keys { api.keys(tenant).await? } else { Vec::new() };
    let keys = keys.into_iter().map(|key| Entry {
        kind: "Key",
        label: key.name,
        detail: format!("weir_{}_…", key.hint),
        page: "keys".to_owned(),
    });
    let more_rules = rules.next_cursor.is_some();
    Ok(PaletteCache {
        entries: rules.data.into_iter().map(rule_entry).chain(keys).collect(),
        more_rules,
    })
}

/// The entries that the server found.
#[derive(Debug, Clone, Default)]
struct ServerResults {
    rules: Vec<Entry>,
    overrides: Vec<Entry>,
}

/// Searches rules only if not all of them have been loaded.
async fn search_server(
    api: Api,
    tenant: &str,
    text: &str,
    rules: bool,
) -> Result<ServerResults, Problem> {
    let rules = if rules { api.some_rules(tenant, text).await?.data } else { Vec::new() };
    let search = OverrideSearch { subject: text.to_owned(), ..OverrideSearch::default() };
    let overrides = api.overrides(tenant, &search, None).await?.data.into_iter();
    let entry = |found: OverrideAnswer| Entry {
        kind: "Override",
        label: subject::label(&found.body.subject),
        detail: override_labels::effect(&found.body),
        page: format!("overrides?q={}", browser::encode_component(text)),
    };
    let overrides = overrides.take(OVERRIDES).map(entry).collect();
    Ok(ServerResults { rules: rules.into_iter().map(rule_entry).collect(), overrides })
}

fn rule_entry(rule: RuleAnswer) -> Entry {
    Entry {
        kind: "Rule",
        label: rule.rule.name,
        detail: rule.rule.namespace,
        page: format!("rules/{}", rule.id),
    }
}

/// The pause in typing after which the server is queried.
const PAUSE_MS: i32 = 150;
/// The maximum number of overrides listed.
const OVERRIDES: usize = 5;
