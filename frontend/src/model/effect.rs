//! What a changed rule would mean for somebody who is counted now: the counters as the server says they stand, put under
//! the changed limits by the algorithms themselves.

use weir_domain::algorithm::Counter;
use weir_domain::algorithm::{Algorithm, PeriodBounds, Quota};
use weir_domain::charge::{Check, Group, RuleMeters};
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::decide::{Counters, decide};
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::Limit;
use weir_domain::request::Act;
use weir_domain::rule::Rule;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;
use weir_wire::check::LimitAnswer;

use crate::model::number::grouped;

/// How somebody stands with a rule: by the limit that leaves least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub passes: bool,
    pub left: u64,
    pub limit: u64,
}

/// A rule as it is, as it would be, and when that is asked.
#[derive(Debug, Clone)]
pub struct Change<'a> {
    pub before: &'a Rule,
    pub after: Rule,
    pub now: Micros,
}

impl<'a> Change<'a> {
    /// Of a stored rule to another; limits keep their counters as they do when it is saved.
    pub fn new(before: &'a Rule, after: &Rule, now_ms: u64) -> Self {
        // A rule that has had too many limits is refused when it is saved; the preview numbers them from the first.
        let slots = after.slots_after(before, &before.first_slots());
        let taken = slots.map(|slots| slots.taken).unwrap_or_default();
        Self { before, after: after.clone().with_slots(&taken), now: Micros(now_ms * 1000) }
    }

    /// How somebody would stand whose limits answered this under the rule as it is.
    pub fn standing(&self, answers: &[LimitAnswer]) -> Option<Standing> {
        let mut counters = Counters::default();
        for (limit, answer) in self.before.limits().iter().zip(answers) {
            self.put(&mut counters, limit, answer);
        }
        let blocked_ms = answers.iter().filter(|it| !it.allowed && it.remaining > Some(0));
        if let Some(ms) = blocked_ms.filter_map(|it| it.retry_after_ms).max() {
            counters
                .0
                .insert(name(CounterPart::Block), Counter::BlockedUntil(self.now.0 + ms * 1000));
        }
        let block = self.after.block_ms().map(|ms| (name(CounterPart::Block), ms));
        let meters = self.meters(self.after.limits(), block);
        let check = Check { act: Act::Look, cost: 1, rules: vec![meters] };
        let decisions = decide(&mut counters, &check, self.now);
        let limits = self.after.limits().iter();
        let each = limits.zip(decisions).map(|(limit, said)| Standing {
            passes: said.allowed,
            left: said.remaining,
            limit: limit.algorithm.limit(),
        });
        least(each)
    }

    /// Whether counters do not say all that the changed limits would ask of them.
    pub fn is_estimate(&self) -> bool {
        let counts_denied = |it: &Limit| match &it.algorithm {
            Algorithm::SlidingWindowLog(log) => log.counts_denied(),
            _ => false,
        };
        let stretched = |limit: &Limit| {
            let kept = self.before.limits().iter().find(|it| it.slot == limit.slot);
            let kept = kept.filter(|it| !matches!(it.algorithm, Algorithm::Spacing(_)));
            kept.is_some_and(|it| it.algorithm.window_ms() != limit.algorithm.window_ms())
        };
        self.after.limits().iter().any(stretched) || self.before.limits().iter().any(counts_denied)
    }

    /// Uses as much of a limit as the answer says is used.
    fn put(&self, counters: &mut Counters, limit: &Limit, answer: &LimitAnswer) {
        let used = answer.limit.saturating_sub(answer.remaining.unwrap_or(answer.limit));
        if used == 0 {
            return;
        }
        // A distance is from the last admission, which was some time ago.
        let ago_ms = match &limit.algorithm {
            Algorithm::Spacing(it) => {
                it.interval_ms().saturating_sub(answer.reset_after_ms.unwrap_or(0))
            }
            _ => 0,
        };
        let meters = self.meters(std::slice::from_ref(limit), None);
        let check = Check { act: Act::Consume, cost: used, rules: vec![meters] };
        decide(counters, &check, Micros(self.now.0.saturating_sub(ago_ms * 1000)));
    }

    fn meters(&self, limits: &[Limit], block: Option<(CounterName, u64)>) -> RuleMeters {
        let around = |quota: &Quota| {
            let half_us = self.now.0 / 4;
            let bound = |halves: u64| self.now.0 + half_us * halves - half_us * 3;
            PeriodBounds {
                limit: quota.limit(),
                bounds_us: [bound(0), bound(2), bound(4), bound(6)],
            }
        };
        let meter = |it: &Limit| (name(CounterPart::Slot(it.slot)), it.algorithm.meter(around));
        RuleMeters { group: Group::Enforced, block, limits: limits.iter().map(meter).collect() }
    }
}

/// How somebody stands by what the server answered.
pub fn stands(answers: &[LimitAnswer]) -> Option<Standing> {
    least(answers.iter().map(|it| Standing {
        passes: it.allowed,
        left: it.remaining.unwrap_or(it.limit),
        limit: it.limit,
    }))
}

impl Standing {
    /// `3 of 5 left`.
    pub fn words(self) -> String {
        format!("{} of {} left", grouped(self.left), grouped(self.limit))
    }
}

fn least(each: impl Iterator<Item = Standing>) -> Option<Standing> {
    each.min_by_key(|it| (it.passes, it.left))
}

/// Of nobody in particular: there is one subject.
fn name(part: CounterPart) -> CounterName {
    let (tenant, rule) = (TenantId::from_u128(0), RuleId::from_u128(0));
    CounterName { tenant, rule, part, subject: SubjectKey(0) }
}

#[cfg(test)]
mod tests;
