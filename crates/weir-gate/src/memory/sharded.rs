//! State that is split into shards with a lock each, so that checks of different subjects rarely wait for each other.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One `T` for each shard.
#[derive(Debug)]
pub(crate) struct Sharded<T> {
    hasher: RandomState,
    shards: [Mutex<T>; SHARDS],
}

/// The number of shards.
pub(crate) const SHARDS: usize = 16;

impl<T: Default> Default for Sharded<T> {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<T> Sharded<T> {
    /// The shard of this subject or tenant.
    pub(crate) fn of(&self, key: impl Hash) -> MutexGuard<'_, T> {
        // A keyed hash: callers choose subjects and could otherwise send all of them to one shard.
        let hash = self.hasher.hash_one(key);
        lock(&self.shards[usize::try_from(hash % SHARDS as u64).expect("sixteen shards")])
    }

    /// All shards, one after another.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.shards.iter().map(lock)
    }
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic the shard lacks at most one entry.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
