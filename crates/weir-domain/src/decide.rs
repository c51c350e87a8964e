//! Decides a whole check: all limits of all rules are judged first, then all are charged or none.
//!
//! The twin of the Redis script. Gates use it for rules that decide locally while Redis is away, the dashboard draws
//! pictures of rules with it, and the tests compare the script with it.

mod counters;
mod decision;
mod judged;
mod naming;

pub use self::counters::Counters;
pub use self::decision::Decision;
use self::judged::{Outcome, RuleEvaluation, judge};
pub use self::naming::name_charge;
use crate::algorithm::LeaseId;
use crate::charge::Check;
use crate::draft::Over;
use crate::request::Operation;
use crate::reservation::{EXHAUSTED_UNITS, Exhaust, Settlement};
use crate::time::Micros;

/// Decides `check` at `now`: one decision for each limit, in order. None for a commit of a reservation that is not open.
pub fn decide(counters: &mut Counters, check: &Check, now: Micros) -> Vec<Decision> {
    decide_and_settle(counters, check, now).map_or_else(Vec::new, |(decisions, _)| decisions)
}

/// The same, with the effect of a reserve or commit. `None` for a commit of a reservation that is not open.
pub fn decide_and_settle(
    counters: &mut Counters,
    check: &Check,
    now: Micros,
) -> Option<(Vec<Decision>, Option<Settlement>)> {
    let operation = check.operation;
    let cost = check.cost;
    let writes = !matches!(operation, Operation::Peek | Operation::Inspect);
    let names = if counters.1.is_empty() { Vec::new() } else { check.names() };
    let mut settlement = match operation {
        Operation::Commit(commit) => {
            let units = counters.1.remove(commit, &names, now)?;
            Some(Settlement::Released { units, charged: cost })
        }
        _ => None,
    };
    if writes {
        counters.1.remove_ended(&names, now);
    }
    let mut judged: Vec<_> =
        check.rules.iter().map(|rule| judge(counters, rule, check, now)).collect();
    let enforced_pass = judged.iter().filter(|rule| rule.enforced()).all(RuleEvaluation::passes);
    let enforced_denied_by_limit =
        judged.iter().filter(|rule| rule.enforced()).any(RuleEvaluation::denied_by_limit);
    let mut reserved = 0;
    if let Operation::Reserve(reserve) = operation {
        if enforced_pass {
            reserved = if reserve.at_most { left(&mut judged, cost, now) } else { cost };
        }
        let ends = Micros(now.0 + reserve.ttl_ms * 1000);
        settlement = Some(Settlement::Held { units: reserved, ends });
    }
    if let Operation::Exhaust(terms) = operation {
        settlement = Some(exhaust(&mut judged, counters, terms, now));
    }
    let lease_id = match operation {
        Operation::Reserve(reserve) => Some(LeaseId(reserve.id.0)),
        _ => check.lease_id,
    };
    if operation == Operation::Consume && lease_id.is_some() && check.has_concurrency() {
        settlement = Some(Settlement::Leased { at: now });
    }
    let mut decisions = Vec::with_capacity(check.limit_count());
    for rule in &mut judged {
        let (passes, denied_by_limit) = if rule.enforced() {
            (enforced_pass, enforced_denied_by_limit)
        } else {
            (rule.passes(), rule.denied_by_limit())
        };
        // Where the enforced rules deny, nothing is reserved at a rule alone either.
        let reserves = matches!(operation, Operation::Reserve(_));
        let admitted = passes && (!reserves || enforced_pass);
        let outcome = outcome(operation, rule.only_looks(), admitted);
        match (outcome, operation) {
            (Outcome::Passed, Operation::Reserve(_)) => rule.reserve(lease_id, now),
            (Outcome::Passed, _) => rule.charge(lease_id, now),
            (Outcome::Denied, _) => rule.deny(denied_by_limit, now),
            (_, Operation::Refund) if rule.enforced() => rule.refund(check, now),
            (_, Operation::Record | Operation::Commit(_)) if rule.cost > 0 => {
                rule.record(operation == Operation::Record, now);
            }
            (Outcome::Inspected, _) => {}
        }
        let holds = reserves && outcome == Outcome::Passed;
        decisions.extend(rule.report(outcome, if holds { reserved } else { 0 }, now));
        if writes {
            rule.store(counters, now);
        }
        if let (true, Operation::Reserve(reserve), Some(Settlement::Held { units, ends })) =
            (holds, operation, settlement)
        {
            let names: Vec<_> = rule.held_at().collect();
            counters.1.add(reserve.id, units, ends, &names);
        }
    }
    Some((decisions, settlement))
}

/// Lets the enforced limits count as exhausted. A subject without room for another reservation stays as it is.
fn exhaust(
    judged: &mut [RuleEvaluation<'_>],
    counters: &mut Counters,
    terms: Exhaust,
    now: Micros,
) -> Settlement {
    let ends = Micros(now.0 + terms.for_ms * 1000);
    for rule in judged.iter_mut().filter(|rule| rule.enforced() && rule.full_ms == 0) {
        let names: Vec<_> = rule.held_at().collect();
        rule.exhaust(terms.for_ms);
        counters.1.add(terms.id, EXHAUSTED_UNITS, ends, &names);
    }
    Settlement::Held { units: EXHAUSTED_UNITS, ends }
}

/// The most units that can be reserved at all enforced limits, at most `cost`.
fn left(judged: &mut [RuleEvaluation<'_>], cost: u64, now: Micros) -> u64 {
    let bounding =
        judged.iter_mut().filter(|rule| rule.enforced() && rule.meters.over == Over::Deny);
    let limits = bounding.flat_map(|rule| &mut rule.limits).filter(|limit| limit.holds_units());
    limits.fold(cost, |units, limit| {
        let level = limit.meter.level(&mut limit.counter, now);
        units.min(level.remaining.saturating_sub(limit.held.units))
    })
}

fn outcome(operation: Operation, only_looks: bool, admitted: bool) -> Outcome {
    match operation {
        Operation::Refund
        | Operation::Inspect
        | Operation::Record
        | Operation::Commit(_)
        | Operation::Exhaust(_)
        | Operation::Renew(_)
        | Operation::Release(_) => Outcome::Inspected,
        _ if only_looks => Outcome::Inspected,
        _ if admitted => Outcome::Passed,
        Operation::Consume | Operation::Peek | Operation::Reserve(_) => Outcome::Denied,
    }
}

#[cfg(test)]
mod tests;
