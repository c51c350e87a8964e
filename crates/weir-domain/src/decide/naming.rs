//! Names the charge of a check that was decided.

use super::decision::Decision;
use crate::algorithm::Algorithm;
use crate::charge::RuleCharge;
use crate::charged::Charged;
use crate::time::Micros;

/// The charge of these rules at this time, by the decisions of their limits. There are none for units that a gate took in advance.
/// `None` if no enforced limit was charged.
pub fn name_charge(
    at: Micros,
    cost: u64,
    charges: &[RuleCharge],
    decisions: Option<&[Decision]>,
) -> Option<Charged> {
    if cost == 0 || charges.iter().all(RuleCharge::is_alone) {
        return None;
    }
    let mut charged = Charged::new(at, cost);
    let mut decisions = decisions.map(<[Decision]>::iter);
    for charge in charges {
        for limit in charge.limits() {
            let decision = decisions.as_mut().and_then(Iterator::next);
            if let (Algorithm::TokenBucket(bucket), false) = (&limit.algorithm, charge.is_alone()) {
                let counter = (charge.active.id, limit.slot);
                let reset_after_ms = decision.map(|decision| decision.reset_after_ms);
                charged.add_bucket(counter, *bucket, reset_after_ms);
            }
        }
    }
    Some(charged)
}
