//! The denials of the last minute, by caller and log, and the choice of those that get an entry of their own.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;
use weir_store::Actor;

/// The log that a denial belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// The log of a tenant, for its own members and keys.
    Tenant(TenantId),
    /// The log of a person, which operators can read too.
    Own(UserId),
}

/// The denials of the last minute, by caller and log.
#[derive(Debug, Default)]
pub(crate) struct Denials(Mutex<HashMap<Key, Minute>>);

type Key = (String, Option<TenantId>);

#[derive(Debug, Clone)]
pub(super) struct Minute {
    pub(super) begun: Timestamp,
    recorded: u32,
    pub(super) counted: u64,
    pub(super) log: Log,
    pub(super) actor: Actor,
}

const RECORDED_MAX: u32 = 10;
const MINUTE_MS: i64 = 60_000;
/// The most callers in memory. Denials of further callers are recorded without a limit.
const CALLERS_MAX: usize = 20_000;

impl Denials {
    /// Whether the denial gets an entry of its own. If not, it is counted.
    pub(super) fn admit(&self, actor: &Actor, log: Log, now: Timestamp) -> bool {
        let mut callers = self.lock();
        let key = key(actor, log);
        if callers.len() >= CALLERS_MAX && !callers.contains_key(&key) {
            callers.retain(|_, minute| minute.counted > 0 || !minute.is_over(now));
            if callers.len() >= CALLERS_MAX {
                return true;
            }
        }
        let fresh = || Minute { begun: now, recorded: 0, counted: 0, log, actor: actor.clone() };
        let minute = callers.entry(key).or_insert_with(fresh);
        // A count is retained until it is written.
        if minute.is_over(now) && minute.counted == 0 {
            *minute = fresh();
        }
        if minute.recorded < RECORDED_MAX {
            minute.recorded += 1;
            true
        } else {
            minute.counted += 1;
            false
        }
    }

    /// Removes the minutes that are over. Returns those that have a number to write.
    pub(super) fn take_counted(&self, now: Timestamp, all: bool) -> Vec<Minute> {
        let mut callers = self.lock();
        let over = callers.extract_if(|_, minute| all || minute.is_over(now));
        over.map(|(_, minute)| minute).filter(|minute| minute.counted > 0).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Minute>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Minute {
    fn is_over(&self, now: Timestamp) -> bool {
        now.as_millis() - self.begun.as_millis() >= MINUTE_MS
    }
}

fn key(actor: &Actor, log: Log) -> Key {
    let caller = match actor {
        Actor::Person { id, .. } => id.to_string(),
        Actor::Key { id, .. } => id.to_string(),
        Actor::System | Actor::Anonymous => String::new(),
    };
    (caller, log.tenant_id())
}

impl Log {
    pub(super) fn tenant_id(self) -> Option<TenantId> {
        match self {
            Self::Tenant(tenant_id) => Some(tenant_id),
            Self::Own(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    #[test]
    fn eleventh_denial_of_a_minute_is_counted_and_the_count_taken_once() {
        let denials = Denials::default();
        let actor = Actor::Person { id: UserId::from_u128(7), email: "a@example.com".to_owned() };
        let log = Log::Tenant(TenantId::from_u128(1));
        let admitted = (0..15).filter(|_| denials.admit(&actor, log, NOW)).count();
        assert_eq!(admitted, 10);
        assert!(denials.admit(&actor, Log::Own(UserId::from_u128(7)), NOW), "another log");
        assert!(denials.take_counted(NOW.plus_ms(59_999), false).is_empty());
        // Another denial after the minute does not discard the count.
        assert!(!denials.admit(&actor, log, NOW.plus_ms(60_000)));
        let taken = denials.take_counted(NOW.plus_ms(60_000), false);
        assert_eq!(taken.iter().map(|minute| minute.counted).collect::<Vec<_>>(), [6]);
        assert!(denials.take_counted(NOW.plus_ms(60_000), true).is_empty());
        assert!(denials.admit(&actor, log, NOW.plus_ms(60_000)));
    }
}
