//! Reservations: units that are held outside the counters until a commit, or until their time has passed.
//!
//! The open reservations of a check's counters take part in its decision. `decide` holds and releases them. The twin in Redis
//! is `reservations.lua`.

use crate::algorithm::{Counter, Meter, SLACK_US, Wait};
use crate::counter::CounterName;
use crate::id::TenantId;
use crate::subject::SubjectKey;
use crate::time::Micros;

/// The shortest time to live of a reservation, in milliseconds.
pub const RESERVED_MIN_MS: u64 = 1_000;
/// The longest time to live of a reservation, in milliseconds.
pub const RESERVED_MAX_MS: u64 = 600_000;
/// The most open reservations of one subject in a namespace.
pub const RESERVATIONS_OF_SUBJECT_MAX: usize = 1_000;
/// A reservation that ends later than this was made before the clock was set back. It counts as ended.
pub const RESERVED_MAX_US: u64 = RESERVED_MAX_MS * 1000 + SLACK_US;

/// The units that an [`Exhaust`] holds: more than any limit, and a thousand of them are counted exactly.
pub const EXHAUSTED_UNITS: u64 = 1 << 41;

/// 128 random bits, by which the tenant that made a reservation can commit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReservationId(pub [u8; 16]);

/// A new reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reserve {
    /// The id.
    pub id: ReservationId,
    /// The time to live in milliseconds.
    pub ttl_ms: u64,
    /// Whether the caller accepts fewer units than the cost, at least one.
    pub at_most: bool,
}

/// A reservation of more units than any limit has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exhaust {
    /// The id.
    pub id: ReservationId,
    /// The time for which the limits count as exhausted, in milliseconds.
    pub for_ms: u64,
}

/// The end of a reservation by its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Commit {
    /// The id.
    pub id: ReservationId,
    /// The time at which the reservation ends by itself.
    pub ends: Micros,
}

/// The effect of a [`Reserve`], [`Exhaust`] or [`Commit`], or on leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// These units are held at each limit; 0 if the reservation was denied.
    Held {
        /// The units.
        units: u64,
        /// The time at which the reservation ends by itself.
        ends: Micros,
    },
    /// The reservation is no longer open.
    Released {
        /// The units that were held.
        units: u64,
        /// The units that each limit took.
        charged: u64,
    },
    /// Leases of concurrency limits were taken by a check that passed, or one was renewed or released.
    Leased {
        /// The time from which they last.
        at: Micros,
    },
}

/// The open reservations of counters in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reservations(Vec<Open>);

/// The part of an open reservation that concerns one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    id: ReservationId,
    tenant: TenantId,
    subject: SubjectKey,
    units: u64,
    ends: Micros,
    names: Vec<CounterName>,
}

/// The units that open reservations hold at one counter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    /// Their sum.
    pub(crate) units: u64,
    /// The times at which units are released, with the units, in order.
    releases: Vec<(Micros, u64)>,
}

impl Open {
    fn is_live(&self, now: Micros) -> bool {
        now < self.ends && self.ends.0 <= now.0 + RESERVED_MAX_US
    }

    fn concerns(&self, names: &[CounterName]) -> bool {
        names.iter().any(|name| self.names.contains(name))
    }
}

impl Reservations {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes those at the counters of a check that have ended.
    pub(crate) fn remove_ended(&mut self, names: &[CounterName], now: Micros) {
        self.0.retain(|open| open.is_live(now) || !open.concerns(names));
    }

    /// Removes a reservation of the subjects of a check. Returns its units, or `None` if it is not open.
    pub(crate) fn remove(
        &mut self,
        commit: Commit,
        names: &[CounterName],
        now: Micros,
    ) -> Option<u64> {
        let is_it = |open: &Open| {
            let subject = (open.tenant, open.subject);
            open.id == commit.id
                && open.ends == commit.ends
                && open.is_live(now)
                && names.iter().any(|name| (name.tenant, name.subject) == subject)
        };
        let units = self.0.iter().filter(|open| is_it(open)).map(|open| open.units).max();
        self.0.retain(|open| !is_it(open));
        units
    }

    /// Adds a reservation at these counters.
    pub(crate) fn add(
        &mut self,
        id: ReservationId,
        units: u64,
        ends: Micros,
        held: &[CounterName],
    ) {
        for name in held {
            let tenant = name.tenant;
            let subject = name.subject;
            let is_it = |open: &&mut Open| {
                open.id == id && (open.tenant, open.subject) == (tenant, subject)
            };
            match self.0.iter_mut().find(is_it) {
                Some(open) => open.names.push(*name),
                None => {
                    let names = vec![*name];
                    self.0.push(Open { id, tenant, subject, units, ends, names });
                }
            }
        }
    }

    /// The units that are held at a counter.
    pub(crate) fn held(&self, name: CounterName, now: Micros) -> Held {
        let live = self.0.iter().filter(|open| open.is_live(now) && open.names.contains(&name));
        let mut releases: Vec<_> = live.map(|open| (open.ends, open.units)).collect();
        releases.sort_unstable();
        Held { units: releases.iter().map(|(_, units)| units).sum(), releases }
    }

    /// Milliseconds until the subject of a counter can have another reservation; 0 if it can have one now.
    pub(crate) fn full_ms(&self, name: CounterName, now: Micros) -> u64 {
        let own = |open: &&Open| {
            open.is_live(now) && (open.tenant, open.subject) == (name.tenant, name.subject)
        };
        let first = self.0.iter().filter(own).map(|open| open.ends).min();
        let count = self.0.iter().filter(own).count();
        match first {
            Some(ends) if count >= RESERVATIONS_OF_SUBJECT_MAX => ms_until(ends, now),
            _ => 0,
        }
    }
}

impl Held {
    /// Whether a charge of `cost` passes beside the held units, and if not, when it could: once enough of them are released,
    /// or the counter has room for those that are left.
    pub(crate) fn wait(
        &self,
        meter: &Meter,
        counter: &mut Counter,
        cost: u64,
        now: Micros,
    ) -> Wait {
        let all = meter.wait(counter, cost + self.units, now);
        if self.units == 0 || all == Wait::None {
            return all;
        }
        let mut left = self.units;
        let mut best: Option<u64> = match all {
            Wait::Ms(ms) => Some(ms),
            Wait::None | Wait::Forever => None,
        };
        for &(ends, units) in &self.releases {
            left -= units;
            let released_ms = ms_until(ends, now);
            let ms = match meter.wait(counter, cost + left, now) {
                Wait::None => 0,
                Wait::Ms(ms) => ms,
                Wait::Forever => continue,
            };
            best = Some(best.map_or(ms.max(released_ms), |best| best.min(ms.max(released_ms))));
            if ms <= released_ms {
                break;
            }
        }
        best.map_or(Wait::Forever, Wait::Ms)
    }
}

fn ms_until(at: Micros, now: Micros) -> u64 {
    at.0.saturating_sub(now.0).div_ceil(1000)
}
