//! The rulebook in force: replaced as a whole, and read without waiting.

mod apart;
mod cache;
pub(crate) mod clock;
mod compiled;
pub(crate) mod follower;
mod load;
mod snapshot;
mod snapshot_writer;
mod source;
mod whole_load;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use weir_domain::rulebook::Rulebook;

/// Holds the rulebook in force.
#[derive(Debug)]
pub(crate) struct CurrentRulebook {
    book: ArcSwapOption<Rulebook>,
    /// The time at which the first rulebook came into force.
    first: OnceLock<Instant>,
    /// The origin of ages, of a clock that is never set.
    started: Instant,
    /// The time at which the rulebook in force was last known to be the newest, in milliseconds after `started`. Negative
    /// for a snapshot; [`NEVER`] before the first.
    confirmed_ms: AtomicI64,
    /// The announcements after `confirmed_ms`, on the same clock.
    announced: Mutex<Option<Announced>>,
    staleness: OnceLock<Staleness>,
}

/// The times of the first and of the last announcement of a change that is possibly not in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Announced {
    first_ms: i64,
    last_ms: i64,
}

/// The reaction of a gate that cannot confirm that its rulebook is the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    /// The age above which a rulebook is reported as stale.
    pub max_age: Duration,
    /// Whether a gate refuses checks while its rulebook is stale.
    pub refuse: bool,
}

const NEVER: i64 = i64::MIN;
const FIRST_SECOND: Duration = Duration::from_secs(1);
/// The longest time from the announcement of a change until it is in force. Later the rulebook is reported as stale: Postgres is
/// too far away or too slow, or cannot be reached.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(5);

impl Default for Staleness {
    fn default() -> Self {
        Self { max_age: Duration::from_secs(30), refuse: false }
    }
}

impl Default for CurrentRulebook {
    fn default() -> Self {
        Self {
            book: ArcSwapOption::empty(),
            first: OnceLock::new(),
            started: Instant::now(),
            confirmed_ms: AtomicI64::new(NEVER),
            announced: Mutex::default(),
            staleness: OnceLock::new(),
        }
    }
}

impl CurrentRulebook {
    /// The rulebook in force. `None` before the first load.
    pub(crate) fn current(&self) -> Option<Arc<Rulebook>> {
        self.book.load_full()
    }

    /// Puts a rulebook in force. The follower calls it while it holds the lock of its cache.
    pub(crate) fn apply(&self, book: Rulebook) {
        self.first.get_or_init(Instant::now);
        self.book.store(Some(Arc::new(book)));
    }

    /// Whether the first rulebook came into force less than a second ago.
    pub(crate) fn is_first_second(&self) -> bool {
        self.first.get().is_none_or(|first| first.elapsed() < FIRST_SECOND)
    }

    /// Notes that the rulebook in force was the newest `age` ago.
    pub(crate) fn confirm(&self, age: Duration) {
        let at = ms(self.started.elapsed()).saturating_sub(ms(age));
        self.confirmed_ms.store(at.max(NEVER + 1), Ordering::Relaxed);
        // A change that was announced after that time is possibly not in force.
        let mut announced = self.announcements();
        *announced = announced.filter(|announced| announced.last_ms >= at).map(|announced| {
            let first_ms =
                if announced.first_ms < at { announced.last_ms } else { announced.first_ms };
            Announced { first_ms, ..announced }
        });
    }

    /// Notes that a change was announced.
    pub(crate) fn announced(&self) {
        let now = ms(self.started.elapsed());
        let mut announced = self.announcements();
        let first_ms = announced.map_or(now, |announced| announced.first_ms);
        *announced = Some(Announced { first_ms, last_ms: now });
    }

    fn announcements(&self) -> MutexGuard<'_, Option<Announced>> {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a change that was announced is not in force in time.
    fn is_late(&self) -> bool {
        let now = ms(self.started.elapsed());
        self.announcements()
            .is_some_and(|announced| now.saturating_sub(announced.first_ms) > ms(IN_FORCE_WITHIN))
    }

    /// The time since the rulebook in force was last known to be the newest. `None` before the first load.
    pub(crate) fn age(&self) -> Option<Duration> {
        let confirmed = self.confirmed_ms.load(Ordering::Relaxed);
        if confirmed == NEVER {
            return None;
        }
        let age = ms(self.started.elapsed()).saturating_sub(confirmed);
        Some(Duration::from_millis(u64::try_from(age).unwrap_or(0)))
    }

