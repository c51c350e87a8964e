//! Rules with `consistency: approximate`: the units that a gate can lease, and the bound of what they change.
//!
//! A gate holds at most [`lease_units_max`] units of a counter at any time, those on their way from and to Redis included.
//!
//! - **Token bucket.** The tokens of the bucket and those that gates hold only fall, except by the refill, which stops when
//!   the bucket is full. They are at most `capacity + gates × lease_units_max`, so a span of length `t` admits at most
//!   `capacity + gates × lease_units_max + refill_tokens × t ÷ refill_interval_ms`.
//! - **Sliding window counter.** Units are used in the aligned window in which they were taken. The weight of the window
//!   before only falls in that time, so the formula of the algorithm holds whenever a unit is used: a lease admits nothing
//!   that Redis would not admit. Only a step of Redis' clock can add the units that gates hold.

use crate::algorithm::{Algorithm, Approximation, LimitDraft};
use crate::draft::{Action, Consistency, RuleDraft};
use crate::limit::Limit;
use crate::names::InvalidField;
use crate::quantity::{counted, short};

/// A gate leases at most one n-th of a limit.
pub const LEASE_SHARE: u64 = 100;
/// The most units of a lease.
pub const LEASE_UNITS_MAX: u64 = 10_000;
/// The shortest window of a sliding window counter of which gates lease units: its last seconds are for returning them.
pub const LEASED_WINDOW_MS_MIN: u64 = 10_000;

/// The most units of one counter that one gate holds.
pub const fn lease_units_max(limit: u64) -> u64 {
    let share = limit / LEASE_SHARE;
    if share < LEASE_UNITS_MAX { share } else { LEASE_UNITS_MAX }
}

impl Approximation {
    /// Whether gates lease units of such a limit.
    pub const fn is_leased(self) -> bool {
        match self {
            Self::InWindow { window_ms } => window_ms >= LEASED_WINDOW_MS_MIN,
            Self::BesideBucket => true,
        }
    }
}

/// The bound of a rule with these limits, as a sentence. `None` unless it is approximate.
pub fn bound(consistency: Consistency, limits: &[Limit]) -> Option<String> {
    match (consistency, limits) {
        (Consistency::Approximate, [limit]) => in_words(&limit.algorithm),
        _ => None,
    }
}

/// Refuses approximations without a bound, and those that would never take effect.
pub(crate) fn refusal(draft: &RuleDraft, limits: &[Limit]) -> Option<InvalidField> {
    let reason = if draft.action != Action::Limit {
        "must be `exact` unless the action is `limit`".to_owned()
    } else if draft.limits.len() > 1 {
        "must be `exact` or `leased` with several limits: `approximate` permits one".to_owned()
    } else if !draft.block_ms.is_empty() {
        "must be `exact` with `block_ms`: a gate with leased units would not see the block"
            .to_owned()
    } else {
        let [Limit { algorithm, .. }] = limits else { return None };
        let name = algorithm.name();
        if algorithm.approximation().is_some() {
            return None;
        } else if algorithm.windows().is_some() {
            format!(
                "must be `exact` or `leased` with a limit of the algorithm `{name}`, whose leases never exceed it"
            )
        } else {
            format!(
                "must be `exact` with a limit of the algorithm `{name}`: `approximate` is for `token_bucket` and \
                 `sliding_window_counter`"
            )
        }
    };
    Some(InvalidField::new("consistency", reason))
}

/// The bound of a rule that is being written, as a sentence. `None` for other rules, and while the limit is not valid.
pub fn bound_in_words(consistency: Consistency, limits: &[LimitDraft]) -> Option<String> {
    let (Consistency::Approximate, [limit]) = (consistency, limits) else { return None };
    in_words(&Algorithm::parse(limit.clone()).ok()?)
}

fn in_words(algorithm: &Algorithm) -> Option<String> {
    let approximation = algorithm.approximation()?;
    let held = lease_units_max(algorithm.limit());
    if held == 0 {
        return Some(format!(
            "Approximate consistency: a limit below {LEASE_SHARE} is too small for leases, so Redis decides every request."
        ));
    }
    if !approximation.is_leased() {
        return Some(format!(
            "Approximate consistency: a window below {} is too short for leases, so Redis decides every request.",
            short(LEASED_WINDOW_MS_MIN)
        ));
    }
    let holds = format!(
        "Approximate consistency: each gate holds up to {}",
        counted(held, "unit", "units")
    );
    Some(match approximation {
        Approximation::BesideBucket => {
            format!("{holds}, and all gates together can exceed the limit by what they hold.")
        }
        Approximation::InWindow { .. } => {
            format!("{holds}, so near the limit as much less can pass; never more.")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(limits: &[LimitDraft]) -> Option<String> {
        bound_in_words(Consistency::Approximate, limits)
    }

    fn bucket(capacity: u64) -> LimitDraft {
        LimitDraft::TokenBucket { capacity, refill_tokens: 1, refill_interval_ms: 1_000 }
    }

    #[test]
    fn sentence_states_what_a_gate_holds() {
        let brief = LimitDraft::SlidingWindowCounter { limit: 500, window_ms: 9_999 };
        let counter = LimitDraft::SlidingWindowCounter { limit: 100, window_ms: 60_000 };
        for (limit, expected) in [
            (bucket(99), "Approximate consistency: a limit below 100 is too small for leases"),
            (
                bucket(250_000),
                "each gate holds up to 2,500 units, and all gates together can exceed",
            ),
            (bucket(100_000_000), "each gate holds up to 10,000 units, and"),
            (brief, "a window below 10 s is too short for leases"),
            (counter, "each gate holds up to 1 unit, so near the limit as much less can pass"),
        ] {
            let said = said(std::slice::from_ref(&limit)).expect("a sentence");
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn other_rules_have_no_bound() {
        let window = LimitDraft::FixedWindow { limit: 1_000, window_ms: 1_000 };
        assert_eq!(said(&[window]), None);
        assert_eq!(said(&[bucket(0)]), None, "an invalid limit");
        assert_eq!(said(&[bucket(500), bucket(500)]), None);
        for consistency in [Consistency::Exact, Consistency::Leased] {
            assert_eq!(bound_in_words(consistency, &[bucket(500)]), None);
        }
    }
}
