//! Slots: the numbers of the counters of a rule's limits, which an edit retains.

use crate::algorithm::Algorithm;
use crate::limit::Limit;

/// The most slots that a rule uses in its life. Overrides use the numbers from this one on.
pub const SLOTS_MAX: u16 = 1 << 15;

/// The slots of a rule's limits, and the next slot that was never used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slots {
    /// One slot for each limit, in order.
    pub taken: Vec<u16>,
    /// The first slot that no limit of this rule ever had.
    pub next: u16,
}

/// The slots for `after` that retain counters: a limit takes the slot of the first unclaimed limit of the same algorithm and
/// window or period, else of the first of the same algorithm, else a new one.
pub fn carry_slots(before: &[Limit], after: &[Limit], next: u16) -> Slots {
    let mut unclaimed: Vec<&Limit> = before.iter().collect();
    let mut taken: Vec<Option<u16>> = vec![None; after.len()];
    for any_window in [false, true] {
        let same = |a: &Algorithm, b: &Algorithm| {
            a.name() == b.name() && (any_window || a.usual_window_ms() == b.usual_window_ms())
        };
        for (limit, slot) in after.iter().zip(&mut taken).filter(|(_, slot)| slot.is_none()) {
            let found = unclaimed.iter().position(|old| same(&old.algorithm, &limit.algorithm));
            *slot = found.map(|at| unclaimed.remove(at).slot);
        }
    }
    let mut next = next;
    let taken = taken.into_iter().map(|slot| {
        slot.unwrap_or_else(|| {
            let slot = next;
            next = next.saturating_add(1);
            slot
        })
    });
    Slots { taken: taken.collect(), next }
}
