//! Changing the mode of several rules: one change for each, so that each has an audit entry and can be reverted. The
//! change is confirmed first and can be undone afterwards.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use super::table::Table;
use crate::api::Api;
use crate::components::dialog::Confirm;
use crate::components::field::Choice;
use crate::components::require_role::RequireRole;
use crate::model::number::{grouped, quantity};
use crate::pages::shell::TenantId;

/// Shown while rules are selected, or while the last change has a result to report.
#[component]
pub(super) fn SetMode(table: Table) -> impl IntoView {
    let (mode, open) = (RwSignal::new(Mode::Shadow), RwSignal::new(false));
    let change = Change {
        table,
        progress: RwSignal::new(String::new()),
        rejected: RwSignal::new(Vec::new()),
        before: RwSignal::new(Vec::new()),
        busy: RwSignal::new(false),
    };
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let set = Callback::new(move |()| {
        let target = mode.get_untracked();
        let rules = untrack(|| selected(table)).into_iter().map(|rule| (rule, target)).collect();
        spawn_local(change.run(api, tenant.now(), rules));
    });
    let undo = move |_| spawn_local(change.run(api, tenant.now(), change.previous()));
    let shown = Memo::new(move |_| table.selected.with(|selected| !selected.is_empty()));
    let label = move || {
        let count = table.selected.with(std::collections::BTreeSet::len);
        format!("Change mode ({})", quantity(count, "rule", "rules"))
    };
    let undoable = move || !change.busy.get() && change.before.with(|before| !before.is_empty());
    let confirm = move || format!("Set to {}", mode.get().title());
    view! {
        <Show when=move || shown.get()>
            <div class="filter" role="group" aria-label="Selected rules">
                <RequireRole role=Role::Editor>
                    <Choice label="New mode" value=mode.into() options=Mode::choices() />
                    <button type="button" class="button" disabled=change.busy on:click=move |_| open.set(true)>{label}</button>
                </RequireRole>
            </div>
        </Show>
        <Confirm title="Change the mode?" action=Signal::derive(confirm) open on_confirm=set>
            <Consequence table mode />
        </Confirm>
        <div class="actions">
            <p class="note" role="status">{change.progress}</p>
            <Show when=undoable><button type="button" class="button" on:click=undo>"Undo"</button></Show>
        </div>
        {move || {
            let failed = change.rejected.get().into_iter().map(|reason| view! { <li>{reason}</li> }).collect::<Vec<_>>();
            (!failed.is_empty()).then(|| view! { <div class="problem" role="alert"><ul>{failed}</ul></div> })
        }}
    }
}

/// The consequence of the change, the rules, and what they decided in the last hour.
#[component]
fn Consequence(table: Table, mode: RwSignal<Mode>) -> impl IntoView {
    let rules = untrack(|| selected(table));
    let consequence = match mode.get_untracked() {
        Mode::Enforce => "These rules deny requests above their limits at once, on all gates:",
        Mode::Shadow => "These rules only report denials and block nothing, at once, on all gates:",
        Mode::Off => "These rules have no effect any more, at once, on all gates:",
    };
    let (checks, denied) = table.hour.with_untracked(|hour| {
        let series = || rules.iter().filter_map(|rule| hour.get(&rule.id));
        let denied: u64 = series().flat_map(|series| &series.denied).sum();
        (series().flat_map(|series| &series.allowed).sum::<u64>() + denied, denied)
    });
    let traffic = format!(
        "In the last hour they decided {} and denied {}.",
        quantity(usize::try_from(checks).unwrap_or(usize::MAX), "check", "checks"),
        grouped(denied)
    );
    let more = rules.len().saturating_sub(NAMED_MAX);
    let names = rules.into_iter().take(NAMED_MAX).map(|rule| {
        view! { <li><span class="name">{rule.rule.name}</span><span class="muted">{rule.rule.namespace}</span></li> }
    });
    view! {
        <p>{consequence}</p>
        <ul class="list">{names.collect::<Vec<_>>()}</ul>
        {(more > 0).then(|| format!("and {} more", quantity(more, "rule", "rules")))}
        <p>{traffic}</p>
    }
}

/// The rules that the confirmation names.
const NAMED_MAX: usize = 10;

/// The selected rules; tracked.
fn selected(table: Table) -> Vec<RuleAnswer> {
    let ids = table.selected.get();
    table.rules.with(|rules| rules.iter().filter(|rule| ids.contains(&rule.id)).cloned().collect())
}

#[derive(Debug, Clone, Copy)]
struct Change {
    table: Table,
    progress: RwSignal<String>,
    rejected: RwSignal<Vec<String>>,
    /// The rules of the last change with their modes before it.
    before: RwSignal<Vec<(String, Mode)>>,
    busy: RwSignal<bool>,
}

impl Change {
    /// Changes one rule after the other. Rules whose change failed stay selected, with the reason.
    async fn run(self, api: Api, tenant: String, rules: Vec<(RuleAnswer, Mode)>) {
        self.busy.set(true);
        self.rejected.set(Vec::new());
        self.before.set(Vec::new());
        let (all, mut done) = (rules.len(), 0);
        for (rule, mode) in rules {
            let body = RuleBody { mode, ..rule.rule.clone() };
            let before = (rule.id.clone(), rule.rule.mode);
            let answer = if rule.rule.mode == mode {
                Ok(rule)
            } else {
                api.replace_rule(&tenant, &rule, &body).await.map_err(|problem| (rule, problem))
            };
            match answer {
                Ok(changed) => {
                    done += 1;
                    if before.1 != mode {
                        self.before.try_update(|list| list.push(before));
                    }
                    self.put(changed);
                }
                Err((rule, problem)) => {
                    let stale = problem.code == Some(ErrorCode::Stale);
                    let reason = if stale { problem.title } else { problem.detail };
                    let row = format!("{}: {reason}", rule.rule.name);
                    self.rejected.try_update(|rejected| rejected.push(row));
                }
            }
            // The page can have been left meanwhile.
            let text = format!("{done} of {} changed.", quantity(all, "rule", "rules"));
            if self.progress.try_set(text).is_some() {
                return;
            }
        }
        self.busy.try_set(false);
    }

    /// The rules of the last change, each with its mode before it.
    fn previous(self) -> Vec<(RuleAnswer, Mode)> {
        let before = self.before.get_untracked();
        self.table.rules.with_untracked(|rules| {
            let find = |(id, mode): (String, Mode)| {
                rules.iter().find(|rule| rule.id == id).map(|rule| (rule.clone(), mode))
            };
            before.into_iter().filter_map(find).collect()
        })
    }

    fn put(self, changed: RuleAnswer) {
        self.table.selected.try_update(|selected| selected.remove(&changed.id));
        self.table.rules.try_update(|rules| {
            if let Some(rule) = rules.iter_mut().find(|rule| rule.id == changed.id) {
                *rule = changed;
            }
        });
    }
}
