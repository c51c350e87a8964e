//! The names of rules and webhooks that entries mention by their ids.

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::audit::AuditEntry;
use weir_wire::tenants::Role;

use crate::access::Access;
use crate::api::Api;
use crate::model::audit_entry::{named_rule, sentence};
use crate::model::labels::capital;
use crate::pages::shell::TenantId;

/// The names that are known; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names(RwSignal<BTreeMap<String, String>>);

impl Names {
    /// Looks up the names that the entries lack. Deleted objects keep their ids.
    pub(super) fn of(entries: Signal<Vec<AuditEntry>>) -> Self {
        let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
        let access = expect_context::<Access>();
        let names = Self(RwSignal::new(BTreeMap::new()));
        let asked = StoredValue::new(BTreeSet::<String>::new());
        Effect::new(move |_| {
            if !access.has(Role::Viewer) {
                return;
            }
            let missing = |id: &&str| asked.with_value(|asked| !asked.contains(*id));
            let (rules, webhooks) = entries.with(|entries| {
                let unnamed = |entry: &&AuditEntry| entry.before.is_none() && entry.after.is_none();
                let rules = entries.iter().filter_map(named_rule).filter(missing);
                let webhooks =
                    entries.iter().filter(unnamed).any(|entry| entry.object_kind == "webhook");
                (rules.map(str::to_owned).collect::<BTreeSet<_>>(), webhooks)
            });
            let webhooks = webhooks && missing(&"webhooks");
            asked.update_value(|asked| {
                asked.extend(rules.iter().cloned());
                asked.extend(webhooks.then(|| "webhooks".to_owned()));
            });
            spawn_local(names.load(api, tenant.get(), rules.into_iter().collect(), webhooks));
        });
        names
    }

    /// A failure leaves the ids in place.
    async fn load(self, api: Api, tenant: String, rules: Vec<String>, webhooks: bool) {
        let rules = api.rules_by_ids(&tenant, &rules).await.unwrap_or_default();
        let mut found: Vec<_> = rules.into_iter().map(|rule| (rule.id, rule.rule.name)).collect();
        if webhooks {
            let webhooks = api.webhooks(&tenant).await.unwrap_or_default();
            found.extend(webhooks.into_iter().map(|webhook| (webhook.id, webhook.name)));
        }
        if !found.is_empty() {
            self.0.try_update(|names| names.extend(found));
        }
    }

    /// The entry as a sentence; tracked.
    pub(super) fn sentence(self, entry: &AuditEntry) -> String {
        self.0.with(|names| capital(&sentence(entry, &|id| names.get(id).cloned())))
    }
}
