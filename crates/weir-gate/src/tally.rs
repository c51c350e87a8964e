//! Statistics: every decision is counted, and no request waits for that.
//!
//! A request counts into the shard of its thread, which nobody else holds but for the moment in which
//! the recorder exchanges it for an empty one; then the request takes another. Once a second the
//! recorder adds the shards to absolute counts of each minute and writes those down.

mod book;
mod leftover;
mod page;
mod piece;
mod recorder;
mod sample;
mod sketch;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use weir_domain::id::{KeyId, TenantId};
use weir_domain::matching::Matched;
use weir_domain::request::Request;
use weir_domain::sample::SamplePlan;
use weir_domain::time::Timestamp;
use weir_wire::check::CheckAnswer;

use self::page::Shard;

pub use recorder::{Recorder, RecorderSettings};

/// One answered request, as it is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) key: KeyId,
    pub(crate) at: Timestamp,
    /// Whether the request's namespace has rules; names that callers make up are counted as one.
    pub(crate) known_namespace: bool,
    /// What is kept of it for what-if runs, if it may be.
    pub(crate) sample: Option<&'a Arc<SamplePlan>>,
    pub(crate) request: &'a Request,
    pub(crate) matched: &'a Matched,
    pub(crate) answer: &'a CheckAnswer,
}

/// Where requests are counted.
#[derive(Debug)]
pub(crate) struct Tally {
    shards: Box<[Mutex<Shard>]>,
    unrecorded: AtomicU64,
}

impl Tally {
    /// Nothing counted yet; without shards nothing ever will be.
    pub(crate) fn new(shards: usize) -> Self {
        let shards = (0..shards).map(|at| Mutex::new(Shard::new(at as u64 + 1))).collect();
        Self { shards, unrecorded: AtomicU64::new(0) }
    }

    /// Shards enough that threads hardly meet.
    pub(crate) fn per_thread() -> Self {
        let threads = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
        Self::new((2 * threads).min(32))
    }

    /// Counts a request; never waits.
    pub(crate) fn record(&self, seen: &Seen<'_>) {
        let count = self.shards.len();
        let home = home();
        for step in 0..count {
            let mut shard = match self.shards[(home + step) % count].try_lock() {
                Ok(shard) => shard,
                // A panic left counts that are at worst one short.
                Err(TryLockError::Poisoned(shard)) => shard.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            shard.count(seen);
            return;
        }
        if count > 0 {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Gives a shard's counts for an empty one's.
    fn exchange(&self, at: usize, spare: &mut Shard) {
        let mut shard = self.shards[at].lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *shard, spare);
    }

    /// How many requests found no shard since this was last asked.
    fn take_unrecorded(&self) -> u64 {
        self.unrecorded.swap(0, Ordering::Relaxed)
    }
}

/// A number of this thread's own.
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
