//! The command palette, opened with Ctrl-K.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::rules::RuleAnswer;

use super::tenant::{GROUPS, TenantId};
use crate::api::Api;
use crate::browser;
use crate::components::combobox::Combobox;
use crate::components::dialog::Dialog;
use crate::components::icon::Icon;
use crate::components::remote_data::fetch_data;
use crate::components::theme::Appearance;
use crate::model::palette::{Entry, search, server_query};

/// The button that opens the palette, and the palette.
#[component]
pub(super) fn Palette(open: RwSignal<bool>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    // Refetched each time the palette opens; the previous entries are searchable meanwhile.
    let loaded_entries = fetch_data(move || {
        let (is_open, tenant) = (open.get(), tenant.get());
        async move {
            if !is_open {
                return Ok(None);
            }
            let rules = api.some_rules(&tenant).await?.data;
            Ok(Some(rules.into_iter().map(rule_entry).collect()))
        }
        .boxed_local()
    });
    let cache = RwSignal::new(Vec::new());
    Effect::new(move |_| {
        if let Some(Some(entries)) = loaded_entries.data() {
            cache.set(entries);
        }
    });
    Effect::new(move |_| {
        tenant.get();
        cache.set(Vec::new());
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

#[component]
fn Search(open: RwSignal<bool>, cache: RwSignal<Vec<Entry>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let navigate = use_navigate();
    let typed = RwSignal::new(String::new());
    let hits = server_hits(typed);
    let entries = Memo::new(move |_| {
        let mut entries = pages();
        cache.with(|cache| entries.extend_from_slice(cache));
        for hit in hits.entries.get() {
            if !entries.contains(&hit) {
                entries.push(hit);
            }
        }
        entries.extend(THEMES.iter().map(|(label, theme)| entry(THEME, label, "", theme)));
        typed.with(|typed| search(typed, &entries))
    });
    let options = Signal::derive(move || {
        let option = |entry: Entry| (entry.kind, entry.label, entry.detail);
        entries.get().into_iter().map(option).collect()
    });
    let choose = Callback::new(move |at: usize| {
        if let Some(entry) = entries.with_untracked(|entries| entries.get(at).cloned()) {
            open.set(false);
            if entry.kind == THEME {
                return Appearance::theme().set(&entry.page);
            }
            navigate(&format!("/t/{}/{}", tenant.now(), entry.page), NavigateOptions::default());
        }
    });
    view! {
        <Combobox label="Search customers, users, rules, alerts, members and pages" typed options searching=hits.searching choose />
    }
}

/// The pages and actions.
fn pages() -> Vec<Entry> {
    let pages = GROUPS.iter().flat_map(|(_, pages)| pages.iter());
    let pages = pages.map(|page| entry("Page", page.name, "", page.path));
    let actions = ACTIONS.iter().map(|(label, words, page)| entry("Action", label, words, page));
    pages.chain(actions).collect()
}

fn entry(kind: &'static str, label: &str, words: &str, page: &str) -> Entry {
    Entry { kind, label: label.to_owned(), detail: words.to_owned(), page: page.to_owned() }
}

/// The most frequent actions: label, synonyms, path.
const ACTIONS: [(&str, &str, &str); 12] = [
    ("Create rule", "new", "rules/new"),
    ("Get started", "template", "start"),
    ("New override", "create limit", "overrides?new=1"),
    ("Subjects near a limit", "quota used", "subjects?tab=near%20limit"),
    ("Simulate a request", "test dry run", "test"),
    ("Replay recorded traffic", "what-if", "what-if"),
    ("Import overrides", "csv", "overrides?new=import"),
    ("Create API key", "new secret", "keys?new=1"),
    ("Invite a member", "new person", "members?new=1"),
    ("New webhook", "create", "alerts?new=webhook"),
    ("Change password", "account", "settings"),
    ("Sign-in sessions", "sign out", "settings"),
];

/// The hits of the server for a typed text; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct ServerHits {
    pub entries: Memo<Vec<Entry>>,
    /// Whether the answer to the present text is awaited.
    pub searching: Memo<bool>,
}

/// Searches for a typed text, once the typing pauses.
pub fn server_hits(typed: RwSignal<String>) -> ServerHits {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let text = Memo::new(move |_| typed.with(|typed| server_query(typed)));
    let found = fetch_data(move || {
        let (tenant, query) = (tenant.get(), text.get());
        async move {
            let Some(query) = query else { return Ok((None, Vec::new())) };
            browser::wait_ms(PAUSE_MS).await;
            if text.try_get_untracked().flatten().as_ref() != Some(&query) {
                return Ok((None, Vec::new()));
            }
            let hits = api.search(&tenant, &query).await?.data.into_iter();
            let entries = hits.map(|hit| Entry::of(hit, &query)).collect::<Vec<_>>();
            Ok((Some(query), entries))
        }
        .boxed_local()
    });
    let entries = Memo::new(move |_| found.data().unwrap_or_default().1);
    let searching = Memo::new(move |_| {
        found.problem().is_none() && text.get() != found.data().unwrap_or_default().0
    });
    ServerHits { entries, searching }
}

fn rule_entry(rule: RuleAnswer) -> Entry {
    Entry {
        kind: "Rule",
        label: rule.rule.name,
        detail: rule.rule.namespace,
        page: format!("rules/{}", rule.id),
    }
}

/// The kind of the entries that choose a theme, which they have instead of a path.
const THEME: &str = "Theme";
const THEMES: [(&str, &str); 3] =
    [("System theme", "system"), ("Light theme", "light"), ("Dark theme", "dark")];
/// The pause in typing after which the server is queried.
const PAUSE_MS: i32 = 150;
