//! Statistics: every decision is counted, and no request waits for that.
//!
//! A request counts into the shard of its thread. The recorder locks a shard only to exchange it for an empty one; a request
//! that finds its shard locked takes another. Once a second the recorder adds the shards to the absolute counts of each
//! minute and writes these to Postgres.

mod accumulator;
mod customers;
pub(crate) mod decision_export;
mod event;
mod key_uses;
mod leftover;
mod minute_counts;
mod recorder;
mod rule_decision;
mod sample;
mod sample_batch;
mod sketch;
mod steps;
mod subject_text;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use self::minute_counts::Shard;

pub(crate) use event::DecisionEvent;
pub use recorder::{Recorder, RecorderSettings};
pub(crate) use rule_decision::decisions;

/// The counts of all threads.
#[derive(Debug)]
pub(crate) struct Tally {
    shards: Box<[Mutex<Shard>]>,
    unrecorded: AtomicU64,
}

impl Tally {
    /// Empty counts. Without shards nothing is counted.
    pub(crate) fn new(shards: usize) -> Self {
        let shards = (0..shards).map(|at| Mutex::new(Shard::new(at as u64 + 1))).collect();
        Self { shards, unrecorded: AtomicU64::new(0) }
    }

    /// Empty counts with enough shards that threads rarely share one.
    pub(crate) fn per_thread() -> Self {
        let threads = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
        Self::new((2 * threads).min(32))
    }

    /// Counts a request, without waiting.
    pub(crate) fn record(&self, event: &DecisionEvent<'_>) {
        let count = self.shards.len();
        let home = home();
        for step in 0..count {
            let mut shard = match self.shards[(home + step) % count].try_lock() {
                Ok(shard) => shard,
                // After a panic the counts lack at most one request.
                Err(TryLockError::Poisoned(shard)) => shard.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            shard.count(event);
            return;
        }
        if count > 0 {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Exchanges a shard for an empty one.
    fn exchange(&self, at: usize, spare: &mut Shard) {
        let mut shard = self.shards[at].lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *shard, spare);
    }

    /// Returns the number of requests that found no free shard, and sets it to 0.
    fn take_unrecorded(&self) -> u64 {
        self.unrecorded.swap(0, Ordering::Relaxed)
    }
}

/// The number of this thread.
fn home() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static HOME: Cell<Option<usize>> = const { Cell::new(None) };
    }
    HOME.with(|home| {
        home.get().unwrap_or_else(|| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            home.set(Some(number));
            number
        })
    })
}

#[cfg(test)]
mod tests;
