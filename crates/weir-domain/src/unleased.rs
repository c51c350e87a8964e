//! Rules of which gates lease no units, and why.

use crate::algorithm::{Algorithm, Approximation};
use crate::draft::Consistency;
use crate::limit::Limit;
use crate::rule::Rule;

/// Why gates lease no units of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unleased {
    /// The rule is `exact`.
    Exact,
    /// The rule has no limits.
    NoLimit,
    /// Of two limits the longer one would still count units that ended with the shorter.
    SeveralLimits,
    /// The consistency of the rule permits no leases of this algorithm.
    Algorithm,
    /// A gate with leased units would not see the block.
    Block,
}

impl Unleased {
    /// The reason for a rule with these limits, which are its own or those of an override. `None` if gates lease units.
    pub fn reason(rule: &Rule, limits: &[Limit]) -> Option<Self> {
        let is_permitted: fn(&Algorithm) -> bool = match rule.consistency() {
            Consistency::Exact => return Some(Self::Exact),
            Consistency::Leased => is_window,
            // An override of an approximate rule can have a window.
            Consistency::Approximate => |algorithm| is_window(algorithm) || is_bounded(algorithm),
        };
        match limits {
            [] => Some(Self::NoLimit),
            [_, _, ..] => Some(Self::SeveralLimits),
            [limit] if !is_permitted(&limit.algorithm) => Some(Self::Algorithm),
            [_] => rule.block_ms().map(|_| Self::Block),
        }
    }
}

/// Whether units belong to a window and end with it.
fn is_window(algorithm: &Algorithm) -> bool {
    algorithm.windows().is_some()
}

/// Whether a bound states what leased units add.
fn is_bounded(algorithm: &Algorithm) -> bool {
    algorithm.approximation().is_some_and(Approximation::is_leased)
}
