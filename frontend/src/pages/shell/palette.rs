//! The palette: Ctrl-K, a few letters, Enter.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;

use super::{PAGES, TenantId};
use crate::access::Access;
use crate::api::{Api, Problem};
use crate::browser;
use crate::components::combobox::Combobox;
use crate::components::dialog::Dialog;
use crate::components::load::load;
use crate::model::palette::{Entry, found, searched};
use crate::model::{override_words, subject};

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
    let kept = RwSignal::new(Kept::default());
    Effect::new(move |_| {
        if let Some(Some(entries)) = there.data() {
            kept.set(entries);
        }
    });
    Effect::new(move |_| {
        tenant.get();
        kept.set(Kept::default());
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

/// What is there without typing.
#[derive(Debug, Clone, Default)]
struct Kept {
    entries: Vec<Entry>,
    /// Whether there are more rules than these.
    more_rules: bool,
}

#[component]
fn Search(open: RwSignal<bool>, kept: RwSignal<Kept>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let navigate = use_navigate();
    let typed = RwSignal::new(String::new());
    let text = Memo::new(move |_| typed.with(|typed| searched(typed)));
    let more_rules = Memo::new(move |_| kept.with(|kept| kept.more_rules));
    let by_server = load(move || {
        let (tenant, asked, rules) = (tenant.get(), text.get(), more_rules.get());
        async move {
            let Some(asked) = asked else { return Ok(BySearch::default()) };
            browser::wait_ms(PAUSE_MS).await;
            if text.try_get_untracked().flatten().as_ref() != Some(&asked) {
                return Ok(BySearch::default());
            }
            by_search(api, &tenant, &asked, rules).await
        }
    });
    let entries = Memo::new(move |_| {
        let mut entries = pages();
        kept.with(|kept| entries.extend_from_slice(&kept.entries));
        let BySearch { rules, overrides } = by_server.data().unwrap_or_default();
        for rule in rules {
            if !entries.contains(&rule) {
                entries.push(rule);
            }
        }
        let mut found = typed.with(|typed| found(typed, &entries));
        let asked = text.get().unwrap_or_default().to_lowercase();
        found.extend(overrides.into_iter().filter(|it| it.label.to_lowercase().contains(&asked)));
        found
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

async fn rules_and_keys(api: Api, tenant: &str, keys: bool) -> Result<Kept, Problem> {
    let rules = api.some_rules(tenant, "").await?;
    let keys = if keys { api.keys(tenant).await? } else { Vec::new() };
    let keys = keys.into_iter().map(|it| Entry {
        kind: "Key",
        label: it.name,
        detail: format!("weir_{}_…", it.hint),
        page: "keys".to_owned(),
    });
    let more_rules = rules.next_cursor.is_some();
    Ok(Kept { entries: rules.data.into_iter().map(of_rule).chain(keys).collect(), more_rules })
}

/// What the server found by what is typed.
#[derive(Debug, Clone, Default)]
struct BySearch {
    rules: Vec<Entry>,
    overrides: Vec<Entry>,
}

/// Rules only where those that are there already are not all.
async fn by_search(api: Api, tenant: &str, text: &str, rules: bool) -> Result<BySearch, Problem> {
    let rules = if rules { api.some_rules(tenant, text).await?.data } else { Vec::new() };
    let overrides = api.overrides(tenant, text, None, None).await?.data.into_iter();
    let entry = |it: OverrideAnswer| Entry {
        kind: "Override",
        label: subject::words(&it.body.subject),
        detail: override_words::instead(&it.body),
        page: format!("overrides?q={}", browser::encoded(text)),
    };
    let overrides = overrides.take(OVERRIDES).map(entry).collect();
    Ok(BySearch { rules: rules.into_iter().map(of_rule).collect(), overrides })
}

fn of_rule(it: RuleAnswer) -> Entry {
    Entry {
        kind: "Rule",
        label: it.rule.name,
        detail: it.rule.namespace,
        page: format!("rules/{}", it.id),
    }
}

/// So long nobody types before the server is asked.
const PAUSE_MS: i32 = 150;
/// At most so many overrides are shown.
const OVERRIDES: usize = 5;
