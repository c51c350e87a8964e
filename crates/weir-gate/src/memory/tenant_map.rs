//! A bounded map that shares its capacity between tenants, so that no tenant can evict all entries of another.

use std::hash::Hash;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use weir_domain::id::TenantId;

/// Entries by tenant and key.
#[derive(Debug)]
pub(crate) struct TenantMap<K, V> {
    capacity: usize,
    /// The most entries of one tenant.
    tenant_max: usize,
    len: usize,
    tenants: FxHashMap<TenantId, IndexMap<K, V>>,
    /// The index at which the next search for an entry to evict begins.
    probe: usize,
}

/// An entry that was evicted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Evicted<V> {
    pub(crate) tenant: TenantId,
    pub(crate) value: V,
}

/// No entry can be evicted for this tenant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// One tenant holds at most the capacity divided by this, unless a share is given.
const TENANT_SHARE: usize = 4;
/// The most entries that are examined to find one to evict: bounds the time of an insertion.
const PROBES: usize = 8;

impl<K: Hash + Eq, V> TenantMap<K, V> {
    /// A map in which one tenant holds at most a quarter of the entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::with_share(capacity, capacity / TENANT_SHARE)
    }

    pub(crate) fn with_share(capacity: usize, tenant_max: usize) -> Self {
        Self { capacity, tenant_max, len: 0, tenants: FxHashMap::default(), probe: 0 }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, tenant: TenantId, key: &K) -> Option<&V> {
        self.tenants.get(&tenant)?.get(key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.tenants.values().flat_map(IndexMap::values)
    }

    pub(crate) fn get_mut(&mut self, tenant: TenantId, key: &K) -> Option<&mut V> {
        self.tenants.get_mut(&tenant)?.get_mut(key)
    }

    /// Makes room for one more entry of `tenant`.
    ///
    /// A tenant with its full share loses an entry of its own for which `own` holds. In a full map the tenant with the most
    /// entries loses one for which `other` holds.
    pub(crate) fn reserve(
        &mut self,
        tenant: TenantId,
        own: impl Fn(&V) -> bool,
        other: impl Fn(&V) -> bool,
    ) -> Result<Option<Evicted<V>>, Full> {
        let held = self.tenants.get(&tenant).map_or(0, IndexMap::len);
        if held >= self.tenant_max {
            return self.evict(tenant, own).map(Some);
        }
        if self.len < self.capacity {
            return Ok(None);
        }
        let largest = self.tenants.iter().max_by_key(|(_, entries)| entries.len());
        match largest.map(|(&largest, entries)| (largest, entries.len())) {
            Some((largest, most)) if largest != tenant && most > held => {
                self.evict(largest, other).map(Some)
            }
            _ => self.evict(tenant, own).map(Some),
        }
    }

    fn evict(&mut self, tenant: TenantId, can_go: impl Fn(&V) -> bool) -> Result<Evicted<V>, Full> {
        let entries = self.tenants.get_mut(&tenant).ok_or(Full)?;
        for _ in 0..PROBES.min(entries.len()) {
            self.probe = self.probe.wrapping_add(1);
            let at = self.probe % entries.len();
            if entries.get_index(at).is_some_and(|(_, value)| can_go(value))
                && let Some((_, value)) = entries.swap_remove_index(at)
            {
                self.len -= 1;
                return Ok(Evicted { tenant, value });
            }
        }
        Err(Full)
    }

    /// Inserts or replaces an entry. For a new key, call [`TenantMap::reserve`] before.
    pub(crate) fn insert(&mut self, tenant: TenantId, key: K, value: V) {
        let before = self.tenants.entry(tenant).or_default().insert(key, value);
        self.len += usize::from(before.is_none());
    }

    pub(crate) fn remove(&mut self, tenant: TenantId, key: &K) -> Option<V> {
        let entries = self.tenants.get_mut(&tenant)?;
        let removed = entries.swap_remove(key)?;
        if entries.is_empty() {
            self.tenants.remove(&tenant);
        }
        self.len -= 1;
        Some(removed)
    }

    /// Removes the entries of all tenants with this key.
    pub(crate) fn remove_for_all(&mut self, key: &K) {
        let mut removed = 0;
        self.tenants.retain(|_, entries| {
            removed += usize::from(entries.swap_remove(key).is_some());
            !entries.is_empty()
        });
        self.len -= removed;
    }

    /// Removes the entries for which `keep` does not hold.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(TenantId, &K, &mut V) -> bool) {
        self.tenants.retain(|&tenant, entries| {
            entries.retain(|key, value| keep(tenant, key, value));
            !entries.is_empty()
        });
        self.len = self.tenants.values().map(IndexMap::len).sum();
    }

    pub(crate) fn clear(&mut self) {
        self.tenants.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TenantId = TenantId::from_u128(1);
    const B: TenantId = TenantId::from_u128(2);

    fn add(map: &mut TenantMap<u32, bool>, tenant: TenantId, key: u32, can_go: bool) -> bool {
        let room = map.reserve(tenant, |&can_go| can_go, |&can_go| can_go);
        if room.is_ok() {
            map.insert(tenant, key, can_go);
        }
        room.is_ok()
    }

    #[test]
    fn tenant_with_a_full_share_evicts_only_its_own_entries() {
        let mut map = TenantMap::new(16);
        assert!(add(&mut map, B, 0, true));
        for key in 0..1_000 {
            assert!(add(&mut map, A, key, true));
        }
        assert_eq!(map.len(), 5, "a quarter, and the entry of the other tenant");
        assert!(map.get(B, &0).is_some());
        assert!(map.get(A, &999).is_some(), "the newest entry stays");
    }

    #[test]
    fn full_map_evicts_an_entry_of_the_tenant_with_the_most_entries() {
        let mut map = TenantMap::new(16);
        let others = [3, 4, 5, 6].map(TenantId::from_u128);
        for (tenant, key) in
            others.into_iter().flat_map(|tenant| (0..4).map(move |key| (tenant, key)))
        {
            assert!(add(&mut map, tenant, key, true));
        }
        assert!(add(&mut map, A, 0, true) && map.get(A, &0).is_some());
        assert_eq!(map.len(), 16);
    }

    #[test]
    fn entries_that_must_stay_are_never_evicted() {
        let mut map = TenantMap::new(16);
        for key in 0..4 {
            assert!(add(&mut map, A, key, false));
        }
        assert!(!add(&mut map, A, 4, true));
        assert!((0..4).all(|key| map.get(A, &key).is_some()));
        assert_eq!(map.remove(A, &0), Some(false));
        assert!(add(&mut map, A, 4, true));
        map.retain(|_, &key, _| key == 4);
        assert_eq!(map.len(), 1);
    }
}
