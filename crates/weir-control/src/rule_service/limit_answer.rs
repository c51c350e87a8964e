//! The state of a limit in JSON.

use std::sync::Arc;

use weir_domain::calendar;
use weir_domain::decide::Decision;
use weir_domain::limit::Limit;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Micros;
use weir_wire::check::LimitAnswer;
use weir_wire::limits::AlgorithmName;
use weir_wire::regions::RegionLimits;

use super::counters::{Inspected, InspectedRegion};

/// The decisions of a rule's limits, in JSON. `decided` is the time of the inspection.
pub(super) fn limit_answers(
    active: &ActiveRule,
    limits: &[Limit],
    decisions: &[Decision],
    decided: Micros,
) -> Vec<LimitAnswer> {
    let pairs = limits.iter().zip(decisions);
    pairs.map(|(limit, decision)| limit_answer(active, limit, *decision, decided)).collect()
}

/// The limits of a rule in each region in which it is counted, in JSON.
pub(super) fn region_limits(
    active: &ActiveRule,
    limits: &[Limit],
    inspected: &Inspected,
) -> Vec<RegionLimits> {
    let at = inspected.at;
    let unread = || limits.iter().map(|limit| unread_limit_answer(active, limit, at)).collect();
    let of_region = |of: &InspectedRegion| RegionLimits {
        region: of.region.to_string(),
        limits: match &of.decisions {
            Some(decisions) => limit_answers(active, limits, decisions, at),
            None => unread(),
        },
    };
    inspected.regions.iter().map(of_region).collect()
}

/// The decision of one limit of a rule, in JSON. `decided` is the time of the inspection.
fn limit_answer(
    active: &ActiveRule,
    limit: &Limit,
    decision: Decision,
    decided: Micros,
) -> LimitAnswer {
    let unread = unread_limit_answer(active, limit, decided);
    let renews = unread.window_ms > 0;
    LimitAnswer {
        allowed: decision.allowed,
        remaining: Some(decision.remaining),
        reset_after_ms: renews.then_some(decision.reset_after_ms),
        retry_after_ms: decision.retry_after_ms,
        delay_ms: decision.delay_ms,
        ..unread
    }
}

/// A limit whose counter could not be read, in JSON: what is left is null.
pub(super) fn unread_limit_answer(active: &ActiveRule, limit: &Limit, now: Micros) -> LimitAnswer {
    let algorithm = &limit.algorithm;
    LimitAnswer {
        rule: Arc::clone(active.name()),
        rule_id: Arc::clone(active.id_text()),
        algorithm: AlgorithmName::from(algorithm),
        mode: active.rule.mode().into(),
        allowed: true,
        limit: algorithm.limit(),
        remaining: None,
        window_ms: calendar::window_ms(algorithm, now),
        reset_after_ms: None,
        retry_after_ms: Some(0),
        delay_ms: 0,
        refunded: None,
    }
}
