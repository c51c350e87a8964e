//! Duplicating rules: copies in the same namespace that are off, so that nothing is limited twice.

use std::collections::BTreeSet;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::rules::RuleAnswer;

use super::state::RuleState;
use crate::api::Api;
use crate::components::toast::Toasts;
use crate::model::number::quantity;
use crate::model::rule_copy::copy_of;
use crate::pages::shell::TenantId;
use crate::session::Session;

/// Duplicates some rules, and offers to delete the copies again. Call it while a component is created.
pub(super) fn duplicate(state: RuleState) -> Callback<Vec<RuleAnswer>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let author = expect_context::<Session>().signed_in().map(|signed_in| signed_in.user.email);
    Callback::new(move |rules: Vec<RuleAnswer>| {
        spawn_local(create_copies(api, (tenant.now(), author.clone()), rules, state, toasts));
    })
}

/// Creates one copy after the other. Rules whose copy failed stay selected.
async fn create_copies(
    api: Api,
    (tenant, author): (String, Option<String>),
    rules: Vec<RuleAnswer>,
    state: RuleState,
    toasts: Toasts,
) {
    let mut copies = Vec::new();
    for rule in rules {
        let taken = state.rules.try_with_untracked(|rules| names(rules, &rule.rule.namespace));
        let body = copy_of(&rule.rule, &taken.unwrap_or_default());
        match api.create_rule(&tenant, &body).await {
            Ok(mut copy) => {
                copy.changed_by.clone_from(&author);
                copies.push(copy.clone());
                state.selected.try_update(|selected| selected.remove(&rule.id));
                state.rules.try_update(|rules| rules.push(copy));
            }
            Err(problem) => {
                toasts.show(format!("{} was not duplicated: {}", rule.rule.name, problem.detail));
            }
        }
    }
    if copies.is_empty() {
        return;
    }
    let count = quantity(copies.len(), "rule", "rules");
    let undo =
        move |()| spawn_local(delete_copies(api, tenant.clone(), copies.clone(), state, toasts));
    toasts.show_undoable(format!("{count} duplicated. Copies are off."), Callback::new(undo));
}

async fn delete_copies(
    api: Api,
    tenant: String,
    copies: Vec<RuleAnswer>,
    state: RuleState,
    toasts: Toasts,
) {
    for copy in copies {
        match api.delete_rule(&tenant, &copy).await {
            Ok(()) => {
                state.rules.try_update(|rules| rules.retain(|rule| rule.id != copy.id));
            }
            Err(problem) => {
                toasts.show(format!("{} was not deleted: {}", copy.rule.name, problem.detail));
            }
        }
    }
}

/// The names of the rules in a namespace.
fn names(rules: &[RuleAnswer], namespace: &str) -> BTreeSet<String> {
    let of_namespace = rules.iter().filter(|rule| rule.rule.namespace == namespace);
    of_namespace.map(|rule| rule.rule.name.clone()).collect()
}
