//! The counters of rules, in one Redis or in those of the regions: inspected without a charge, read, and reset.
//!
//! With regions, their gates are asked. A rule with `reach: "world"` is counted in the home, and others are counted in each region.

use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::Reach;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::time::Micros;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, ScriptCheck, WindowCounter, WindowUnits};
use weir_region::{
    AnswerMessage, Bits, CHECKS_PER_CALL_MAX, CheckMessage, CounterMessage, RegionLink, Work,
};

use crate::state::ControlState;

/// The error of counters that could not be read or reset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CountersError {
    /// Redis did not answer.
    #[error("the counters are temporarily unavailable")]
    Unavailable(#[from] RedisError),
    /// The gates of a region did not answer.
    #[error("the counters of region `{0}` are temporarily unavailable")]
    Region(Arc<str>, #[source] RedisError),
    /// The limiter answered an inspection with a result other than decisions.
    #[error("an inspection was not decided")]
    Undecided,
}

/// The state of a rule's limits for a subject.
#[derive(Debug)]
pub(crate) struct Inspected {
    /// The time of Redis.
    pub(crate) at: Micros,
    /// The decisions of the limits; those of the region where least is left, if the rule is counted in several.
    pub(crate) decisions: Vec<Decision>,
    /// Each region in which the rule is counted. Empty if it is counted in one place.
    pub(crate) regions: Vec<InspectedRegion>,
}

/// The decisions of one region.
#[derive(Debug)]
pub(crate) struct InspectedRegion {
    pub(crate) region: Arc<str>,
    /// `None` if the region did not answer.
    pub(crate) decisions: Option<Vec<Decision>>,
}

impl Inspected {
    /// The units that are used of the limit at this position, in all places.
    pub(crate) fn used(&self, at: usize, limit: u64) -> Result<u64, CountersError> {
        let used = |decisions: &[Decision]| {
            decisions.get(at).map_or(0, |decision| limit.saturating_sub(decision.remaining))
        };
        if self.regions.is_empty() {
            return Ok(used(&self.decisions));
        }
        let of_region = |of: &InspectedRegion| match &of.decisions {
            Some(decisions) => Ok(used(decisions)),
            None => Err(CountersError::Region(Arc::clone(&of.region), RedisError::Away)),
        };
        self.regions.iter().map(of_region).sum()
    }

    /// The number of places in which the rule is counted, each of which has its whole limit.
    pub(crate) fn places(&self) -> u64 {
        u64::try_from(self.regions.len()).unwrap_or(1).max(1)
    }
}

type Decided = Result<(Micros, Vec<Decision>), CountersError>;

/// Returns for each charge, which are of rules of one namespace, the decisions of its limits on a request of this cost now.
pub(crate) async fn inspect<'c>(
    control: &ControlState,
    tenant: TenantId,
    namespace: &str,
    cost: u64,
    charges: impl Iterator<Item = &'c RuleCharge>,
) -> Vec<Result<Inspected, CountersError>> {
    let ask = |charge| inspection(tenant, namespace, cost, charge);
    let asked: Vec<_> = charges.map(ask).collect();
    let Some(links) = control.regions.all() else {
        return asked.iter().map(|_| Err(away())).collect();
    };
    if links.is_empty() {
        let answers = control.limiter.check(&asked).await.into_iter();
        let one = |answer: Result<_, RedisError>| {
            let (at, decisions) = decided(answer?)?;
            Ok(Inspected { at, decisions, regions: Vec::new() })
        };
        return answers.map(one).collect();
    }
    let mut by_region = join_all(links.iter().map(|link| of_region(link, &asked))).await;
    let one = |check: &ScriptCheck<'_>| {
        let charge = &check.rules[0];
        let read = links.iter().zip(&mut by_region).filter(|(link, _)| is_counted(charge, link));
        let read =
            read.map(|(link, answers)| (link, answers.next().unwrap_or_else(|| Err(away()))));
        joined(charge, read.collect())
    };
    asked.iter().map(one).collect()
}

