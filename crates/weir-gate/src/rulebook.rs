//! The rulebook in force: swapped whole, read without waiting, never a lower version.

pub(crate) mod disk;
pub(crate) mod follow;
mod kept;
mod load;
mod saver;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwapOption;
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Timestamp;

/// Holds the rulebook in force.
#[derive(Debug, Default)]
pub(crate) struct Held {
    book: ArcSwapOption<Rulebook>,
    confirmed_at_ms: AtomicI64,
}

impl Held {
    /// The rulebook in force, once one was loaded.
    pub(crate) fn current(&self) -> Option<Arc<Rulebook>> {
        self.book.load_full()
    }

    /// Puts a newer rulebook in force. Only the follower calls it, one call after another.
    pub(crate) fn apply(&self, book: Rulebook) {
        let newer = self.book.load().as_ref().is_none_or(|held| held.version() < book.version());
        if newer {
            self.book.store(Some(Arc::new(book)));
        }
    }

    /// Notes that the rulebook in force is the newest there is.
    pub(crate) fn confirm(&self, now: Timestamp) {
        self.confirmed_at_ms.store(now.as_millis(), Ordering::Relaxed);
    }

    /// How long ago that was last known.
    pub(crate) fn age_ms(&self, now: Timestamp) -> u64 {
        let confirmed = self.confirmed_at_ms.load(Ordering::Relaxed);
        u64::try_from(now.as_millis() - confirmed).unwrap_or(0)
    }
}
