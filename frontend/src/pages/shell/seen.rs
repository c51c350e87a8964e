//! Loading what gates have seen: the subjects of the last day, the latest denials, and the attributes of rules.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::tenant::TenantId;
use crate::api::{Api, StatsScope};
use crate::components::seen::SeenAttributes;
use crate::model::seen::KnownAttributes;

/// The suggestions of the tenant's pages, loaded when a field first asks for them.
pub(super) fn provide_seen(api: Api, tenant: TenantId) {
    let attributes = SeenAttributes::new();
    provide_context(attributes);
    Effect::new(move |_| {
        let tenant = tenant.get();
        if attributes.wanted.get() {
            spawn_local(async move {
                let seen = load(api, tenant).await;
                attributes.seen.try_set(seen);
            });
        }
    });
}

/// A failure gives fewer suggestions.
async fn load(api: Api, tenant: String) -> KnownAttributes {
    let day = StatsScope::last(tenant.clone(), DAY_MS);
    let (rules, top, denials) = futures_util::future::join3(
        api.some_rules(&tenant),
        api.top(&day, "subject", SUBJECTS),
        api.denials(&tenant, None, "", None),
    )
    .await;
    let mut seen = KnownAttributes::default();
    for rule in rules.into_iter().flat_map(|page| page.data) {
        seen.add_rule(&rule.rule);
    }
    for subject in top.into_iter().flat_map(|top| top.data).filter_map(|entry| entry.subject) {
        seen.add_subject(&subject);
    }
    for denial in denials.into_iter().flat_map(|denials| denials.data) {
        seen.add_subject(&denial.subject);
    }
    seen
}

const SUBJECTS: u32 = 100;
const DAY_MS: i64 = 86_400_000;
