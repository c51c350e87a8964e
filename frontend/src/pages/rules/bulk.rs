//! The actions of selected rules, and the dialogs of actions of one or several rules.

use std::collections::BTreeSet;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use super::bulk_mode::{ModeDialog, RuleNames};
use super::columns::mode_icon;
use super::duplicate::duplicate;
use super::state::RuleState;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::dialog::ConfirmTyped;
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuItem};
use crate::components::owner::note_of_rules;
use crate::components::require_role::RequireRole;
use crate::components::toast::Toasts;
use crate::model::number::quantity;
use crate::pages::shell::TenantId;

/// The bar, shown while rules are selected.
#[component]
pub(super) fn BulkBar(state: RuleState) -> impl IntoView {
    let any = Memo::new(move |_| state.selected.with(|selected| !selected.is_empty()));
    let count = move || quantity(state.selected.with(BTreeSet::len), "rule", "rules");
    let change = move |mode| state.ask_mode(untrack(|| state.chosen()), mode);
    let delete = move |()| state.ask_delete(untrack(|| state.chosen()));
    let duplicate = duplicate(state);
    let copy = move |_| duplicate.run(untrack(|| state.chosen()));
    let export = move |_| {
        let bodies: Vec<_> = untrack(|| state.chosen()).into_iter().map(|rule| rule.rule).collect();
        let text = serde_json::to_string_pretty(&bodies).unwrap_or_default();
        browser::save_file("rules.json", "application/json", &text);
    };
    view! {
        <Show when=move || any.get()>
            <div class="bulk-bar" role="group" aria-label="Selected rules">
                <p>{count}" selected"</p>
                <RequireRole role=Role::Editor>
                    <Menu label="Mode of the selected rules" class="button" trigger=view! { "Mode"<Icon name="chevron-down" /> }.into_any()>
                        {Mode::ALL.iter().copied().map(|mode| view! {
                            <MenuItem icon=mode_icon(mode) text=format!("Set to {}", mode.title()) on_press=move |()| change(mode) />
                        }).collect::<Vec<_>>()}
                    </Menu>
                    <button type="button" class="button" on:click=copy>"Duplicate"</button>
                </RequireRole>
                <button type="button" class="button" on:click=export>"Export JSON"</button>
                <RequireRole role=Role::Editor>
                    <Menu label="More actions" trigger=view! { <Icon name="ellipsis" /> }.into_any()>
                        <MenuItem icon="trash-2" text="Delete" danger=true on_press=delete />
                    </Menu>
                </RequireRole>
                <button type="button" class="button plain-button" on:click=move |_| state.selected.set(BTreeSet::new())>"Clear"</button>
            </div>
        </Show>
        <ModeDialog state />
        <DeleteDialog state />
    }
}

/// Asks for the name of the rule, or the number of rules.
#[component]
fn DeleteDialog(state: RuleState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let required = Signal::derive(move || {
        state.targets.with(|rules| match rules.as_slice() {
            [one] => one.rule.name.clone(),
            several => quantity(several.len(), "rule", "rules"),
        })
    });
    let delete = Callback::new(move |()| {
        let rules = state.targets.get_untracked();
        spawn_local(delete_all(api, tenant.now(), rules, state, toasts));
    });
    view! {
        <ConfirmTyped title="Delete these rules?" required action="Delete" open=state.delete_dialog on_confirm=delete>
            <p>"They stop limiting immediately on all gates. Their overrides are deleted too."</p>
            <RuleNames rules=state.targets.get_untracked() />
            {state.targets.with_untracked(|rules| note_of_rules(rules))}
        </ConfirmTyped>
    }
}

/// Deletes one rule after the other. Rules whose deletion failed stay selected.
async fn delete_all(
    api: Api,
    tenant: String,
    rules: Vec<RuleAnswer>,
    state: RuleState,
    toasts: Toasts,
) {
    let all = rules.len();
    let mut deleted = 0;
    for rule in rules {
        match api.delete_rule(&tenant, &rule).await {
            Ok(()) => {
                deleted += 1;
                state.selected.try_update(|selected| selected.remove(&rule.id));
                state.rules.try_update(|rules| rules.retain(|other| other.id != rule.id));
            }
            Err(problem) => {
                toasts.show(format!("{} was not deleted: {}", rule.rule.name, problem.detail));
            }
        }
    }
    toasts.show(format!("{deleted} of {} deleted", quantity(all, "rule", "rules")));
}
