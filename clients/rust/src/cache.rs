//! Denials that the gate permits the client to repeat.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::request::CacheKey;

/// The longest time for which a denial is repeated, whatever the gate permits.
const MAX_MS: u64 = 1_000;

/// Bounded; the oldest entry leaves first.
#[derive(Debug)]
pub(crate) struct DenialCache {
    size: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<CacheKey, Denial>,
    by_age: BTreeMap<u64, CacheKey>,
    inserted: u64,
    /// Changes with each `clear`: a denial of a request that was sent before is not inserted after it.
    generation: u64,
}

#[derive(Debug)]
struct Denial {
    answer: Answer,
    since: Instant,
    until: Instant,
    age: u64,
}

impl DenialCache {
    pub fn new(size: usize) -> Self {
        Self { size, entries: Mutex::default() }
    }

    pub fn generation(&self) -> u64 {
        self.lock().generation
    }

    pub fn get(&self, key: &CacheKey, now: Instant) -> Option<Answer> {
        let mut entries = self.lock();
        let denial = entries.by_key.get(key)?;
        if now < denial.until {
            return Some(denial.answer.later(now.saturating_duration_since(denial.since)));
        }
        entries.remove(key);
        None
    }

    /// `since` is the time before the request was sent, so that the entry ends before the gate's decision does.
    pub fn insert(&self, key: CacheKey, answer: &Answer, since: Instant, generation: u64) {
        let ms = answer.cache_for_ms.min(answer.retry_after_ms.unwrap_or(MAX_MS)).min(MAX_MS);
        if answer.allowed || answer.degraded.is_some() || ms == 0 || self.size == 0 {
            return;
        }
        let mut entries = self.lock();
        if generation != entries.generation {
            return;
        }
        entries.remove(&key);
        if entries.by_key.len() >= self.size
            && let Some((_, oldest)) = entries.by_age.pop_first()
        {
            entries.by_key.remove(&oldest);
        }
        entries.inserted += 1;
        let age = entries.inserted;
        let denial =
            Denial { answer: answer.clone(), since, until: since + Duration::from_millis(ms), age };
        entries.by_age.insert(age, key.clone());
        entries.by_key.insert(key, denial);
    }

    pub fn clear(&self) {
        let mut entries = self.lock();
        entries.generation += 1;
        entries.by_key.clear();
        entries.by_age.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // No code panics while it holds the lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn remove(&mut self, key: &CacheKey) {
        if let Some(denial) = self.by_key.remove(key) {
            self.by_age.remove(&denial.age);
        }
    }
}
