//! The rulebook in force: swapped whole, read without waiting, never a lower version.

pub(crate) mod disk;
pub(crate) mod follow;
mod kept;
mod load;
mod saver;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use weir_domain::rulebook::Rulebook;

/// Holds the rulebook in force.
#[derive(Debug)]
pub(crate) struct Held {
    book: ArcSwapOption<Rulebook>,
    /// Ages are measured by a clock that is never set, from here.
    started: Instant,
    /// When the rulebook in force was last known to be the newest, in milliseconds after `started`. Negative for a disk
    /// copy; [`NEVER`] before the first.
    confirmed_ms: AtomicI64,
    staleness: OnceLock<Staleness>,
}

/// What becomes of a gate that cannot find out whether its rulebook is still the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    /// An older rulebook is reported as stale.
    pub max_age: Duration,
    /// Whether a gate refuses checks while its rulebook is stale.
    pub refuse: bool,
}

const NEVER: i64 = i64::MIN;

impl Default for Staleness {
    fn default() -> Self {
        Self { max_age: Duration::from_secs(30), refuse: false }
    }
}

impl Default for Held {
    fn default() -> Self {
        Self {
            book: ArcSwapOption::empty(),
            started: Instant::now(),
            confirmed_ms: AtomicI64::new(NEVER),
            staleness: OnceLock::new(),
        }
    }
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

    /// Notes that the rulebook in force was the newest `age` ago.
    pub(crate) fn confirm(&self, age: Duration) {
        let at = ms(self.started.elapsed()).saturating_sub(ms(age));
        self.confirmed_ms.store(at.max(NEVER + 1), Ordering::Relaxed);
    }

    /// How long it has not been known whether there is a newer rulebook. `None` before the first.
    pub(crate) fn age(&self) -> Option<Duration> {
        let confirmed = self.confirmed_ms.load(Ordering::Relaxed);
        if confirmed == NEVER {
            return None;
        }
        let age = ms(self.started.elapsed()).saturating_sub(confirmed);
        Some(Duration::from_millis(u64::try_from(age).unwrap_or(0)))
    }

    /// Sets what happens to a rulebook that grows old. Only the first call counts.
    pub(crate) fn set_staleness(&self, staleness: Staleness) {
        self.staleness.get_or_init(|| staleness);
    }

    /// Whether the rulebook is older than the operator allows.
    pub(crate) fn is_stale(&self) -> bool {
        let staleness = self.staleness.get().copied().unwrap_or_default();
        self.age().is_some_and(|age| age > staleness.max_age)
    }

    /// Whether checks are refused for that reason.
    pub(crate) fn refuses(&self) -> bool {
        self.staleness.get().is_some_and(|it| it.refuse) && self.is_stale()
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_unknown_before_the_first_rulebook_and_never_negative_after_it() {
        let held = Held::default();
        assert_eq!(held.age(), None);
        assert!(!held.is_stale());
        held.confirm(Duration::ZERO);
        assert!(held.age().unwrap() < Duration::from_secs(30));
        held.confirm(Duration::from_secs(90));
        assert!(held.age().unwrap() >= Duration::from_secs(90));
        held.confirm(Duration::MAX);
        assert!(held.age().unwrap() > Duration::from_hours(24));
    }

    #[test]
    fn stale_rulebook_is_served_unless_the_operator_chose_to_refuse() {
        let held = Held::default();
        held.confirm(Duration::from_secs(31));
        assert!(held.is_stale());
        assert!(!held.refuses());
        let refusing = Held::default();
        refusing.set_staleness(Staleness { max_age: Duration::from_mins(1), refuse: true });
        refusing.confirm(Duration::from_secs(31));
        assert!(!refusing.is_stale());
        assert!(!refusing.refuses());
        refusing.confirm(Duration::from_secs(61));
        assert!(refusing.refuses());
    }
}
