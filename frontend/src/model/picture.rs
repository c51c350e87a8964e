//! A simulation of a rule under a traffic pattern: its own algorithms over three windows of generated requests.
//!
//! One subject, one rule. The picture shows the counter of the limit with the shortest window; all limits and the block
//! decide.

mod worst;

use weir_domain::algorithm::{Algorithm, PeriodBounds, Quota};
use weir_domain::charge::{BlockMeter, Check, Group, RuleMeters};
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::decide::{Counters, decide};
use weir_domain::id::{RuleId, TenantId};
use weir_domain::request::Operation;
use weir_domain::rule::{Rule, keep_units};
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;

use crate::model::duration;
use crate::model::number::grouped;
use worst::most_in;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Evenly spaced, at one and a half times the limit.
    Steady,
    /// Two bursts.
    Burst,
    /// As many requests as the limit just before a window ends, and as many just after.
    Boundary,
    /// Placed by hand.
    ByHand,
}

/// A request and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dot {
    /// The time since the start of the picture.
    pub at_us: u64,
    pub admitted: bool,
}

/// A simulated rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub window_ms: u64,
    pub limit: u64,
    /// The cost of each request, chosen so that a large limit needs few requests.
    pub cost: u64,
    /// The requests in order of time.
    pub dots: Vec<Dot>,
    /// Units used, at times since the start of the picture.
    pub level: Vec<(u64, u64)>,
    /// The most units admitted in any period that is as long as the window, rounded up to a readable length.
    pub most: u64,
    /// The most units that any traffic can pass in [`Self::stretch_ms`].
    pub worst: u64,
    /// The shortest possible length of the window, rounded up to a readable length.
    pub stretch_ms: u64,
    /// The classes that leave units free, and the level of the counter up to which each passes.
    pub classes: Vec<(String, u64)>,
    /// A sentence on simplifications of the picture; mostly empty.
    note: &'static str,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub from_ms: u64,
    pub admitted: usize,
    pub denied: usize,
    /// Units used at the end of the slice.
    pub used: u64,
}

/// The number of windows in the picture.
pub const WINDOWS: u64 = 3;
/// The number of places for requests by hand, and of rows in the table.
pub const SLICES: u64 = 12;

/// The maximum number of requests that fill the limit.
const DOTS_PER_LIMIT: u64 = 24;
const LEVEL_SAMPLES: u64 = 120;

/// The level of a limit up to which each class passes that leaves units of it free.
fn classes(rule: &Rule, limit: u64) -> Vec<(String, u64)> {
    let keep = rule.draft().priority.map(|priority| priority.keep).unwrap_or_default();
    let keep = keep.into_iter().filter(|(_, share)| *share > 0);
    keep.map(|(class, share)| (class, limit - keep_units(share, limit))).collect()
}

impl Picture {
    /// Simulates a rule with limits; `by_hand` are places below [`SLICES`]. `None` without limits.
    pub fn of(rule: &Rule, pattern: Pattern, by_hand: &[u64]) -> Option<Self> {
        let shown = (0..rule.limits().len())
            .min_by_key(|at| rule.limits()[*at].algorithm.usual_window_ms())?;
        let algorithm = &rule.limits()[shown].algorithm;
        let (window_ms, limit) = (algorithm.usual_window_ms(), algorithm.limit());
        // A concurrency limit gives one place to a request, whatever its cost.
        let gives_leases = algorithm.lease_ms().is_some();
        let cost = if gives_leases { 1 } else { limit.div_ceil(DOTS_PER_LIMIT) };
        let times = times_us(pattern, by_hand, window_ms * 1000, limit / cost);
        let stretch_ms = duration::readable_ms(algorithm.shortest_window_ms());
        let note = algorithm.drawing_note();
        let worst = most_in(rule, stretch_ms * 1000, cost);
        let (dots, level, classes) = (Vec::new(), Vec::new(), classes(rule, limit));
        let mut picture =
            Self { window_ms, limit, cost, dots, level, most: 0, worst, stretch_ms, classes, note };
        picture.run(rule, shown, &times);
        picture.most = picture.most_in_a_window();
        Some(picture)
    }

    /// The length of the picture.
    pub fn span_us(&self) -> u64 {
        self.window_ms * 1000 * WINDOWS
    }

    /// The numbers of admitted and denied requests.
    pub fn counts(&self) -> (usize, usize) {
        let admitted = self.dots.iter().filter(|dot| dot.admitted).count();
        (admitted, self.dots.len() - admitted)
    }

    /// The result as a sentence.
    pub fn summary(&self) -> String {
        let (admitted, denied) = self.counts();
        let of_cost = if self.cost > 1 {
            format!(", each with cost {}", grouped(self.cost))
        } else {
            String::new()
        };
        format!(
            "{admitted} of {} requests allowed, {denied} denied{of_cost}. Peak: {} {}.",
            self.dots.len(),
            grouped(self.most),
            duration::per_readable(self.window_ms),
        )
    }

    /// The worst case as a sentence, with the assumptions of the picture.
    pub fn worst_case(&self) -> String {
        let units = if self.cost > 1 { " units" } else { "" };
        let period = duration::per_readable(self.stretch_ms);
        let text = format!("Worst case: {}{units} {period}. {}", grouped(self.worst), self.note);
        text.trim_end().to_owned()
    }

