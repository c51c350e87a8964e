//! A map that shares most of its content with its clones, so that a change of a large map copies little of it.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api_key::KeyDigest;
use crate::id::TenantId;

/// A key that callers cannot choose, with a number that is evenly spread, which names its shard.
pub trait ShardKey: Hash + Eq + Clone {
    /// The number. Only its lowest bits are used.
    fn spread(&self) -> u64;
}

/// A map in shards. A clone shares all of them; a change copies one that is shared.
#[derive(Debug, Clone, PartialEq)]
pub struct ShardedMap<K: ShardKey, V> {
    shards: Arc<[Arc<FxHashMap<K, V>>]>,
    len: usize,
}

/// The number of shards: of 100,000 entries, a change copies about a hundred.
const SHARDS: usize = 1_024;

impl<K: ShardKey, V> Default for ShardedMap<K, V> {
    fn default() -> Self {
        let empty = Arc::new(FxHashMap::default());
        Self { shards: std::iter::repeat_n(empty, SHARDS).collect(), len: 0 }
    }
}

impl<K: ShardKey, V: Clone> ShardedMap<K, V> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.shards[shard(key)].get(key)
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }

    /// Inserts or replaces a value. Returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.shard_mut(&key).insert(key, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes an entry and returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.get(key)?;
        let removed = self.shard_mut(key).remove(key)?;
        self.len -= 1;
        Some(removed)
    }

    fn shard_mut(&mut self, key: &K) -> &mut FxHashMap<K, V> {
        Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[shard(key)])
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is below the number of shards")]
fn shard<K: ShardKey>(key: &K) -> usize {
    (key.spread() % SHARDS as u64) as usize
}

impl ShardKey for TenantId {
    /// The lowest bits of an id are random.
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits")]
    fn spread(&self) -> u64 {
        self.to_u128() as u64
    }
}

impl ShardKey for KeyDigest {
    fn spread(&self) -> u64 {
        let [first, second, ..] = self.0;
        u64::from(u16::from_be_bytes([first, second]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ShardKey for u64 {
        fn spread(&self) -> u64 {
            *self
        }
    }

    #[test]
    fn clone_shares_all_shards_but_those_that_change() {
        let mut map = ShardedMap::default();
        for key in 0..5_000_u64 {
            assert_eq!(map.insert(key, key), None);
        }
        let before = map.clone();
        assert_eq!(map.insert(7, 8), Some(7));
        assert_eq!((map.remove(&9), map.remove(&9), map.len()), (Some(9), None, 4_999));
        assert_eq!((before.get(&7), before.get(&9), before.len()), (Some(&7), Some(&9), 5_000));
        assert_eq!((map.get(&7), map.get(&9)), (Some(&8), None));
        assert_eq!((map.iter().count(), before.iter().count()), (4_999, 5_000));
        let pairs = map.shards.iter().zip(before.shards.iter());
        assert_eq!(pairs.filter(|(now, then)| !Arc::ptr_eq(now, then)).count(), 2);
    }
}
