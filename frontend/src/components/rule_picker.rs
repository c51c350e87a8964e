//! Choosing a rule: a select for few rules, a search field for many.

mod suggest;

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;

use crate::api::Answer;
use crate::browser;
use crate::components::field::{Binding, Choice};
use crate::components::mini_picture::MiniPicture;
use crate::components::remote_data::fetch_data;
use crate::model::rule_choice::{RuleOption, Search, matching, search_text, status_text};
use suggest::{Suggest, Suggestions};

/// The first page of rules to choose from, and the rules that the page refers to by id.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleOptions {
    pub first: Page<RuleAnswer>,
    pub named: Vec<RuleAnswer>,
}

/// Searches the server for rules that contain a text.
pub type SearchRules = Callback<String, Answer<Page<RuleAnswer>>>;

/// The rules that the page has loaded so far; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    first: StoredValue<Vec<RuleAnswer>>,
    /// Whether the server has more than the first page.
    more: bool,
    known: StoredValue<BTreeMap<String, RuleAnswer>>,
    find: SearchRules,
}

impl Rules {
    pub fn new(some: RuleOptions, find: SearchRules) -> Self {
        let rules = Self {
            more: some.first.next_cursor.is_some(),
            known: StoredValue::new(BTreeMap::new()),
            first: StoredValue::new(some.first.data),
            find,
        };
        rules.add(rules.first.get_value());
        rules.add(some.named);
        rules
    }

    /// The rule with an id, if it has been loaded.
    pub fn rule(self, id: &str) -> Option<RuleAnswer> {
        self.known.with_value(|known| known.get(id).cloned())
    }

    pub fn first(self) -> Option<RuleAnswer> {
        self.first.with_value(|first| first.first().cloned())
    }

    /// All loaded rules.
    pub fn known(self) -> Vec<RuleAnswer> {
        self.known.with_value(|known| known.values().cloned().collect())
    }

    /// The ids that have not been loaded yet, without duplicates.
    pub fn missing<'a>(self, ids: impl IntoIterator<Item = &'a String>) -> Vec<String> {
        let known = |id: &String| self.known.try_with_value(|known| known.contains_key(id));
        let mut ids: Vec<_> =
            ids.into_iter().filter(|id| known(id) == Some(false)).cloned().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The picture of the rule that an option stands for: its id, or its id after `r:`.
    fn picture(self, option: &str) -> Option<AnyView> {
        let rule = self.rule(option.strip_prefix("r:").unwrap_or(option))?.rule;
        Some(view! { <MiniPicture rule /> }.into_any())
    }

    /// Adds loaded rules.
    pub fn add(self, rules: Vec<RuleAnswer>) {
        self.known.try_update_value(|known| {
            known.extend(rules.into_iter().map(|rule| (rule.id.clone(), rule)));
        });
    }
}

/// A field for one rule, or for one of the `options` derived from rules, or for one of the `others`, which are listed
/// first. A chosen rule has always been loaded.
#[component]
pub fn RulePicker(
    #[prop(into)] label: String,
    rules: Rules,
    value: Binding<String>,
    options: fn(&[RuleAnswer]) -> Vec<RuleOption>,
    #[prop(optional)] others: Vec<RuleOption>,
    #[prop(optional, into)] problem: Signal<Option<String>>,
) -> impl IntoView {
    let field = if rules.more {
        view! { <SearchField label rules value options others problem /> }.into_any()
    } else {
        let all = rules.first.with_value(|first| options(first));
        let options = others.into_iter().chain(all).collect();
        view! { <Choice label value options problem /> }.into_any()
    };
    let picture = move || value.value.with(|value| rules.picture(value));
    view! { <div class="rule-picker">{field}{picture}</div> }
}

#[component]
fn SearchField(
    label: String,
    rules: Rules,
    value: Binding<String>,
    options: fn(&[RuleAnswer]) -> Vec<RuleOption>,
    others: Vec<RuleOption>,
    problem: Signal<Option<String>>,
) -> impl IntoView {
    let others = StoredValue::new(others);
    let (open, typed) = (RwSignal::new(false), RwSignal::new(String::new()));
    let text = Memo::new(move |_| typed.with(|typed| search_text(typed)));
    let by_server = fetch_data(move || {
        let searched = text.get();
        async move {
            let first = || Page { data: rules.first.get_value(), next_cursor: Some(String::new()) };
            if !searched.is_empty() {
                browser::wait_ms(PAUSE_MS).await;
            }
            // Text typed meanwhile starts its own search.
            match text.try_get_untracked() {
                Some(now) if now == searched && !searched.is_empty() => {
                    rules.find.run(searched.clone()).await.map(|page| (searched, page))
                }
                _ => Ok((searched, first())),
            }
        }
        .boxed_local()
    });
    let labels = Memo::new(move |_| {
        let found = by_server.data().map(|(_, page)| page.data).unwrap_or_default();
        let options = others.get_value().into_iter().chain(options(&found));
        let labels = text.with(|text| matching(options, text));
        rules.add(found);
        labels
    });
    let search = move || match by_server.data() {
        _ if !open.get() => Search::Closed,
        _ if text.with(String::is_empty) => Search::Begun,
        Some((searched, page)) if text.with(|text| *text == searched) => {
            Search::Done { shown: labels.with(Vec::len), more: page.next_cursor.is_some() }
        }
        _ => Search::Running,
    };
    let first = rules.first.with_value(Vec::len);
    let status = Signal::derive(move || match by_server.problem() {
        Some(problem) if open.get() => problem.title,
        _ => status_text(search(), first),
    });
    let chosen = Signal::derive(move || {
        let value = value.value.get();
        let all = others.get_value().into_iter().chain(options(&rules.known()));
        all.into_iter()
            .find(|(candidate, _)| *candidate == value)
            .map(|(_, label)| label)
            .unwrap_or_default()
    });
    let choose = Callback::new(move |at: usize| {
        if let Some((id, _)) = labels.with_untracked(|labels| labels.get(at).cloned()) {
            value.set.run(id);
        }
    });
    let options =
        Signal::derive(move || labels.get().into_iter().map(|(_, label)| label).collect());
    let picture = Callback::new(move |at: usize| {
        labels.with(|labels| labels.get(at).and_then(|(option, _)| rules.picture(option)))
    });
    let suggestions = Suggestions { chosen, typed, open, options, picture, choose, status };
    view! { <Suggest label suggestions problem /> }
}

/// The pause in typing after which the server is queried.
const PAUSE_MS: i32 = 150;
