//! Changing the mode of rules: one change for each, so that each has an audit entry and can be reverted. The
//! change is confirmed first and can be undone afterwards.

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::stats::RuleSeries;
use weir_wire::words::Mode;

use super::state::{RuleState, checks};
use crate::api::Api;
use crate::components::dialog::Confirm;
use crate::components::owner::note_of_rules;
use crate::components::toast::Toasts;
use crate::model::number::{grouped, quantity};
use crate::pages::shell::TenantId;
use crate::session::Session;

/// The dialog, and the progress and the failures of the last change.
#[component]
pub fn ModeDialog(state: RuleState) -> impl IntoView {
    let session = expect_context::<Session>();
    let change = Change {
        state,
        progress: RwSignal::new(String::new()),
        rejected: RwSignal::new(Vec::new()),
        toasts: expect_context(),
        author: StoredValue::new(session.signed_in().map(|signed_in| signed_in.user.email)),
    };
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let set = Callback::new(move |()| {
        let target = state.mode.get_untracked();
        let rules = state.targets.get_untracked().into_iter().map(|rule| (rule, target)).collect();
        spawn_local(change.run(api, tenant.now(), rules));
    });
    let confirm = move || format!("Set to {}", state.mode.get().title());
    view! {
        <Confirm title="Change the mode?" action=Signal::derive(confirm) open=state.mode_dialog on_confirm=set>
            <Consequence state />
        </Confirm>
        {move || {
            let progress = change.progress.get();
            (!progress.is_empty()).then(|| view! { <p class="note" role="status">{progress}</p> })
        }}
        {move || {
            let failed = change.rejected.get().into_iter().map(|reason| view! { <li>{reason}</li> }).collect::<Vec<_>>();
            (!failed.is_empty()).then(|| view! { <div class="problem" role="alert"><ul>{failed}</ul></div> })
        }}
    }
}

/// The consequence of the change, the rules, and what they decided in the last hour.
#[component]
fn Consequence(state: RuleState) -> impl IntoView {
    let rules = state.targets.get_untracked();
    let consequence = match state.mode.get_untracked() {
        Mode::Enforce => "Requests above the limits are denied at once, on all gates:",
        Mode::Report => {
            "Nothing is denied, and answers name the rules whose limits are exceeded, at once, on all gates:"
        }
        Mode::Shadow => "Nothing is denied, and denials are only counted, at once, on all gates:",
        Mode::Off => "No effect any more, at once, on all gates:",
    };
    let ids: Vec<_> = rules.iter().map(|rule| rule.id.clone()).collect();
    let traffic = move || state.hour.with(|hour| traffic(&ids, hour));
    let owners = note_of_rules(&rules);
    view! {
        <p>{consequence}</p>
        <RuleNames rules />
        <p>{traffic}</p>
        {owners}
    }
}

/// The decisions of some rules in the last hour.
fn traffic(rules: &[String], hour: &BTreeMap<String, RuleSeries>) -> String {
    let series = || rules.iter().filter_map(|id| hour.get(id));
    let denied: u64 = series().flat_map(|series| &series.denied).sum();
    let checks = series().map(checks).sum::<u64>();
    format!(
        "In the last hour: {}, {} denied.",
        quantity(usize::try_from(checks).unwrap_or(usize::MAX), "check", "checks"),
        grouped(denied)
    )
}

/// The names of the rules that a dialog is about.
#[component]
pub(super) fn RuleNames(rules: Vec<RuleAnswer>) -> impl IntoView {
    let more = rules.len().saturating_sub(NAMED_MAX);
    let names = rules.into_iter().take(NAMED_MAX).map(|rule| {
        view! { <li><span class="name">{rule.rule.name}</span><span class="muted">{rule.rule.namespace}</span></li> }
    });
    view! {
        <ul class="list">{names.collect::<Vec<_>>()}</ul>
        {(more > 0).then(|| format!("and {} more", quantity(more, "rule", "rules")))}
    }
}

/// The number of rules that a dialog names.
const NAMED_MAX: usize = 10;

#[derive(Debug, Clone, Copy)]
struct Change {
    state: RuleState,
    progress: RwSignal<String>,
    rejected: RwSignal<Vec<String>>,
    toasts: Toasts,
    /// The address of the signed-in person.
    author: StoredValue<Option<String>>,
}

impl Change {
    /// Changes one rule after the other. Rules whose change failed stay selected, with the reason. The others can be
    /// changed back, also from another page.
    async fn run(self, api: Api, tenant: String, rules: Vec<(RuleAnswer, Mode)>) {
        self.rejected.try_set(Vec::new());
        let (all, mut changed_rules) = (rules.len(), Vec::new());
        for (rule, mode) in rules {
            let body = RuleBody { mode, ..rule.rule.clone() };
            let before = rule.rule.mode;
            let answer = if before == mode {
                Ok(rule)
            } else {
                api.replace_rule(&tenant, &rule, &body).await.map_err(|problem| (rule, problem))
            };
            match answer {
                Ok(changed) => {
                    changed_rules.push((changed.clone(), before));
                    self.put(changed);
                }
                Err((rule, problem)) => {
                    let stale = problem.code == Some(ErrorCode::Stale);
                    let reason = if stale { problem.title } else { problem.detail };
                    let row = format!("{}: {reason}", rule.rule.name);
                    self.rejected.try_update(|rejected| rejected.push(row));
                }
            }
            let done = changed_rules.len();
            let text = format!("{done} of {} changed.", quantity(all, "rule", "rules"));
            self.progress.try_set(text);
        }
        // The confirmation says it, and can be dismissed.
        if self.rejected.try_with_untracked(Vec::is_empty) == Some(true) {
            self.progress.try_set(String::new());
        }
        changed_rules.retain(|(rule, before)| rule.rule.mode != *before);
        self.offer_undo(api, tenant, changed_rules);
    }

    /// `changed` are the rules as they are now, each with its mode before.
    fn offer_undo(self, api: Api, tenant: String, changed: Vec<(RuleAnswer, Mode)>) {
        let Some((first, _)) = changed.first() else { return };
        let mode = first.rule.mode;
        let same = changed.iter().all(|(rule, _)| rule.rule.mode == mode);
        let count = quantity(changed.len(), "rule", "rules");
        let text = if same {
            format!("{count} set to {}", mode.title())
        } else {
            format!("{count} changed")
        };
        let undo = move |()| spawn_local(self.run(api, tenant.clone(), changed.clone()));
        self.toasts.show_undoable(text, Callback::new(undo));
    }

    /// Replaces a rule of the list by the answer to its change, which lacks what only lists have.
    fn put(self, mut changed: RuleAnswer) {
        changed.changed_by = self.author.try_get_value().flatten();
        self.state.selected.try_update(|selected| selected.remove(&changed.id));
        self.state.rules.try_update(|rules| {
            if let Some(rule) = rules.iter_mut().find(|rule| rule.id == changed.id) {
                changed.overrides = rule.overrides;
                *rule = changed;
            }
        });
    }
}
