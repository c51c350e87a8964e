//! Concurrency: at most `capacity` leases are held at the same time. A check takes one, whatever its cost. A lease ends when it
//! is released, or `lease_ms` after it was taken or last renewed.

use super::bounds::{InvalidLimit, LEASE_MS_MAX, LEASES_MAX};
use super::clock::ms_until;
use super::definition::{
    Bound, ChargedLimit, Counting, Definition, Described, Level, ScriptParameters, Wait, Windows,
    part,
};
use super::parameter::{Input, Parameter};
use crate::quantity::{grouped, short};
use crate::time::Micros;

/// Parameters of a concurrency limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Concurrency {
    capacity: u64,
    lease_ms: u64,
}

/// 128 random bits, by which the tenant that got a lease can renew and release it. The leases of one check share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LeaseId(pub [u8; 16]);

/// The leases of a counter, ended ones included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeasesState {
    leases: Vec<HeldLease>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldLease {
    /// `None` if nobody can renew or release the lease.
    id: Option<LeaseId>,
    lease_us: u64,
    ends_us: u64,
}

impl Concurrency {
    /// At most `capacity` leases of `lease_ms`.
    pub fn new(capacity: u64, lease_ms: u64) -> Result<Self, InvalidLimit> {
        if !(1..=LEASES_MAX).contains(&capacity) {
            let reason = format!(
                "must be from 1 to {LEASES_MAX} for concurrency, which stores each open lease"
            );
            return Err(InvalidLimit { field: "capacity", reason });
        }
        if !(1..=LEASE_MS_MAX).contains(&lease_ms) {
            let reason = format!("must be from 1 to {LEASE_MS_MAX} milliseconds (a day)");
            return Err(InvalidLimit { field: "lease_ms", reason });
        }
        Ok(Self { capacity, lease_ms })
    }

    /// The most leases at the same time.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The time after which a lease ends by itself, in milliseconds.
    pub const fn lease_ms(&self) -> u64 {
        self.lease_ms
    }

    /// One gate's share of the capacity.
    pub(super) fn share(&self, gates: u64) -> Result<Self, InvalidLimit> {
        Self::new(part(self.capacity, gates), self.lease_ms)
    }

    pub(super) fn describe(capacity: &u64, lease_ms: &u64) -> String {
        format!("{} at the same time, for up to {} each", grouped(*capacity), short(*lease_ms))
    }

    /// Takes a lease. Without an id, nobody can renew or release it.
    pub(crate) fn acquire(&self, state: &mut LeasesState, id: Option<LeaseId>, now: Micros) {
        let lease_us = self.lease_us();
        state.leases.retain(|held| {
            let is_it = id.is_some() && held.id == id && held.lease_us == lease_us;
            held.is_open(now) && !is_it
        });
        state.leases.push(HeldLease { id, lease_us, ends_us: now.0 + lease_us });
    }

    /// Ends the leases with this id. Returns whether there are any.
    pub(crate) fn end(state: &mut LeasesState, id: LeaseId, now: Micros) -> bool {
        let is_it = |held: &HeldLease| held.id == Some(id) && held.is_open(now);
        let found = state.leases.iter().any(is_it);
        state.leases.retain(|held| !is_it(held));
        found
    }

    /// Lets a lease begin anew. Returns whether it is open.
    pub(crate) fn renew(state: &mut LeasesState, id: LeaseId, lease_ms: u64, now: Micros) -> bool {
        let held = state.leases.iter_mut().find(|held| held.is(id, lease_ms, now));
        if let Some(held) = held {
            held.ends_us = now.0 + held.lease_us;
            return true;
        }
        false
    }

    /// Ends a lease. Returns whether it was open.
    pub(crate) fn release(
        state: &mut LeasesState,
        id: LeaseId,
        lease_ms: u64,
        now: Micros,
    ) -> bool {
        let found = state.leases.iter().position(|held| held.is(id, lease_ms, now));
        found.map(|at| state.leases.swap_remove(at)).is_some()
    }

