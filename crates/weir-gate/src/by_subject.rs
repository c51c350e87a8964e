//! What a gate knows of subjects, in parts that are locked one by one: checks of different subjects hardly meet.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_domain::subject::SubjectKey;

/// One `T` for some of the subjects each.
#[derive(Debug)]
pub(crate) struct BySubject<T> {
    hasher: RandomState,
    shards: [Mutex<T>; SHARDS],
}

/// How many parts there are.
pub(crate) const SHARDS: usize = 16;

impl<T: Default> Default for BySubject<T> {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<T> BySubject<T> {
    /// The part that knows this subject.
    pub(crate) fn of(&self, subject: SubjectKey) -> MutexGuard<'_, T> {
        // Callers choose subjects, so their own bits could be made to meet.
        let hash = self.hasher.hash_one(subject);
        lock(&self.shards[usize::try_from(hash % SHARDS as u64).expect("sixteen shards")])
    }

    /// All parts, one after another.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.shards.iter().map(lock)
    }
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whatever a panic left behind is still what is known.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
