//! The worst case of a rule: the most units that any traffic can pass.
//!
//! Each algorithm defines its own, over all half-open periods of one length. The tests compare the
//! result with [`decide`](weir_domain::decide::decide), for traffic that reaches it and for random traffic, which must
//! not exceed it.

use weir_domain::rule::Rule;

/// The most units that can pass in any `stretch_us`, in requests of cost `cost`. For several limits this is the lowest
/// of their bounds, which traffic cannot always reach.
pub fn most_in(rule: &Rule, stretch_us: u64, cost: u64) -> u64 {
    let limits = rule.limits().iter();
    limits.map(|limit| limit.algorithm.worst_case(stretch_us, cost)).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
