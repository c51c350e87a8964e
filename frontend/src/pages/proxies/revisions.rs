//! The revisions of a profile.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::changes::changes;
use weir_wire::profiles::ProfileAnswer;

use super::state::ProxiesState;
use crate::api::Api;
use crate::components::owner::note;
use crate::components::toast::Toasts;
use crate::model::difference::Difference;
use crate::pages::revisions::{Revert, RevisionSource, RevisionWords, Revisions};
use crate::pages::shell::TenantId;

/// The revisions of `now`.
#[component]
pub(super) fn ProfileRevisions(now: ProfileAnswer, state: ProxiesState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let now = StoredValue::new(now);
    let fetch = Callback::new(move |cursor: Option<String>| {
        let (tenant, id) = (tenant.now(), now.with_value(|now| now.id.clone()));
        api.profile_revisions(&tenant, &id, cursor.as_deref())
    });
    let owner = Callback::new(move |()| {
        let owners = now.with_value(|now| now.managed_by.clone());
        note("profile", "profiles", &[owners])
    });
    let revert = Callback::new(move |Revert { revision, action, open }| {
        let call = api.revert_profile(&tenant.now(), &now.get_value(), revision);
        action.run(call, move |reverted: ProfileAnswer| {
            toasts.show(format!("{} reverted to revision {revision}", reverted.profile.name));
            open.try_set(false);
            state.history_open.try_set(false);
            state.changed.run(());
        });
    });
    let words = RevisionWords { differences, name: |field| field.label.clone(), created: |_| None };
    view! { <Revisions source=RevisionSource { fetch, words, note: owner, revert } /> }
}

/// The fields that differ.
#[expect(clippy::unnecessary_wraps, reason = "every body of a profile can be compared")]
fn differences(before: &Value, after: &Value) -> Option<Vec<Difference>> {
    let changes = changes(Some(before), Some(after)).into_iter();
    let difference = changes.map(|change| Difference {
        label: change.field,
        before: change.before,
        after: change.after,
    });
    Some(difference.collect())
}
