//! Another mode for many rules at once: one change each, so that each is in the audit log and can be reverted.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use super::Table;
use crate::api::Api;
use crate::components::field::Choice;
use crate::components::needs::Needs;
use crate::model::number::counted;
use crate::model::words;
use crate::pages::shell::TenantId;

/// Shown while rules are ticked, or the last change has something to say.
#[component]
pub(super) fn SetMode(table: Table) -> impl IntoView {
    let mode = RwSignal::new(Mode::Shadow);
    let progress = RwSignal::new(String::new());
    let (busy, refused) = (RwSignal::new(false), RwSignal::new(Vec::<String>::new()));
    let change = Change { table, progress, refused, busy };
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let set = move |_| spawn_local(change.run(api, tenant.now(), mode.get_untracked()));
    let some = Memo::new(move |_| table.ticked.with(|ticked| !ticked.is_empty()));
    let label = move || {
        let ticked = table.ticked.with(std::collections::BTreeSet::len);
        format!("Set the mode of {}", counted(ticked, "rule", "rules"))
    };
    view! {
        <Show when=move || some.get()>
            <div class="filter" role="group" aria-label="Selected rules">
                <Needs role=Role::Editor>
                    <Choice label="New mode" value=mode.into() options=modes() />
                    <button type="button" class="button" disabled=busy on:click=set>{label}</button>
                </Needs>
            </div>
        </Show>
        <p class="note" role="status">{progress}</p>
        {move || {
            let failed = refused.get().into_iter().map(|it| view! { <li>{it}</li> }).collect::<Vec<_>>();
            (!failed.is_empty()).then(|| view! { <div class="problem" role="alert"><ul>{failed}</ul></div> })
        }}
    }
}

fn modes() -> Vec<(Mode, String)> {
    Mode::ALL.iter().map(|it| (*it, words::mode(*it).to_owned())).collect()
}

#[derive(Debug, Clone, Copy)]
struct Change {
    table: Table,
    progress: RwSignal<String>,
    refused: RwSignal<Vec<String>>,
    busy: RwSignal<bool>,
}

impl Change {
    /// One rule after the other; those that were refused stay ticked and say why.
    async fn run(self, api: Api, tenant: String, mode: Mode) {
        let ids = self.table.ticked.get_untracked();
        let find = |rules: &Vec<RuleAnswer>| {
            rules.iter().filter(|rule| ids.contains(&rule.id)).cloned().collect::<Vec<_>>()
        };
        let rules = self.table.rules.with_untracked(find);
        self.busy.set(true);
        self.refused.set(Vec::new());
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
                    let why = if stale { problem.title } else { problem.detail };
                    let line = format!("{}: {why}", rule.rule.name);
                    self.refused.try_update(|refused| refused.push(line));
                }
            }
            // The page may have been left meanwhile.
            let text = format!("{done} of {all} now in the mode {}.", words::mode(mode));
            if self.progress.try_set(text).is_some() {
                return;
            }
        }
        self.busy.try_set(false);
    }

    fn put(self, changed: RuleAnswer) {
        self.table.ticked.try_update(|ticked| ticked.remove(&changed.id));
        self.table.rules.try_update(|rules| {
            if let Some(rule) = rules.iter_mut().find(|rule| rule.id == changed.id) {
                *rule = changed;
            }
        });
    }
}
