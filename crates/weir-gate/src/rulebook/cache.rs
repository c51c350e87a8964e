//! The cache of the follower: the version in force, and the rows that the rulebook in force does not contain itself (those that
//! were left out, the overrides and the profiles), so that a change compiles only its own rows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_domain::id::TenantId;
use weir_domain::rule_parts::RuleParts;
use weir_domain::rulebook::{Rulebook, TenantRules};
use weir_domain::sharded_map::ShardedMap;
use weir_store::{RulebookChanges, RulebookVersion};
use weir_wire::regions::RegionsBody;
use weir_wire::stored::StoredInstallation;

use super::compiled::{CompiledTenant, Uncompiled};
use super::snapshot::{CompiledTenants, Snapshot, WholeTenants};

/// A cache shared with the threads that apply changes and write snapshots.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedCache(Arc<Mutex<RulebookCache>>);

/// The version of the rulebook in force, and the rows that it does not contain.
#[derive(Debug, Default)]
pub(crate) struct RulebookCache {
    /// `None` before the first load.
    version: Option<RulebookVersion>,
    /// The region of this gate.
    region: Option<String>,
    installation: StoredInstallation,
    /// The rows that are not compiled. Most tenants have none.
    uncompiled: ShardedMap<TenantId, Arc<Uncompiled>>,
    left_out: usize,
    /// The parts that rules share.
    parts: Arc<RuleParts>,
    /// The rulebook before the one in force. The last request that uses it must not pay for freeing it.
    pub(crate) replaced: Option<Arc<Rulebook>>,
}

impl SharedCache {
    pub(crate) fn new(cache: RulebookCache) -> Self {
        Self(Arc::new(Mutex::new(cache)))
    }

    /// Locks the cache. After a panic some of the changes are possibly applied already. They are applied again, because the
    /// version is the old one.
    pub(crate) fn lock(&self) -> MutexGuard<'_, RulebookCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RulebookCache {
    /// The cache of a gate of this region, which has loaded nothing.
    pub(crate) fn of_region(region: Option<String>) -> Self {
        Self { region, ..Self::default() }
    }

    /// The cache of a snapshot, and the rulebook of its tenants.
    pub(crate) fn from_snapshot(
        snapshot: Snapshot<CompiledTenants>,
        region: Option<String>,
    ) -> (Self, Rulebook) {
        let version = snapshot.rulebook_version();
        let Snapshot { version: number, installation, tenants, .. } = snapshot;
        let CompiledTenants { all, parts } = tenants;
        let mut cache = Self { version, region, installation, parts, ..Self::default() };
        let tenants = cache.put(all, Vec::new());
        let book = Rulebook::default().with_changes(number, tenants);
        let book = book.with_installation(cache.installation.state(cache.region.as_deref()));
        (cache, book.with_lineage(version.map_or(0, lineage)))
    }

    /// The version of the rulebook in force. `None` before the first load.
    pub(crate) fn version(&self) -> Option<RulebookVersion> {
        self.version
    }

    /// The parts that rules share.
    pub(crate) fn parts(&self) -> Arc<RuleParts> {
        Arc::clone(&self.parts)
    }

    /// The number of keys, rules, overrides and profiles that were left out.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Applies changes and returns the rulebook that follows `held`.
    pub(crate) fn apply(&mut self, held: &Rulebook, mut changes: RulebookChanges) -> Rulebook {
        let none = TenantRules::default();
        let compiled = std::mem::take(&mut changes.tenants).into_iter().map(|tenant| {
            let before = held.tenant(tenant.tenant_id).map_or(&none, Arc::as_ref);
            let uncompiled = self.uncompiled.get(&tenant.tenant_id).map(Arc::as_ref);
            CompiledTenant::after(before, uncompiled, tenant, &self.parts)
        });
        let compiled = compiled.collect();
        self.put_changes(held, changes, compiled)
    }

    /// Replaces everything by the whole rulebook: `all` are its tenants, and `changes` the rest. Nothing of the rulebook in
    /// force remains.
    pub(crate) fn replace(
        &mut self,
        changes: RulebookChanges,
        all: Vec<CompiledTenant>,
    ) -> Rulebook {
        (self.uncompiled, self.left_out) = (ShardedMap::default(), 0);
        let nothing = Rulebook::default().with_lineage(lineage(changes.version));
        self.put_changes(&nothing, changes, all)
    }

    fn put_changes(
        &mut self,
        held: &Rulebook,
        changes: RulebookChanges,
        compiled: Vec<CompiledTenant>,
    ) -> Rulebook {
        let RulebookChanges { version, enforced, checks_per_second, regions, deleted, .. } =
            changes;
        self.version = Some(version);
        let regions = serde_json::from_str(&regions).unwrap_or_else(|error| {
            tracing::error!(%error, "could not read the regions: serving as if there were none");
            RegionsBody::default()
        });
        self.installation = StoredInstallation { enforced, checks_per_second, regions };
        let book = held.with_changes(version.number, self.put(compiled, deleted));
        book.with_installation(self.installation.state(self.region.as_deref()))
    }

    /// Replaces and removes tenants. Returns their compiled parts.
    fn put(
        &mut self,
        compiled: Vec<CompiledTenant>,
        deleted: Vec<TenantId>,
    ) -> Vec<(TenantId, Option<TenantRules>)> {
        let mut parts = Vec::with_capacity(compiled.len() + deleted.len());
        for id in deleted {
            self.set_uncompiled(id, None);
            parts.push((id, None));
        }
        for CompiledTenant { id, rules, uncompiled } in compiled {
            self.set_uncompiled(id, uncompiled);
            parts.push((id, Some(rules)));
        }
        parts
    }

    fn set_uncompiled(&mut self, id: TenantId, uncompiled: Option<Arc<Uncompiled>>) {
        let left_out = |uncompiled: &Arc<Uncompiled>| uncompiled.left_out.len();
        self.left_out += uncompiled.as_ref().map_or(0, left_out);
        let before = match uncompiled {
            Some(uncompiled) => self.uncompiled.insert(id, uncompiled),
            None => self.uncompiled.remove(&id),
        };
        self.left_out -= before.as_ref().map_or(0, left_out);
    }

    /// The snapshot of the rulebook in force, which is `book`. Copies nothing of it.
    pub(crate) fn snapshot(
        &self,
        book: Arc<Rulebook>,
        saved_at_ms: i64,
        live_gates: u64,
    ) -> Snapshot<WholeTenants> {
        let tenants = WholeTenants { uncompiled: self.uncompiled.clone(), book };
        let mut snapshot = Snapshot::new(self.version, tenants);
        snapshot.installation = self.installation.clone();
        snapshot.saved_at_ms = saved_at_ms;
        snapshot.live_gates = live_gates;
        snapshot
    }
}

/// Half of a stamp, which suffices to distinguish histories.
fn lineage(version: RulebookVersion) -> u64 {
    (version.stamp >> 64) as u64
}

#[cfg(test)]
mod tests;
