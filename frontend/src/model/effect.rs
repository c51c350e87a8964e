//! The effect of a changed rule on a current subject: the server's counters are evaluated against the changed limits
//! with the algorithms of `weir-domain`.

use weir_domain::algorithm::{Algorithm, Bound, Counter, PeriodBounds, Quota};
use weir_domain::charge::{BlockMeter, Check, Group, RuleMeters};
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::decide::{Counters, decide};
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::Limit;
use weir_domain::request::Operation;
use weir_domain::rule::Rule;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;
use weir_wire::check::LimitAnswer;

use crate::model::number::grouped;

/// The state of a subject in a rule: that of the limit with the fewest units remaining.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub passes: bool,
    pub left: u64,
    pub limit: u64,
}

/// A stored rule, its changed version, and the time of the evaluation.
#[derive(Debug, Clone)]
pub struct Change<'a> {
    pub before: &'a Rule,
    pub after: Rule,
    pub now: Micros,
}

impl<'a> Change<'a> {
    /// A change of a stored rule; limits keep their counters as they do when the rule is saved.
    pub fn new(before: &'a Rule, after: &Rule, now_ms: u64) -> Self {
        // Saving rejects a rule that has used up its slots; the preview numbers them from the first.
        let slots = after.slots_after(before, &before.first_slots());
        let taken = slots.map(|slots| slots.taken).unwrap_or_default();
        Self { before, after: after.clone().with_slots(&taken), now: Micros(now_ms * 1000) }
    }

    /// The state under the changed rule of a subject with these answers under the stored rule.
    pub fn standing(&self, answers: &[LimitAnswer]) -> Option<Standing> {
        let mut counters = Counters::default();
        for (limit, answer) in self.before.limits().iter().zip(answers) {
            self.add_usage(&mut counters, limit, answer);
        }
        let blocked_ms =
            answers.iter().filter(|answer| !answer.allowed && answer.remaining > Some(0));
        if let Some(ms) = blocked_ms.filter_map(|answer| answer.retry_after_ms).max() {
            let blocked = Counter::BlockedUntil { until_us: self.now.0 + ms * 1000, number: 1 };
            counters.0.insert(name(CounterPart::Block), blocked);
        }
        let block = BlockMeter::of(&self.after, || name(CounterPart::Block));
        let meters = self.meters(self.after.limits(), block);
        let check = Check {
            operation: Operation::Inspect,
            cost: 1,
            rules: vec![meters],
            lease_id: None,
            charged: None,
        };
        let decisions = decide(&mut counters, &check, self.now);
        let limits = self.after.limits().iter();
        let each = limits.zip(decisions).map(|(limit, decision)| Standing {
            passes: decision.allowed,
            left: decision.remaining,
            limit: limit.algorithm.limit(),
        });
        least(each)
    }

    /// Whether the counters lack information that the changed limits need.
    pub fn is_estimate(&self) -> bool {
        let counts_denied = |limit: &Limit| limit.algorithm.counts_denied();
        let stretched = |limit: &Limit| {
            let previous_limit =
                self.before.limits().iter().find(|previous| previous.slot == limit.slot);
            let previous_limit =
                previous_limit.filter(|previous| distance_ms(&previous.algorithm).is_none());
            previous_limit.is_some_and(|previous| {
                previous.algorithm.window_ms() != limit.algorithm.window_ms()
            })
        };
        self.after.limits().iter().any(stretched) || self.before.limits().iter().any(counts_denied)
    }

    /// Consumes as many units of a limit as the answer reports as used.
    fn add_usage(&self, counters: &mut Counters, limit: &Limit, answer: &LimitAnswer) {
        let used = answer.limit.saturating_sub(answer.remaining.unwrap_or(answer.limit));
        if used == 0 {
            return;
        }
        // Spacing is measured from the last admission, which can be some time ago.
        let ago_ms = distance_ms(&limit.algorithm).map_or(0, |interval_ms| {
            interval_ms.saturating_sub(answer.reset_after_ms.unwrap_or(0))
        });
        let meters = self.meters(std::slice::from_ref(limit), None);
        // Each request has one place in a concurrency limit, whatever its cost.
        let (cost, times) =
            if limit.algorithm.lease_ms().is_some() { (1, used) } else { (used, 1) };
        let (operation, lease_id) = (Operation::Consume, None);
        let check = Check { operation, cost, rules: vec![meters], lease_id, charged: None };
        for _ in 0..times {
            decide(counters, &check, Micros(self.now.0.saturating_sub(ago_ms * 1000)));
        }
    }

    fn meters(&self, limits: &[Limit], block: Option<BlockMeter>) -> RuleMeters {
        let around = |quota: &Quota| {
            if let Some(unrenewed) = quota.unrenewed(self.now) {
                return unrenewed;
            }
            let half_us = self.now.0 / 4;
            let bound = |halves: u64| self.now.0 + half_us * halves - half_us * 3;
            PeriodBounds {
                limit: quota.limit(),
                bounds_us: [bound(0), bound(2), bound(4), bound(6)],
            }
        };
        let meter =
            |limit: &Limit| (name(CounterPart::Slot(limit.slot)), limit.algorithm.meter(around));
        let (group, over) = (Group::Enforced, self.after.over());
        RuleMeters {
            group,
            over,
            block,
            limits: limits.iter().map(meter).collect(),
            own_cost: None,
        }
    }
}

/// The state that the server's answers describe.
pub fn standing_of(answers: &[LimitAnswer]) -> Option<Standing> {
    least(answers.iter().map(|answer| Standing {
        passes: answer.allowed,
        left: answer.remaining.unwrap_or(answer.limit),
        limit: answer.limit,
    }))
}

impl Standing {
    /// `3 of 5 left`.
    pub fn label(self) -> String {
        format!("{} of {} left", grouped(self.left), grouped(self.limit))
    }
}

fn least(each: impl Iterator<Item = Standing>) -> Option<Standing> {
    each.min_by_key(|state| (state.passes, state.left))
}

/// A counter name without a real tenant, rule or subject: the preview has one subject.
fn name(part: CounterPart) -> CounterName {
    let (tenant, rule) = (TenantId::from_u128(0), RuleId::from_u128(0));
    CounterName { tenant, rule, part, subject: SubjectKey(0) }
}

/// The minimum distance between requests, if that is what the limit demands.
fn distance_ms(algorithm: &Algorithm) -> Option<u64> {
    match algorithm.bound() {
        Some(Bound::Distance { interval_ms }) => Some(interval_ms),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