    /// The ends of the open leases, in order.
    fn ends(&self, state: &LeasesState, now: Micros) -> Vec<u64> {
        let open = state.leases.iter().filter(|held| held.is_open(now));
        let mut ends: Vec<_> = open.map(|held| self.end_by_clock(held, now)).collect();
        ends.sort_unstable();
        ends
    }

    /// The end of a lease: after its time at the latest, if the clock was set back since it was taken.
    fn end_by_clock(&self, held: &HeldLease, now: Micros) -> u64 {
        let longest_us = held.lease_us.max(self.lease_us());
        if held.ends_us > now.0 + longest_us { now.0 + held.lease_us } else { held.ends_us }
    }

    const fn lease_us(&self) -> u64 {
        self.lease_ms * 1000
    }
}

impl HeldLease {
    const fn is_open(&self, now: Micros) -> bool {
        now.0 < self.ends_us
    }

    fn is(&self, id: LeaseId, lease_ms: u64, now: Micros) -> bool {
        self.id == Some(id) && self.lease_us == lease_ms * 1000 && self.is_open(now)
    }
}

impl Described for Concurrency {
    const TITLE: &'static str = "Concurrency";
    const HINT: &'static str = "A number of requests at the same time. The caller releases its lease when the work is done.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("capacity", "At the same time", Input::Units),
        Parameter::new("lease_ms", "Lease", Input::Window),
    ];
    const HAS_OWN_KEY: bool = true;
}

impl Definition for Concurrency {
    fn limit(&self) -> u64 {
        self.capacity
    }

    fn window_ms(&self) -> Option<u64> {
        Some(self.lease_ms)
    }

    /// A lease is released by its id.
    fn refundable(&self) -> bool {
        false
    }

    fn leasable(&self) -> bool {
        false
    }

    fn windows(&self) -> Option<Windows<'_>> {
        None
    }

    fn bound(&self) -> Option<Bound> {
        None
    }

    /// That of callers who release nothing.
    fn worst_case(&self, stretch_us: u64, cost: u64) -> u64 {
        (self.capacity * stretch_us.div_ceil(self.lease_us())).saturating_mul(cost)
    }

    fn drawing_note(&self) -> &'static str {
        "If no lease is released: a released one admits the next request at once."
    }
}

impl Counting for Concurrency {
    type State = LeasesState;

    fn keeping(self, units: u64) -> Self {
        Self { capacity: self.capacity.saturating_sub(units), ..self }
    }

    fn settled(&self, state: &LeasesState, now: Micros) -> Option<LeasesState> {
        let by_clock =
            |held: &HeldLease| HeldLease { ends_us: self.end_by_clock(held, now), ..*held };
        let leases: Vec<_> = state.leases.iter().map(by_clock).collect();
        (leases != state.leases).then_some(LeasesState { leases })
    }

    fn wait(&self, state: &LeasesState, _cost: u64, now: Micros) -> Wait {
        let ends = self.ends(state, now);
        let open = ends.len() as u64;
        if self.capacity == 0 {
            return Wait::Forever;
        } else if open < self.capacity {
            return Wait::None;
        }
        // After an edit more can be open than the capacity.
        let at = usize::try_from(open - self.capacity).unwrap_or(usize::MAX);
        Wait::Ms(ms_until(ends[at], now))
    }

    fn charge(&self, state: &mut LeasesState, _cost: u64, now: Micros) {
        self.acquire(state, None, now);
    }

    fn refund(
        &self,
        _state: &mut LeasesState,
        _cost: u64,
        _charge: Option<ChargedLimit>,
        _now: Micros,
    ) -> bool {
        false
    }

    fn level(&self, state: &LeasesState, now: Micros) -> Level {
        let ends = self.ends(state, now);
        Level {
            remaining: self.capacity.saturating_sub(ends.len() as u64),
            reset_after_ms: ends.last().map_or(0, |&at| ms_until(at, now)),
        }
    }

    fn script_parameters(&self) -> ScriptParameters {
        ScriptParameters::Three([self.capacity, self.lease_us(), 0])
    }
}