    /// Sets the reaction to a stale rulebook. Only the first call has an effect.
    pub(crate) fn set_staleness(&self, staleness: Staleness) {
        self.staleness.get_or_init(|| staleness);
    }

    /// Whether the rulebook is older than the operator allows, or misses a change that was announced.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_late() || self.is_old()
    }

    /// Whether the rulebook is older than the operator allows.
    fn is_old(&self) -> bool {
        let staleness = self.staleness.get().copied().unwrap_or_default();
        self.age().is_some_and(|age| age > staleness.max_age)
    }

    /// Whether checks are refused because the rulebook is stale.
    pub(crate) fn refuses(&self) -> bool {
        self.staleness.get().is_some_and(|staleness| staleness.refuse) && self.is_old()
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
        let current = CurrentRulebook::default();
        assert_eq!(current.age(), None);
        assert!(!current.is_stale());
        current.confirm(Duration::ZERO);
        assert!(current.age().unwrap() < Duration::from_secs(30));
        current.confirm(Duration::from_secs(90));
        assert!(current.age().unwrap() >= Duration::from_secs(90));
        current.confirm(Duration::MAX);
        assert!(current.age().unwrap() > Duration::from_hours(24));
    }

    #[test]
    fn first_second_begins_with_the_first_rulebook() {
        let current = CurrentRulebook::default();
        assert!(current.is_first_second(), "there is no rulebook");
        current.apply(Rulebook::default());
        assert!(current.is_first_second());
        let earlier = CurrentRulebook::default();
        earlier.first.get_or_init(|| Instant::now().checked_sub(FIRST_SECOND).expect("a time"));
        earlier.apply(Rulebook::default());
        assert!(!earlier.is_first_second(), "a later rulebook begins none");
    }

    #[test]
    fn announced_change_that_is_late_makes_the_rulebook_stale_and_refuses_nothing() {
        let current = CurrentRulebook::default();
        current.set_staleness(Staleness { max_age: Duration::from_secs(30), refuse: true });
        current.confirm(Duration::ZERO);
        current.announced();
        assert!(!current.is_stale(), "there is time");
        let announced = current.announcements().expect("one").first_ms;
        current.announcements().as_mut().expect("one").first_ms = announced - 6_000;
        current.announced();
        assert!(current.is_stale(), "a later announcement extends no deadline");
        assert!(!current.refuses(), "announcements are not trusted that far");
        current.confirm(Duration::from_secs(7));
        assert!(current.is_stale(), "that poll had begun before the announcement");
        current.confirm(Duration::from_secs(1));
        assert!(!current.is_stale());
    }

    #[test]
    fn announcement_during_a_poll_that_confirms_an_earlier_one_has_a_deadline_of_its_own() {
        let current = CurrentRulebook::default();
        let now = ms(current.started.elapsed());
        let announce = |first_s: i64, last_s: i64| {
            let (first_ms, last_ms) = (now - first_s * 1_000, now - last_s * 1_000);
            *current.announcements() = Some(Announced { first_ms, last_ms });
        };
        announce(9, 7);
        // The poll began between both.
        current.confirm(Duration::from_secs(8));
        assert!(current.is_stale(), "the later change is possibly not in force");
        announce(9, 2);
        current.confirm(Duration::from_secs(8));
        assert!(!current.is_stale(), "there is time");
        current.confirm(Duration::ZERO);
        assert_eq!(*current.announcements(), None);
    }

    #[test]
    fn stale_rulebook_is_served_unless_the_operator_chose_to_refuse() {
        let current = CurrentRulebook::default();
        current.confirm(Duration::from_secs(31));
        assert!(current.is_stale());
        assert!(!current.refuses());
        let refusing = CurrentRulebook::default();
        refusing.set_staleness(Staleness { max_age: Duration::from_mins(1), refuse: true });
        refusing.confirm(Duration::from_secs(31));
        assert!(!refusing.is_stale());
        assert!(!refusing.refuses());
        refusing.confirm(Duration::from_secs(61));
        assert!(refusing.refuses());
    }
}
