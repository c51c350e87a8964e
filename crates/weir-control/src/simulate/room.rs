//! Room for runs: few at a time in this process, and one of a tenant, so that none takes it all.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use weir_domain::id::TenantId;

/// How many runs there may be at a time.
const RUNS_MAX: usize = 2;

/// Who runs at present; cheap to copy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room(Arc<Mutex<HashSet<TenantId>>>);

/// A run's place, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Room,
    tenant: TenantId,
}

impl Room {
    /// A place for a run of this tenant, if there is one.
    pub(crate) fn enter(&self, tenant: TenantId) -> Option<Place> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = running.len() < RUNS_MAX && running.insert(tenant);
        free.then(|| Place { room: self.clone(), tenant })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_run_at_a_time_and_one_of_a_tenant() {
        let room = Room::default();
        let [one, two, three] = [1, 2, 3].map(TenantId::from_u128);
        let first = room.enter(one).expect("there is room");
        assert!(room.enter(one).is_none(), "one of a tenant");
        let second = room.enter(two).expect("there is room");
        assert!(room.enter(three).is_none(), "two in all");
        drop(first);
        assert!(room.enter(three).is_some() && room.enter(two).is_none());
        drop(second);
        assert!(room.enter(two).is_some());
    }
}
