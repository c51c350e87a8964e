//! Changing the mode of several rules: one change for each, so that each has an audit entry and can be reverted.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use super::table::Table;
use crate::api::Api;
use crate::components::field::Choice;
use crate::components::require_role::RequireRole;
use crate::model::number::quantity;
use crate::pages::shell::TenantId;

/// Shown while rules are selected, or while the last change has a result to report.
#[component]
pub(super) fn SetMode(table: Table) -> impl IntoView {
    let mode = RwSignal::new(Mode::Shadow);
    let progress = RwSignal::new(String::new());
    let (busy, rejected) = (RwSignal::new(false), RwSignal::new(Vec::<String>::new()));
    let change = Change { table, progress, rejected, busy };
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let set = move |_| spawn_local(change.run(api, tenant.now(), mode.get_untracked()));
    let shown_count = Memo::new(move |_| table.selected.with(|selected| !selected.is_empty()));
    let label = move || {
        let selected = table.selected.with(std::collections::BTreeSet::len);
        format!("Change mode ({})", quantity(selected, "rule", "rules"))
    };
    view! {
        <Show when=move || shown_count.get()>
            <div class="filter" role="group" aria-label="Selected rules">
                <RequireRole role=Role::Editor>
                    <Choice label="New mode" value=mode.into() options=Mode::choices() />
                    <button type="button" class="button" disabled=busy on:click=set>{label}</button>
                </RequireRole>
            </div>
        </Show>
        <p class="note" role="status">{progress}</p>
        {move || {
            let failed = rejected.get().into_iter().map(|reason| view! { <li>{reason}</li> }).collect::<Vec<_>>();
            (!failed.is_empty()).then(|| view! { <div class="problem" role="alert"><ul>{failed}</ul></div> })
        }}
    }
}

#[derive(Debug, Clone, Copy)]
struct Change {
    table: Table,
    progress: RwSignal<String>,
    rejected: RwSignal<Vec<String>>,
    busy: RwSignal<bool>,
}

impl Change {
    /// Changes one rule after the other. Rules whose change failed stay selected, with the reason.
    async fn run(self, api: Api, tenant: String, mode: Mode) {
        let ids = self.table.selected.get_untracked();
        let find = |rules: &Vec<RuleAnswer>| {
            rules.iter().filter(|rule| ids.contains(&rule.id)).cloned().collect::<Vec<_>>()
        };
        let rules = self.table.rules.with_untracked(find);
        self.busy.set(true);
        self.rejected.set(Vec::new());
        let (all, mut done) = (rules.len(), 0);
        for rule in rules {
            let body = RuleBody { mode, ..rule.rule.clone() };
            let answer = if rule.rule.mode == mode {
                Ok(rule)
            } else {
                api.replace_rule(&tenant, &rule, &body).await.map_err(|problem| (rule, problem))
            };
            match answer {
                Ok(changed) => {
                    done += 1;
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
            let text = format!("{done} of {all} rules changed to {}.", mode.title());
            if self.progress.try_set(text).is_some() {
                return;
            }
        }
        self.busy.try_set(false);
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
