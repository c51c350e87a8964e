//! One of the rules: of few in a list, of many in a field that finds them as one types.

mod suggest;

use std::collections::BTreeMap;

use futures_util::future::LocalBoxFuture;
use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;

use crate::api::Problem;
use crate::browser;
use crate::components::field::{Bind, Choice};
use crate::components::load::load;
use crate::model::rule_choice::{Choosable, Search, found, said, searched};
use suggest::{Suggest, Suggestions};

/// The first rules that can be chosen, and those that the page names.
#[derive(Debug, Clone, PartialEq)]
pub struct SomeRules {
    pub first: Page<RuleAnswer>,
    pub named: Vec<RuleAnswer>,
}

/// Asks the server for rules with a text.
pub type Find = Callback<String, LocalBoxFuture<'static, Result<Page<RuleAnswer>, Problem>>>;

/// The rules of a page, as far as they are known; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    first: StoredValue<Vec<RuleAnswer>>,
    /// Whether there are more than the first.
    more: bool,
    known: StoredValue<BTreeMap<String, RuleAnswer>>,
    find: Find,
}

impl Rules {
    pub fn new(some: SomeRules, find: Find) -> Self {
        let rules = Self {
            more: some.first.next_cursor.is_some(),
            known: StoredValue::new(BTreeMap::new()),
            first: StoredValue::new(some.first.data),
            find,
        };
        rules.learn(rules.first.get_value());
        rules.learn(some.named);
        rules
    }

    /// The rule with an id, if it was met.
    pub fn rule(self, id: &str) -> Option<RuleAnswer> {
        self.known.with_value(|known| known.get(id).cloned())
    }

    pub fn first(self) -> Option<RuleAnswer> {
        self.first.with_value(|first| first.first().cloned())
    }

    /// All that were met.
    pub fn known(self) -> Vec<RuleAnswer> {
        self.known.with_value(|known| known.values().cloned().collect())
    }

    /// Those of the ids that were not met yet, each once.
    pub fn unknown<'a>(self, ids: impl IntoIterator<Item = &'a String>) -> Vec<String> {
        let known = |id: &String| self.known.try_with_value(|known| known.contains_key(id));
        let mut ids: Vec<_> =
            ids.into_iter().filter(|id| known(id) == Some(false)).cloned().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Keeps rules that were met.
    pub fn learn(self, rules: Vec<RuleAnswer>) {
        self.known.try_update_value(|known| {
            known.extend(rules.into_iter().map(|rule| (rule.id.clone(), rule)));
        });
    }
}

/// A field for one of the rules, or for another of the `options` that rules give, or for one of the `others`, which stand
/// above them. The rule that is chosen is known by then.
#[component]
pub fn RulePicker(
    #[prop(into)] label: String,
    rules: Rules,
    value: Bind<String>,
    options: fn(&[RuleAnswer]) -> Vec<Choosable>,
    #[prop(optional)] others: Vec<Choosable>,
    #[prop(optional, into)] problem: Signal<Option<String>>,
) -> impl IntoView {
    if !rules.more {
        let all = rules.first.with_value(|first| options(first));
        let options = others.into_iter().chain(all).collect();
        return view! { <Choice label value options problem /> }.into_any();
    }
    view! { <Many label rules value options others problem /> }.into_any()
}

#[component]
fn Many(
    label: String,
    rules: Rules,
    value: Bind<String>,
    options: fn(&[RuleAnswer]) -> Vec<Choosable>,
    others: Vec<Choosable>,
    problem: Signal<Option<String>>,
) -> impl IntoView {
    let others = StoredValue::new(others);
    let (open, typed) = (RwSignal::new(false), RwSignal::new(String::new()));
    let text = Memo::new(move |_| typed.with(|typed| searched(typed)));
    let by_server = load(move || {
        let asked = text.get();
        async move {
            let first = || Page { data: rules.first.get_value(), next_cursor: Some(String::new()) };
            if !asked.is_empty() {
                browser::wait_ms(PAUSE_MS).await;
            }
            // What was typed meanwhile asks for itself.
            match text.try_get_untracked() {
                Some(now) if now == asked && !asked.is_empty() => {
                    rules.find.run(asked.clone()).await.map(|page| (asked, page))
                }
                _ => Ok((asked, first())),
            }
        }
    });
    let lines = Memo::new(move |_| {
        let rules = by_server.data().map(|(_, page)| page.data).unwrap_or_default();
        text.with(|text| found(others.get_value().into_iter().chain(options(&rules)), text))
    });
    let search = move || match by_server.data() {
        _ if !open.get() => Search::Closed,
        _ if text.with(String::is_empty) => Search::Begun,
        Some((asked, page)) if text.with(|text| *text == asked) => {
            Search::Done { shown: lines.with(Vec::len), more: page.next_cursor.is_some() }
        }
        _ => Search::Running,
    };
    let first = rules.first.with_value(Vec::len);
    let told = Signal::derive(move || match by_server.problem() {
        Some(problem) if open.get() => problem.title,
        _ => said(search(), first),
    });
    let chosen = Signal::derive(move || {
        let value = value.value.get();
        let all = others.get_value().into_iter().chain(options(&rules.known()));
        all.into_iter().find(|(it, _)| *it == value).map(|(_, label)| label).unwrap_or_default()
    });
    let choose = Callback::new(move |at: usize| {
        if let Some((id, _)) = lines.with_untracked(|lines| lines.get(at).cloned()) {
            if let Some((_, page)) = untrack(|| by_server.data()) {
                rules.learn(page.data);
            }
            value.set.run(id);
        }
    });
    let labels = Signal::derive(move || lines.get().into_iter().map(|(_, label)| label).collect());
    let suggestions = Suggestions { chosen, typed, open, lines: labels, choose, told };
    view! { <Suggest label suggestions problem /> }
}

/// So long nobody types before the server is asked.
const PAUSE_MS: i32 = 150;