/// The answers of one region to the checks that are counted there, in order.
async fn of_region(
    link: &RegionLink,
    asked: &[ScriptCheck<'_>],
) -> impl Iterator<Item = Decided> + use<> {
    let counted = asked.iter().filter(|check| is_counted(&check.rules[0], link));
    let messages: Vec<_> = counted.map(CheckMessage::new).collect();
    let answers = ask(link, &messages, Work::Check).await;
    answers.into_iter().map(|answer| decided(answer.and_then(AnswerMessage::into_result)?))
}

/// The state of a rule of which these regions answered.
fn joined(
    charge: &RuleCharge,
    read: Vec<(&RegionLink, Decided)>,
) -> Result<Inspected, CountersError> {
    if charge.active.rule.reach() == Reach::World {
        let (_, decided) = read.into_iter().next().ok_or_else(away)?;
        let (at, decisions) = decided?;
        return Ok(Inspected { at, decisions, regions: Vec::new() });
    }
    let mut regions = Vec::with_capacity(read.len());
    let mut fullest: Option<(Micros, Vec<Decision>)> = None;
    for (link, decided) in read {
        let decided = decided.ok();
        let decisions = decided.as_ref().map(|(_, decisions)| decisions.clone());
        regions.push(InspectedRegion { region: Arc::clone(&link.region), decisions });
        let left = |(_, decisions): &(Micros, Vec<Decision>)| left(charge, decisions);
        if let Some(decided) = decided
            && fullest.as_ref().is_none_or(|fullest| left(&decided) < left(fullest))
        {
            fullest = Some(decided);
        }
    }
    let (at, decisions) = fullest.ok_or_else(away)?;
    Ok(Inspected { at, decisions, regions })
}

/// Whether all limits allow, and the smallest share that one of them has left, in millionths.
fn left(charge: &RuleCharge, decisions: &[Decision]) -> (bool, u128) {
    let limits = charge.limits().iter().map(|limit| limit.algorithm.limit().max(1));
    let shares = limits.zip(decisions);
    let share = shares
        .map(|(limit, decision)| u128::from(decision.remaining) * 1_000_000 / u128::from(limit));
    (decisions.iter().all(|decision| decision.allowed), share.min().unwrap_or(0))
}

/// Resets the counters of a charge wherever they are. Returns their number.
///
/// A reset in the home is announced in the other regions too, because their gates possibly lease units of the counter.
pub(crate) async fn reset(
    control: &ControlState,
    tenant: TenantId,
    charge: &RuleCharge,
) -> Result<u64, CountersError> {
    let namespace = charge.active.rule.namespace();
    let mut links = control.regions.all().ok_or_else(away)?;
    if links.is_empty() {
        return Ok(control.limiter.reset(tenant, namespace, charge).await?);
    }
    let message = [CheckMessage::new(&inspection(tenant, namespace, 1, charge))];
    let reset = async |link: &RegionLink| {
        let answer = ask(link, &message, Work::Reset).await.remove(0);
        let reset = answer.and_then(AnswerMessage::into_reset);
        reset.map_err(|error| CountersError::Region(Arc::clone(&link.region), error))
    };
    // The home first: units that a gate leases after the others dropped theirs are of the new counter.
    links.sort_by_key(|link| !link.is_home);
    let Some((home, others)) = links.split_first() else { return Ok(0) };
    let at_home = reset(home).await?;
    let elsewhere = try_join_all(others.iter().map(reset)).await?;
    Ok(at_home + elsewhere.iter().sum::<u64>())
}

/// Returns for each counter its stored units, one for each place that has it.
pub(crate) async fn window_units(
    control: &ControlState,
    tenant: TenantId,
    counters: &[WindowCounter<'_>],
) -> Result<Vec<Vec<WindowUnits>>, CountersError> {
    let links = control.regions.all().ok_or_else(away)?;
    if links.is_empty() {
        let read = control.limiter.window_units(tenant, counters).await?;
        return Ok(read.into_iter().map(Vec::from_iter).collect());
    }
    let messages: Vec<_> = counters.iter().map(CounterMessage::new).collect();
    let tenant = Bits(tenant.to_u128());
    let of_region = async |link: &RegionLink| {
        let answers = ask(link, &messages, |part| Work::WindowUnits(tenant, part)).await;
        let units = answers.into_iter().map(|answer| answer.and_then(AnswerMessage::into_units));
        let units: Result<Vec<_>, _> = units.collect();
        units.map_err(|error| CountersError::Region(Arc::clone(&link.region), error))
    };
    let by_region = try_join_all(links.iter().map(of_region)).await?;
    let of_counter = |at: usize| by_region.iter().filter_map(|units| units[at]).collect();
    Ok((0..counters.len()).map(of_counter).collect())
}

/// The number of places in which the rule is counted, each of which has its whole limit.
pub(crate) fn places(control: &ControlState, charge: &RuleCharge) -> u64 {
    let links = control.regions.all().unwrap_or_default();
    let regions = links.iter().filter(|link| is_counted(charge, link)).count();
    u64::try_from(regions).unwrap_or(1).max(1)
}

fn inspection<'c>(
    tenant: TenantId,
    namespace: &'c str,
    cost: u64,
    charge: &'c RuleCharge,
) -> ScriptCheck<'c> {
    ScriptCheck {
        tenant,
        namespace,
        operation: Operation::Inspect,
        cost,
        rules: std::slice::from_ref(charge),
        lease_id: LeaseId::default(),
        idempotency: None,
        charged: None,
    }
}

fn is_counted(charge: &RuleCharge, link: &RegionLink) -> bool {
    link.is_home || charge.active.rule.reach() == Reach::Region
}

fn decided(answer: Answer) -> Decided {
    match answer {
        Answer::Decided(at, decisions) => Ok((at, decisions)),
        _ => Err(CountersError::Undecided),
    }
}

/// The answers of a region to these messages, in calls that are not too large.
async fn ask<M: Clone>(
    link: &RegionLink,
    messages: &[M],
    work: impl Fn(Vec<M>) -> Work,
) -> Vec<Result<AnswerMessage, RedisError>> {
    let calls = messages.chunks(CHECKS_PER_CALL_MAX).map(async |part| {
        match link.link.ask(work(part.to_vec()), None).await {
            Ok(answers) => answers.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => part.iter().map(|_| Err(error.clone())).collect(),
        }
    });
    join_all(calls).await.into_iter().flatten().collect()
}

fn away() -> CountersError {
    CountersError::Unavailable(RedisError::Away)
}
