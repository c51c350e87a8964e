//! The revisions of a plan.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::plans::{PlanAnswer, PlanBody};

use super::state::{OpenPlan, PlansState};
use crate::api::Api;
use crate::components::owner::note;
use crate::components::toast::Toasts;
use crate::model::{json, plan_text};
use crate::pages::revisions::{Revert, RevisionSource, RevisionWords, Revisions};
use crate::pages::shell::TenantId;

/// The revisions of `now`.
#[component]
pub(super) fn PlanRevisions(now: PlanAnswer, state: PlansState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let now = StoredValue::new(now);
    let fetch = Callback::new(move |cursor: Option<String>| {
        let (tenant, id) = (tenant.now(), now.with_value(|now| now.id.clone()));
        api.plan_revisions(&tenant, &id, cursor.as_deref())
    });
    let owner = Callback::new(move |()| {
        let owners = now.with_value(|now| now.managed_by.clone());
        note("plan", "plans", &[owners])
    });
    let revert = Callback::new(move |Revert { revision, action, open }| {
        let call = api.revert_plan(&tenant.now(), &now.get_value(), revision);
        action.run(call, move |reverted: PlanAnswer| {
            toasts.show(format!("{} reverted to revision {revision}", reverted.plan.name));
            open.try_set(false);
            state.open.try_set(OpenPlan::Nothing);
            state.changed.run(());
        });
    });
    let words = RevisionWords {
        differences: |before, after| Some(plan_text::differences(&body(before)?, &body(after)?)),
        name: |difference| difference.label.clone(),
        created: |_| None,
    };
    view! { <Revisions source=RevisionSource { fetch, words, note: owner, revert } /> }
}

/// The plan of a revision; `None` if a former release wrote it in a format that is no longer supported.
fn body(value: &Value) -> Option<PlanBody> {
    json::read_value(value).ok()
}
