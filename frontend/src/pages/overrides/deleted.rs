//! The undo of a deletion.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::overrides::OverrideAnswer;

use crate::api::Api;
use crate::components::toast::Toasts;

/// A deleted override, with all that creates it again. It outlives the page.
#[derive(Debug, Clone)]
pub(super) struct Deleted {
    pub(super) api: Api,
    pub(super) tenant: String,
    pub(super) toasts: Toasts,
    pub(super) writes: RwSignal<u32>,
    pub(super) entry: OverrideAnswer,
}

impl Deleted {
    /// Creates the override again, in the set that owned it and with its mark.
    pub(super) fn restore(self) {
        let Self { api, tenant, toasts, writes, entry } = self;
        spawn_local(async move {
            match api.restore_override(&tenant, entry).await {
                Ok(_) => toasts.show("Override restored"),
                Err(problem) => toasts.show(format!("Not restored: {}", problem.text())),
            }
            writes.try_update(|writes| *writes += 1);
        });
    }
}
