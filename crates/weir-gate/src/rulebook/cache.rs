//! The rows from which the rulebook in force was compiled, as far as it does not contain them itself, so that a change compiles
//! only its own rows, and the rows that were left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_domain::id::TenantId;
use weir_domain::rulebook::{Rulebook, TenantRules};
use weir_store::{RulebookChanges, RulebookVersion};
use weir_wire::stored::{LeftOut, StoredInstallation};

use super::snapshot::Snapshot;
use super::source;

/// A cache shared with the threads that apply changes and write snapshots.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedCache(Arc<Mutex<RulebookCache>>);

/// The rows of the rulebook in force, and those of them that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct RulebookCache {
    /// All rows except the rules of which the compiled form can be read: it contains everything that is stored.
    pub(crate) snapshot: Snapshot,
    /// The rows that were left out, by tenant.
    left_out: BTreeMap<String, Vec<LeftOut>>,
    /// The rulebook before the one in force. It is large, and the last request that uses it must not pay for freeing it.
    pub(crate) replaced: Option<Arc<Rulebook>>,
}

impl SharedCache {
    /// Locks the cache. After a panic some of the changes are possibly applied already. They are applied again, because the
    /// version is the old one.
    pub(crate) fn lock(&self) -> MutexGuard<'_, RulebookCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RulebookCache {
    /// The cache of a snapshot, and the rulebook that it compiles to.
    pub(crate) fn from_snapshot(snapshot: Snapshot) -> (Self, Rulebook) {
        let mut cache = Self { snapshot, ..Self::default() };
        let ids: Vec<_> = cache.snapshot.tenants.keys().cloned().collect();
        let parts = ids.into_iter().filter_map(|text| {
            let tenant = &cache.snapshot.tenants[&text];
            let all = tenant.rules.iter().map(|rule| rule.id.clone()).collect();
            let id: TenantId = text.parse().ok()?;
            Some((id, Some(cache.compile(text, &TenantRules::default(), &all))))
        });
        let parts: Vec<_> = parts.collect();
        let lineage = cache.version().map_or(0, lineage);
        let book = Rulebook::default().with_changes(cache.snapshot.version, parts);
        let book = book.with_installation(cache.snapshot.installation.into()).with_lineage(lineage);
        (cache, book)
    }

    /// The version of the rulebook in force. `None` before the first load.
    pub(crate) fn version(&self) -> Option<RulebookVersion> {
        self.snapshot.rulebook_version()
    }

    /// Applies changes and returns the rulebook that follows `held`. If the changes are complete, nothing of `held`
    /// remains.
    pub(crate) fn apply(&mut self, held: &Rulebook, changes: RulebookChanges) -> Rulebook {
        let nothing_held = Rulebook::default().with_lineage(lineage(changes.version));
        let held = if changes.whole { &nothing_held } else { held };
        if changes.whole {
            self.snapshot.tenants.clear();
            self.left_out.clear();
        }
        let mut parts = Vec::with_capacity(changes.deleted.len() + changes.tenants.len());
        for id in changes.deleted {
            let text = id.to_string();
            self.snapshot.tenants.remove(&text);
            self.left_out.remove(&text);
            parts.push((id, None));
        }
        let no_rules = TenantRules::default();
        for tenant in changes.tenants {
            let (id, text) = (tenant.tenant_id, tenant.tenant_id.to_string());
            let stored = self.snapshot.tenants.entry(text.clone());
            let stored = stored.or_insert_with(|| Arc::new(source::empty(text.clone())));
            let stored = Arc::make_mut(stored);
            let before = held.tenant(id).map_or(&no_rules, Arc::as_ref);
            let mut affected = source::apply(stored, before, tenant);
            // A rule that exceeded a budget can fit by now.
            let left_out = self.left_out.get(&text).into_iter().flatten();
            affected.changed.extend(left_out.filter_map(|left_out| left_out.rule_id.clone()));
            source::restore(stored, before, &affected);
            parts.push((id, Some(self.compile(text, before, &affected.changed))));
        }
        self.snapshot.set_rulebook_version(changes.version);
        self.snapshot.installation = StoredInstallation {
            enforced: changes.enforced,
            checks_per_second: changes.checks_per_second,
        };
        let installation = self.snapshot.installation.into();
        held.with_changes(changes.version.number, parts).with_installation(installation)
    }

    /// The number of keys, rules and overrides that were left out.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.values().map(Vec::len).sum()
    }

    /// Compiles the changed rules of a tenant. Rows that cannot be read are left out and logged.
    fn compile(
        &mut self,
        tenant: String,
        before: &TenantRules,
        changed: &BTreeSet<String>,
    ) -> TenantRules {
        let (rules, left_out) = self.snapshot.tenants[&tenant].compile_again(before, changed);
        let mut all = self.left_out.remove(&tenant).unwrap_or_default();
        for new in left_out.iter().filter(|new| !all.contains(new)) {
            tracing::error!(
                tenant.id = tenant,
                id = new.id,
                reason = new.reason,
                "left out of the rulebook"
            );
        }
        all.retain(|known| known.rule_id.as_ref().is_some_and(|id| !changed.contains(id)));
        all.extend(left_out);
        self.drop_compiled(&tenant, &all);
        if !all.is_empty() {
            self.left_out.insert(tenant, all);
        }
        rules
    }

    /// Drops the stored form of the tenant's rules that are not `left_out`.
    fn drop_compiled(&mut self, tenant: &str, left_out: &[LeftOut]) {
        let Some(stored) = self.snapshot.tenants.get_mut(tenant) else { return };
        if !stored.rules.is_empty() {
            let ids: BTreeSet<&str> =
                left_out.iter().map(|left_out| left_out.id.as_str()).collect();
            let stored = Arc::make_mut(stored);
            stored.rules.retain(|rule| ids.contains(rule.id.as_str()));
            stored.rules.shrink_to_fit();
        }
    }
}

/// Half of a stamp, which suffices to distinguish histories.
fn lineage(version: RulebookVersion) -> u64 {
    (version.stamp >> 64) as u64
}

#[cfg(test)]
mod tests;
