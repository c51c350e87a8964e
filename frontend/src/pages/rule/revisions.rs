//! The revisions of a rule.

use leptos::prelude::*;
use serde_json::Value;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::api::Api;
use crate::components::owner::note_of_rules;
use crate::components::remote_data::RemoteData;
use crate::model::{difference, json, labels};
use crate::pages::published::Confirmation;
use crate::pages::revisions::{self, Revert, RevisionSource, RevisionWords};
use crate::pages::shell::TenantId;

/// The revisions of `now`; `rule` is refetched after a revert.
#[component]
pub(super) fn Revisions(now: RuleAnswer, rule: RemoteData<RuleAnswer>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let now = StoredValue::new(now);
    let confirmation = StoredValue::new(Confirmation::new());
    let fetch = Callback::new(move |cursor: Option<String>| {
        let (tenant, id) = (tenant.now(), now.with_value(|now| now.id.clone()));
        api.revisions(&tenant, &id, cursor.as_deref())
    });
    let note =
        Callback::new(move |()| now.with_value(|now| note_of_rules(std::slice::from_ref(now))));
    let revert = Callback::new(move |Revert { revision, action, open }| {
        let confirmation = confirmation.get_value();
        let call = api.revert_rule(&tenant.now(), &now.get_value(), revision);
        action.run(call, move |reverted| {
            open.try_set(false);
            let before = now.with_value(|now| now.revision);
            confirmation.published("Reverted", reverted, Some(before));
            rule.refetch();
        });
    });
    let words = RevisionWords {
        differences: |before, after| Some(difference::differences(&body(before)?, &body(after)?)),
        name: |difference| difference.label.to_lowercase(),
        created: |after| body(after).as_ref().map(labels::sentence),
    };
    let source = RevisionSource { fetch, words, note, revert };
    view! {
        <section aria-labelledby="revisions-heading" class="stack">
            <h2 id="revisions-heading">"Revisions"</h2>
            <revisions::Revisions source />
        </section>
    }
}

/// The rule of a revision; `None` if a former release wrote it in a format that is no longer supported.
fn body(value: &Value) -> Option<RuleBody> {
    json::read_value(value).ok()
}
