//! The confirmation of a published rule: how long its rollout took, and for half a minute a way back.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::rules::RuleAnswer;

use crate::api::{Api, Problem};
use crate::components::toast::Toasts;
use crate::pages::rollout::settled;
use crate::pages::shell::TenantId;

/// Counts the changes that were undone, so that pages fetch the rule again; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct UndoneChanges(RwSignal<u32>);

impl UndoneChanges {
    pub fn new() -> Self {
        Self(RwSignal::new(0))
    }

    pub fn track(self) {
        self.0.track();
    }
}

/// Confirms changes of rules. It outlives the page that made the change.
#[derive(Clone)]
pub struct Confirmation {
    api: Api,
    toasts: Toasts,
    undone: UndoneChanges,
    tenant: String,
    to_rules: Arc<dyn Fn() + Send + Sync>,
}

impl Confirmation {
    pub fn new() -> Self {
        let tenant = expect_context::<TenantId>().now();
        let (navigate, rules) = (use_navigate(), format!("/t/{tenant}/rules"));
        Self {
            api: expect_context(),
            toasts: expect_context(),
            undone: expect_context(),
            tenant,
            to_rules: Arc::new(move || navigate(&rules, NavigateOptions::default())),
        }
    }

    /// Says `Published login, revision 4: live on 2 of 2 gates after 41 ms`. Undo restores `before`, or deletes a rule that
    /// is new.
    pub fn published(self, verb: &'static str, now: RuleAnswer, before: Option<u64>) {
        spawn_local(async move {
            let live = settled(self.api, &self.tenant, now.rulebook_version).await;
            let text = format!("{verb} {}, revision {}: {live}", now.rule.name, now.revision);
            let toasts = self.toasts;
            let undo = Callback::new(move |()| self.clone().undo(now.clone(), before));
            toasts.show_undoable(text, undo);
        });
    }

    fn undo(self, now: RuleAnswer, before: Option<u64>) {
        spawn_local(async move {
            let result = match before {
                Some(revision) => self.revert(&now, revision).await,
                None => self.delete(&now).await,
            };
            let failure = |problem: Problem| format!("Not undone. {}", problem.text());
            self.toasts.show(result.unwrap_or_else(failure));
        });
    }

    async fn revert(&self, now: &RuleAnswer, revision: u64) -> Result<String, Problem> {
        let reverted = self.api.revert_rule(&self.tenant, now, revision).await?;
        self.undone.0.try_update(|count| *count += 1);
        let live = settled(self.api, &self.tenant, reverted.rulebook_version).await;
        Ok(format!("{} is as in revision {revision} again: {live}", now.rule.name))
    }

    async fn delete(&self, now: &RuleAnswer) -> Result<String, Problem> {
        self.api.delete_rule(&self.tenant, now).await?;
        (self.to_rules)();
        Ok(format!("Deleted rule {}", now.rule.name))
    }
}