    /// The result as a table.
    pub fn slices(&self) -> Vec<Slice> {
        let start = |at: u64| self.span_us() * at / SLICES;
        let slice = |at: u64| {
            let inside = |dot: &&Dot| (start(at)..start(at + 1)).contains(&dot.at_us);
            let here: Vec<_> = self.dots.iter().filter(inside).collect();
            let admitted = here.iter().filter(|dot| dot.admitted).count();
            let before_end = |(at_us, _): &&(u64, u64)| *at_us < start(at + 1);
            let used = self.level.iter().rev().find(before_end).map_or(0, |(_, used)| *used);
            Slice { from_ms: start(at) / 1000, admitted, denied: here.len() - admitted, used }
        };
        (0..SLICES).map(slice).collect()
    }

    /// Sends requests at `times`, and samples the counter in between.
    fn run(&mut self, rule: &Rule, shown: usize, times: &[u64]) {
        // A whole number of windows, so that windows aligned to the epoch begin with the picture.
        let begin_us = self.window_ms * 1000 * 8;
        let meters = meters(rule, begin_us);
        let check = |operation| Check {
            operation,
            cost: self.cost,
            rules: vec![meters.clone()],
            lease_id: None,
            charged: None,
        };
        let (consume, inspect) = (check(Operation::Consume), check(Operation::Inspect));
        let samples = (0..=LEVEL_SAMPLES).map(|at| (self.span_us() * at / LEVEL_SAMPLES, false));
        let mut events: Vec<_> = times.iter().map(|at_us| (*at_us, true)).chain(samples).collect();
        events.sort_unstable();
        let mut counters = Counters::default();
        for (at_us, sends) in events {
            let check = if sends { &consume } else { &inspect };
            let decisions = decide(&mut counters, check, Micros(begin_us + at_us));
            self.level.push((at_us, self.limit.saturating_sub(decisions[shown].remaining)));
            if sends {
                self.dots.push(Dot {
                    at_us,
                    admitted: decisions.iter().all(|decision| decision.allowed),
                });
            }
        }
    }

    fn most_in_a_window(&self) -> u64 {
        let times: Vec<_> =
            self.dots.iter().filter(|dot| dot.admitted).map(|dot| dot.at_us).collect();
        let in_window = |first: usize| {
            let end_us = times[first] + duration::readable_ms(self.window_ms) * 1000;
            times[first..].partition_point(|at_us| *at_us < end_us)
        };
        let most = (0..times.len()).map(in_window).max().unwrap_or(0);
        u64::try_from(most).expect("there are few requests") * self.cost
    }
}

/// The times of the requests, in microseconds; `fill` requests use up the limit.
fn times_us(pattern: Pattern, by_hand: &[u64], window_us: u64, fill: u64) -> Vec<u64> {
    let spread = |from: u64, length: u64, number: u64| {
        (0..number).map(move |at| from + length * at / number)
    };
    let (quarter, third) = (window_us / 4, window_us / 3);
    let more = fill + fill.div_ceil(2);
    match pattern {
        Pattern::Steady => spread(0, window_us * WINDOWS, more * WINDOWS).collect(),
        Pattern::Burst => {
            let second = window_us + quarter * 2;
            spread(quarter, quarter, more).chain(spread(second, quarter, more)).collect()
        }
        Pattern::Boundary => {
            spread(window_us - third, third, fill).chain(spread(window_us, third, fill)).collect()
        }
        Pattern::ByHand => {
            let mut places = by_hand.to_vec();
            places.sort_unstable();
            let length = window_us * WINDOWS / SLICES;
            let mut times: Vec<_> = places
                .into_iter()
                .flat_map(|at| spread(window_us * WINDOWS * at / SLICES, length, fill.div_ceil(4)))
                .collect();
            times.sort_unstable();
            times
        }
    }
}

fn meters(rule: &Rule, begin_us: u64) -> RuleMeters {
    let (tenant, id) = (TenantId::from_u128(0), RuleId::from_u128(0));
    let name = |part| CounterName { tenant, rule: id, part, subject: SubjectKey(0) };
    let bounds = |quota: &Quota| {
        if let Some(unrenewed) = quota.unrenewed(Micros(0)) {
            return unrenewed;
        }
        let length_us = Algorithm::Quota(quota.clone()).usual_window_ms() * 1000;
        // Three periods, the length of the picture when it shows this limit.
        let bound = |at: u64| begin_us + length_us * at;
        PeriodBounds { limit: quota.limit(), bounds_us: [bound(0), bound(1), bound(2), bound(3)] }
    };
    let limits = rule.limits().iter();
    RuleMeters {
        group: Group::Enforced,
        over: rule.over(),
        block: BlockMeter::of(rule, || name(CounterPart::Block)),
        limits: limits
            .map(|limit| (name(CounterPart::Slot(limit.slot)), limit.algorithm.meter(bounds)))
            .collect(),
        own_cost: None,
    }
}

#[cfg(test)]
mod guide;
#[cfg(test)]
mod tests;
