//! The replay. Each check is decided by both rules from separate counters that start empty, with the functions that a gate
//! uses while Redis is unavailable.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use weir_domain::algorithm::Meter;
use weir_domain::calendar;
use weir_domain::charge::Check;
use weir_domain::decide::{Counters, decide};
use weir_domain::draft::Mode;
use weir_domain::id::TenantId;
use weir_domain::matching::{RuleMatch, match_rule};
use weir_domain::overrides::Effect;
use weir_domain::request::{Operation, Request};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::{Micros, Timestamp};

use super::outcome::{Outcome, Steps};
use super::traffic::{ReplayedCheck, Traffic};

/// The rules and checks of a replay.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) tenant: TenantId,
    pub(super) present: Option<Arc<ActiveRule>>,
    pub(super) candidate: Arc<ActiveRule>,
    pub(super) traffic: Traffic,
    pub(super) steps: Steps,
}

/// The replay exceeded its deadline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooSlow;

/// The number of checks between two reads of the clock.
const LOOK_EVERY: usize = 256;

impl Replay {
    /// Decides all checks, or fails at the deadline.
    pub(super) fn run(&self, deadline: Instant) -> Result<Outcome, TooSlow> {
        let mut present = Side::new(self.tenant, self.present.clone());
        let mut candidate = Side::new(self.tenant, Some(Arc::clone(&self.candidate)));
        let mut outcome = Outcome::new(self.steps);
        for (at, asked) in self.traffic.asked.iter().enumerate() {
            if at.is_multiple_of(LOOK_EVERY) && Instant::now() >= deadline {
                return Err(TooSlow);
            }
            let request = &self.traffic.requests[asked.request as usize];
            let verdicts = (present.decide(request, asked), candidate.decide(request, asked));
            if asked.operation == Operation::Consume {
                outcome.count(asked.at, verdicts, || self.subject(request));
            }
        }
        Ok(outcome)
    }

    /// The subject of a request by the changed rule, else by the present one, in the order of `count_by`.
    fn subject<'a>(&'a self, request: &'a Request) -> Vec<(&'a str, Cow<'a, str>)> {
        let by = |rule: &'a ActiveRule| {
            let values = rule.rule.subject_values(|name| request.attribute(name)).ok()?;
            let names = rule.rule.count_by().iter().map(AsRef::as_ref);
            Some(names.zip(values).collect())
        };
        let present = || self.present.as_deref().and_then(by);
        by(&self.candidate).or_else(present).unwrap_or_default()
    }
}

/// One rule with its counters.
#[derive(Debug)]
struct Side {
    tenant: TenantId,
    rule: Option<Arc<ActiveRule>>,
    counters: Counters,
}

impl Side {
    fn new(tenant: TenantId, rule: Option<Arc<ActiveRule>>) -> Self {
        let rule = rule.filter(|active| active.rule.mode() != Mode::Off);
        Self { tenant, rule, counters: Counters::default() }
    }

    /// Whether the rule allows a check; `None` if it does not match. A rule that is not enforced denies as if it were, but not
    /// outside the subjects for which it is to be enforced.
    fn decide(&mut self, request: &Request, asked: &ReplayedCheck) -> Option<bool> {
        let now = micros(asked.at);
        match match_rule(self.rule.as_ref()?, request, asked.at) {
            RuleMatch::ConditionFailed(_) | RuleMatch::NotCounted(_) | RuleMatch::Inactive => None,
            RuleMatch::Passes(effect, _) => Some(effect != Effect::Deny),
            RuleMatch::Charged(charge) => {
                let mut meters = charge.meters(self.tenant, |quota| calendar::bounds(quota, now));
                // Recorded checks do not say when work ended.
                meters.limits.retain(|(_, meter)| !matches!(meter, Meter::Concurrency(_)));
                let check = Check {
                    operation: asked.operation,
                    cost: asked.cost,
                    rules: vec![meters],
                    lease_id: None,
                    charged: None,
                };
                let decisions = decide(&mut self.counters, &check, now);
                let is_outside = charge.mode != charge.active.rule.mode();
                Some(is_outside || decisions.iter().all(|decision| decision.allowed))
            }
        }
    }
}

fn micros(at: Timestamp) -> Micros {
    Micros::from_ms(at.as_millis_u64())
}

#[cfg(test)]
mod tests;
