//! The undo of a deletion.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::apply::ApplyOverride;
use weir_wire::overrides::OverrideAnswer;

use crate::api::{Api, Problem};
use crate::components::toast::Toasts;

/// A deleted override, with all that creates it again. It outlives the page.
#[derive(Debug, Clone)]
pub(super) struct Deleted {
    pub(super) api: Api,
    pub(super) tenant: String,
    pub(super) toasts: Toasts,
    pub(super) writes: RwSignal<u32>,
    pub(super) entry: OverrideAnswer,
    /// The namespace and the name of its rule.
    pub(super) rule: Option<(String, String)>,
}

impl Deleted {
    /// Creates the override again, in the set that owned it.
    pub(super) fn restore(self) {
        spawn_local(async move {
            let (toasts, writes) = (self.toasts, self.writes);
            match self.create().await {
                Ok(true) => toasts.show("Override restored"),
                Ok(false) => {
                    let text = "Not restored: it has expired, or the subject has another override";
                    toasts.show(text);
                }
                Err(problem) => toasts.show(format!("Not restored: {}", problem.detail)),
            }
            writes.try_update(|writes| *writes += 1);
        });
    }

    /// Returns whether the override was created.
    async fn create(self) -> Result<bool, Problem> {
        let Self { api, tenant, entry, rule, .. } = self;
        let (Some(set), Some((namespace, rule))) = (entry.managed_by, rule) else {
            return api.create_override(&tenant, &entry.body).await.map(|_| true);
        };
        let wanted = ApplyOverride::of(entry.body, namespace, rule);
        api.create_override_of_set(&tenant, &set, &wanted).await
    }
}
