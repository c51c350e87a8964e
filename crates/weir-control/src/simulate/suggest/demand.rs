//! The demand of each subject: its checks, and the smallest limit that denies none of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use weir_domain::algorithm::{Algorithm, Counter, Meter, Wait};
use weir_domain::calendar;
use weir_domain::limit::{LOG_LIMIT_MAX, UNITS_MAX};
use weir_domain::matching::{RuleMatch, match_rule};
use weir_domain::request::Operation;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::{Micros, Timestamp};
use weir_http::problem::Problem;
use weir_wire::limits::LimitBody;

use crate::simulate::traffic::{ReplayedCheck, Traffic};

/// The demands of all subjects.
pub(super) struct Demands {
    /// The subjects with at least one check in the time.
    pub(super) subjects: Vec<Demand>,
    /// The number of their checks in the time.
    pub(super) checks: u64,
}

/// The checks of one subject in the order of time, with those of the warm-up.
pub(super) struct Demand {
    asked: Vec<ReplayedCheck>,
    /// The number of checks of the warm-up, which are decided and not counted.
    warmup: usize,
}

impl Demands {
    /// Groups the checks that the rule counts by their subjects.
    pub(super) fn of(traffic: &Traffic, rule: &Arc<ActiveRule>, from: Timestamp) -> Self {
        let subject_of = |asked: &ReplayedCheck| {
            let request = &traffic.requests[asked.request as usize];
            match match_rule(rule, request, asked.at) {
                RuleMatch::Charged(charge) => Some(charge.subject),
                _ => None,
            }
        };
        // The rule has no overrides, so equal requests have one subject at all times.
        let mut subjects = vec![None; traffic.requests.len()];
        let mut demands: HashMap<_, Demand> = HashMap::new();
        for asked in &traffic.asked {
            let subject = subjects[asked.request as usize].get_or_insert_with(|| subject_of(asked));
            let Some(subject) = *subject else { continue };
            let demand = demands.entry(subject);
            let demand = demand.or_insert_with(|| Demand { asked: Vec::new(), warmup: 0 });
            demand.warmup += usize::from(asked.at < from);
            demand.asked.push(*asked);
        }
        let subjects: Vec<_> = demands.into_values().filter(|demand| demand.checks() > 0).collect();
        let checks = subjects.iter().map(Demand::checks).sum();
        Self { subjects, checks }
    }
}

impl Demand {
    /// The number of checks after the warm-up.
    fn checks(&self) -> u64 {
        self.asked[self.warmup..]
            .iter()
            .filter(|asked| asked.operation == Operation::Consume)
            .count() as u64
    }
}

/// Decides demands by limits of one algorithm and window.
pub(super) struct Limits<F> {
    body: F,
    meters: HashMap<u64, Meter>,
    deadline: Instant,
}

impl<F: Fn(u64) -> Result<LimitBody, Problem>> Limits<F> {
    pub(super) fn new(body: F, deadline: Instant) -> Self {
        Self { body, meters: HashMap::new(), deadline }
    }

    /// The smallest limit that denies no check of the subject; `None` if the algorithm has none. A greater limit never
    /// denies what a smaller one admits, so the search halves the range.
    pub(super) fn needed(&mut self, demand: &Demand) -> Result<Option<u64>, Problem> {
        let costs = || {
            let consumed =
                demand.asked.iter().filter(|asked| asked.operation == Operation::Consume);
            consumed.map(|asked| asked.cost)
        };
        let most = match (self.body)(1)? {
            LimitBody::SlidingWindowLog { .. } => LOG_LIMIT_MAX,
            _ => UNITS_MAX,
        };
        let mut low = costs().max().unwrap_or(1).max(1);
        let mut high = costs().sum::<u64>().min(most);
        if low > high || self.first_denial(demand, high)?.is_some() {
            return Ok(None);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.first_denial(demand, middle)? {
                Some(_) => low = middle + 1,
                None => high = middle,
            }
        }
        Ok(Some(low))
    }

    /// The number of checks of the subject that a limit denies after the warm-up.
    pub(super) fn denied(&mut self, demand: &Demand, limit: u64) -> Result<u64, Problem> {
        let meter = self.meter(limit)?;
        let mut counter = Counter::default();
        let denied = |(at, asked): (usize, &ReplayedCheck)| {
            let passes = decide(&meter, &mut counter, asked);
            u64::from(!passes && at >= demand.warmup)
        };
        Ok(demand.asked.iter().enumerate().map(denied).sum())
    }

    /// The position of the first check that a limit denies.
    fn first_denial(&mut self, demand: &Demand, limit: u64) -> Result<Option<usize>, Problem> {
        let meter = self.meter(limit)?;
        let mut counter = Counter::default();
        Ok(demand.asked.iter().position(|asked| !decide(&meter, &mut counter, asked)))
    }

    /// The meter of a limit, or a problem after the deadline.
    fn meter(&mut self, limit: u64) -> Result<Meter, Problem> {
        if Instant::now() >= self.deadline {
            let reason = "took too long to compute: choose a shorter time";
            return Err(Problem::invalid_field("from", reason));
        }
        if let Some(known) = self.meters.get(&limit) {
            return Ok(*known);
        }
        let algorithm = Algorithm::parse((self.body)(limit)?.into()).map_err(|wrong| {
            let reason = format!("is too long for a limit of {limit}: {}", wrong.reason);
            Problem::invalid_field("window_ms", reason)
        })?;
        let meter = algorithm.meter(|quota| calendar::bounds(quota, Micros::default()));
        self.meters.insert(limit, meter);
        Ok(meter)
    }
}

/// Whether the meter admits a check, which is then charged. A refund is always admitted.
fn decide(meter: &Meter, counter: &mut Counter, asked: &ReplayedCheck) -> bool {
    let now = Micros::from_ms(asked.at.as_millis_u64());
    if asked.operation == Operation::Refund {
        meter.refund(counter, asked.cost, None, now);
        return true;
    }
    let passes = meter.wait(counter, asked.cost, now) == Wait::None;
    if passes {
        meter.charge(counter, asked.cost, now);
    }
    passes
}
