//! Requests that are decided together: the rules that match any of them are charged together, each subject once.

use std::sync::Arc;

use weir_domain::charge::RuleCharge;
use weir_domain::matching::{LIMITS_PER_CHECK_MAX, Matched};
use weir_domain::request::{Operation, Request};
use weir_wire::check::{CheckAnswer, LimitAnswer};

/// The requests that meet a rule, as a set of their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origins(u64);

/// The most requests that are decided together.
pub(crate) const REQUESTS_MAX: usize = u64::BITS as usize;

impl Origins {
    fn of(position: usize) -> Self {
        debug_assert!(position < REQUESTS_MAX, "a bit for each request");
        Self(1 << position)
    }

    /// Whether the request at this position meets the rule.
    pub(crate) fn contains(self, position: usize) -> bool {
        self.0 & Self::of(position).0 != 0
    }

    /// The first request that meets the rule.
    pub(crate) fn first(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

/// The answer to requests that were decided together.
#[derive(Debug)]
pub(crate) struct MergedCheck {
    pub(crate) answer: CheckAnswer,
    /// The requests that meet each limit of the answer. Empty if no limit decided.
    limits: Vec<Origins>,
    /// The requests that a rule with action `deny` denies.
    denied: Vec<Origins>,
}

impl MergedCheck {
    pub(crate) fn new(answer: CheckAnswer, matched: &Matched, origins: &[Origins]) -> Self {
        let (limits, denied) = match matched {
            Matched::Charged(charges) if !answer.limits.is_empty() => {
                let each = charges.iter().zip(origins);
                let limits =
                    each.flat_map(|(charge, &met)| charge.limits().iter().map(move |_| met));
                (limits.collect(), Vec::new())
            }
            Matched::Denied(_) => (Vec::new(), origins.to_vec()),
            Matched::Charged(_)
            | Matched::Allowed(_)
            | Matched::Unmatched(_)
            | Matched::TooManyLimits => Default::default(),
        };
        Self { answer, limits, denied }
    }

    /// The limits that the request at this position meets.
    pub(crate) fn limits_of(&self, position: usize) -> impl Iterator<Item = &LimitAnswer> {
        let met = self.answer.limits.iter().zip(&self.limits);
        met.filter(move |(_, origins)| origins.contains(position)).map(|(limit, _)| limit)
    }

    /// Whether a rule denies the request at this position, whatever its limits.
    pub(crate) fn denies(&self, position: usize) -> bool {
        self.denied.iter().any(|origins| origins.contains(position))
    }
}

/// The rules that match any of the requests, and the requests that meet each. A subject that several requests meet is charged
/// once, with the largest of their costs. The cost of a request that only looks is 0.
pub(crate) fn merged(requests: &[Request], matched: Vec<Matched>) -> (Matched, Vec<Origins>) {
    let mut charges: Vec<(RuleCharge, u64, Origins)> = Vec::new();
    let mut denied = Vec::new();
    let mut allowed = None;
    let mut decides = false;
    let mut missing = None;
    for (at, (request, matched)) in requests.iter().zip(matched).enumerate() {
        let looks = matches!(request.operation(), Operation::Peek | Operation::Inspect);
        let cost = if looks { 0 } else { request.cost() };
        decides |= !matches!(matched, Matched::Unmatched(_));
        match matched {
            Matched::Unmatched(attribute) => missing = missing.or(attribute),
            Matched::Charged(own) => {
                for charge in own {
                    add(&mut charges, charge, cost, at);
                }
            }
            Matched::Denied(by) => {
                denied.extend(by.into_iter().map(|rule| (rule, Origins::of(at))));
            }
            Matched::Allowed(by) => {
                allowed.get_or_insert((by, Origins::of(at)));
            }
            Matched::TooManyLimits => return (Matched::TooManyLimits, Vec::new()),
        }
    }
    if !denied.is_empty() {
        let (rules, origins) = denied.into_iter().unzip();
        return (Matched::Denied(rules), origins);
    }
    if let (true, Some((rule, origins))) = (charges.is_empty(), allowed) {
        return (Matched::Allowed(rule), vec![origins]);
    }
    if !decides {
        return (Matched::Unmatched(missing), Vec::new());
    }
    charged(requests, charges)
}

fn add(charges: &mut Vec<(RuleCharge, u64, Origins)>, charge: RuleCharge, cost: u64, at: usize) {
    let same = |(known, ..): &&mut (RuleCharge, u64, Origins)| {
        Arc::ptr_eq(&known.active, &charge.active) && known.subject == charge.subject
    };
    match charges.iter_mut().find(same) {
        Some((known, most, origins)) => {
            *most = cost.max(*most);
            known.keep_share = known.keep_share.max(charge.keep_share);
            origins.0 |= Origins::of(at).0;
        }
        None => charges.push((charge, cost, Origins::of(at))),
    }
}

/// The charges in one check, enforced ones first. One check cannot have too many limits, nor counters that are spread by
/// different values.
fn charged(
    requests: &[Request],
    mut charges: Vec<(RuleCharge, u64, Origins)>,
) -> (Matched, Vec<Origins>) {
    let limits: usize = charges.iter().map(|(charge, ..)| charge.limits().len()).sum();
    let mut spreads =
        charges.iter().map(|(charge, ..)| charge.spread).filter(|key| key.is_spread());
    let first = spreads.next();
    if limits > LIMITS_PER_CHECK_MAX || spreads.any(|spread| Some(spread) != first) {
        return (Matched::TooManyLimits, Vec::new());
    }
    charges.sort_by_key(|(charge, ..)| charge.is_alone());
    let common = requests.first().filter(|first| first.operation() != Operation::Peek);
    let common = common.map(Request::cost);
    let charge = |(mut charge, cost, origins): (RuleCharge, u64, Origins)| {
        charge.own_cost = Some(cost).filter(|_| Some(cost) != common);
        (charge, origins)
    };
    let (charges, origins) = charges.into_iter().map(charge).unzip();
    (Matched::Charged(charges), origins)
}

#[cfg(test)]
mod tests;
