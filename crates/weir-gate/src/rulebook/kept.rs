//! What a gate keeps beside the rulebook in force: what it was compiled from, so that a change takes its own rows
//! alone, and what had to be left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_domain::id::TenantId;
use weir_domain::rulebook::{Rulebook, TenantRules};
use weir_store::RulebookChanges;
use weir_wire::stored::{LeftOut, StoredInstallation};

use super::disk::Copy;
use super::load;

/// Shared with the threads that take changes in and write copies.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedKept(Arc<Mutex<Kept>>);

/// The stored form of a rulebook, and what of it cannot be read, by tenant.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) copy: Copy,
    left_out: BTreeMap<String, Vec<LeftOut>>,
    /// The rulebook before the one in force: it is large, and the last request that used it should not be the one to let
    /// go of it.
    pub(crate) replaced: Option<Arc<Rulebook>>,
}

impl SharedKept {
    /// After a panic half of the changes may be in; they are taken in once more, as the version is still the old one.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// What is kept of a disk copy, and the rulebook it makes.
    pub(crate) fn from_copy(copy: Copy) -> (Self, Rulebook) {
        let mut kept = Self { copy, ..Self::default() };
        let ids: Vec<_> = kept.copy.tenants.keys().cloned().collect();
        let parts = ids.into_iter().filter_map(|text| {
            let all = kept.copy.tenants[&text].rules.iter().map(|it| it.id.clone()).collect();
            let id: TenantId = text.parse().ok()?;
            Some((id, Some(kept.compile(text, &TenantRules::default(), &all))))
        });
        let parts: Vec<_> = parts.collect();
        let book = Rulebook::default().with_changes(kept.copy.version, parts);
        let book = book.with_installation(kept.copy.installation.into());
        (kept, book)
    }

    /// Takes changes in and answers the rulebook that follows on `held`.
    pub(crate) fn take_in(&mut self, held: &Rulebook, changes: RulebookChanges) -> Rulebook {
        let mut parts = Vec::with_capacity(changes.deleted.len() + changes.tenants.len());
        for id in changes.deleted {
            let text = id.to_string();
            self.copy.tenants.remove(&text);
            self.left_out.remove(&text);
            parts.push((id, None));
        }
        let nothing = TenantRules::default();
        for tenant in changes.tenants {
            let (id, text) = (tenant.tenant_id, tenant.tenant_id.to_string());
            let kept = self.copy.tenants.entry(text.clone());
            let kept = kept.or_insert_with(|| Arc::new(load::empty(text.clone())));
            let mut changed = load::take_in(Arc::make_mut(kept), tenant);
            // There may be room by now for what exceeded a budget.
            let left_out = self.left_out.get(&text).into_iter().flatten();
            changed.extend(left_out.filter_map(|it| it.rule_id.clone()));
            let before = held.tenant(id).map_or(&nothing, Arc::as_ref);
            parts.push((id, Some(self.compile(text, before, &changed))));
        }
        self.copy.version = changes.version;
        self.copy.installation = StoredInstallation {
            enforced: changes.enforced,
            checks_per_second: changes.checks_per_second,
        };
        let installation = self.copy.installation.into();
        held.with_changes(changes.version, parts).with_installation(installation)
    }

    /// How much had to be left out.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.values().map(Vec::len).sum()
    }

    /// Compiles the changed rules of a tenant; what cannot be read is left out and named.
    fn compile(
        &mut self,
        tenant: String,
        before: &TenantRules,
        changed: &BTreeSet<String>,
    ) -> TenantRules {
        let (rules, left_out) = self.copy.tenants[&tenant].compile_again(before, changed);
        let mut all = self.left_out.remove(&tenant).unwrap_or_default();
        for it in left_out.iter().filter(|it| !all.contains(it)) {
            tracing::error!(
                tenant.id = tenant,
                id = it.id,
                reason = it.reason,
                "left out of the rulebook"
            );
        }
        all.retain(|it| it.rule_id.as_ref().is_some_and(|id| !changed.contains(id)));
        all.extend(left_out);
        if !all.is_empty() {
            self.left_out.insert(tenant, all);
        }
        rules
    }
}

#[cfg(test)]
mod tests;
