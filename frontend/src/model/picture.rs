//! What a rule does to a pattern of traffic: its own algorithms, run over three windows of invented requests.
//!
//! One subject, one rule. The picture follows the limit with the shortest window; all limits and the block decide.

mod worst;

use weir_domain::algorithm::{Algorithm, Period, PeriodBounds, Quota};
use weir_domain::charge::{Check, Group, RuleMeters};
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::decide::{Counters, decide};
use weir_domain::id::{RuleId, TenantId};
use weir_domain::request::Act;
use weir_domain::rule::Rule;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;

use crate::model::duration;
use crate::model::number::grouped;
use worst::{most_in, shortest_ms};

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Evenly, half as many again as the limit.
    Steady,
    /// Many at once, twice.
    Burst,
    /// As many as the limit just before a window ends, and as many just after.
    Boundary,
    /// Where somebody put them.
    ByHand,
}

/// A request and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dot {
    /// Since the picture begins.
    pub at_us: u64,
    pub admitted: bool,
}

/// A rule at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub window_ms: u64,
    pub limit: u64,
    /// What each request costs, so that large limits take few requests.
    pub cost: u64,
    /// In the order of time.
    pub dots: Vec<Dot>,
    /// Units used, at times since the picture begins.
    pub level: Vec<(u64, u64)>,
    /// Most units admitted in any stretch as long as the window.
    pub most: u64,
    /// The most units that any traffic can get through in [`Self::stretch_ms`].
    pub worst: u64,
    /// As long as the shortest window ever is.
    pub stretch_ms: u64,
    /// The calendar period that is drawn.
    period: Option<Period>,
}

/// A row of the table that says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub from_ms: u64,
    pub admitted: usize,
    pub denied: usize,
    /// Units used at its end.
    pub used: u64,
}

/// Windows shown.
pub const WINDOWS: u64 = 3;
/// Places for requests put in by hand, and rows of the table.
pub const SLICES: u64 = 12;

/// At most so many requests fill the limit.
const DOTS_PER_LIMIT: u64 = 24;
const LEVEL_SAMPLES: u64 = 120;

impl Picture {
    /// The picture of a rule that limits; `by_hand` are places before [`SLICES`].
    pub fn of(rule: &Rule, pattern: Pattern, by_hand: &[u64]) -> Option<Self> {
        let shown =
            (0..rule.limits().len()).min_by_key(|at| window_ms(&rule.limits()[*at].algorithm))?;
        let algorithm = &rule.limits()[shown].algorithm;
        let (window_ms, limit) = (window_ms(algorithm), algorithm.limit());
        let cost = limit.div_ceil(DOTS_PER_LIMIT);
        let times = times_us(pattern, by_hand, window_ms * 1000, limit / cost);
        let stretch_ms = shortest_ms(algorithm);
        let period = match algorithm {
            Algorithm::Quota(quota) => Some(quota.calendar().period),
            _ => None,
        };
        let worst = most_in(rule, stretch_ms * 1000, cost);
        let (dots, level) = (Vec::new(), Vec::new());
        let mut picture =
            Self { window_ms, limit, cost, dots, level, most: 0, worst, stretch_ms, period };
        picture.run(rule, shown, &times);
        picture.most = picture.most_in_a_window();
        Some(picture)
    }

    /// How long it is.
    pub fn span_us(&self) -> u64 {
        self.window_ms * 1000 * WINDOWS
    }

    /// How many requests were admitted, and how many denied.
    pub fn counts(&self) -> (usize, usize) {
        let admitted = self.dots.iter().filter(|dot| dot.admitted).count();
        (admitted, self.dots.len() - admitted)
    }

    /// The picture in words.
    pub fn summary(&self) -> String {
        let (admitted, denied) = self.counts();
        let of_cost = if self.cost > 1 {
            format!(", each of cost {}", grouped(self.cost))
        } else {
            String::new()
        };
        format!(
            "{admitted} of {} requests admitted, {denied} denied{of_cost}. Most that passed in any {}: {}.",
            self.dots.len(),
            duration::period(self.window_ms),
            grouped(self.most),
        )
    }

    /// The worst case in words, and what was assumed for the drawing.
    pub fn worst_case(&self) -> String {
        let units = if self.cost > 1 { " units" } else { "" };
        let assumed = match self.period {
            Some(Period::Month) => " Months are drawn with 30 days each; real ones are counted.",
            Some(Period::Year) => " Years are drawn with 365 days each; real ones are counted.",
            Some(Period::Day | Period::Week) | None => "",
        };
        let period = duration::period(self.stretch_ms);
        format!(
            "Whatever comes, no more than {}{units} pass in any {period}.{assumed}",
            grouped(self.worst)
        )
    }

    /// The same numbers, for a table.
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

    /// Sends requests at `times`, and looks at the counter now and then in between.
    fn run(&mut self, rule: &Rule, shown: usize, times: &[u64]) {
        // A whole number of windows, so that windows aligned to the epoch begin with the picture.
        let begin_us = self.window_ms * 1000 * 8;
        let meters = meters(rule, begin_us);
        let check = |act| Check { act, cost: self.cost, rules: vec![meters.clone()] };
        let (consume, look) = (check(Act::Consume), check(Act::Look));
        let samples = (0..=LEVEL_SAMPLES).map(|at| (self.span_us() * at / LEVEL_SAMPLES, false));
        let mut acts: Vec<_> = times.iter().map(|at_us| (*at_us, true)).chain(samples).collect();
        acts.sort_unstable();
        let mut counters = Counters::default();
        for (at_us, sends) in acts {
            let act = if sends { &consume } else { &look };
            let decisions = decide(&mut counters, act, Micros(begin_us + at_us));
            self.level.push((at_us, self.limit.saturating_sub(decisions[shown].remaining)));
            if sends {
                self.dots.push(Dot { at_us, admitted: decisions.iter().all(|it| it.allowed) });
            }
        }
    }

    fn most_in_a_window(&self) -> u64 {
        let times: Vec<_> = self.dots.iter().filter(|it| it.admitted).map(|it| it.at_us).collect();
        let within = |first: usize| {
            let end_us = times[first] + self.window_ms * 1000;
            times[first..].partition_point(|at_us| *at_us < end_us)
        };
        let most = (0..times.len()).map(within).max().unwrap_or(0);
        u64::try_from(most).expect("there are few requests") * self.cost
    }
}

/// When requests come, in microseconds; `fill` of them use the limit up.
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

/// The length of a limit's window; calendar periods count as 1, 7, 30 and 365 days.
fn window_ms(algorithm: &Algorithm) -> u64 {
    let days = |quota: &Quota| match quota.calendar().period {
        Period::Day => 1,
        Period::Week => 7,
        Period::Month => 30,
        Period::Year => 365,
    };
    match algorithm {
        Algorithm::Quota(quota) => days(quota) * 86_400_000,
        other => other.window_ms().unwrap_or(1).max(1),
    }
}

fn meters(rule: &Rule, begin_us: u64) -> RuleMeters {
    let (tenant, id) = (TenantId::from_u128(0), RuleId::from_u128(0));
    let name = |part| CounterName { tenant, rule: id, part, subject: SubjectKey(0) };
    let bounds = |quota: &Quota| {
        let length_us = window_ms(&Algorithm::Quota(quota.clone())) * 1000;
        // Three periods, as many as the picture shows when this limit is the one it follows.
        let bound = |at: u64| begin_us + length_us * at;
        PeriodBounds { limit: quota.limit(), bounds_us: [bound(0), bound(1), bound(2), bound(3)] }
    };
    let limits = rule.limits().iter();
    RuleMeters {
        group: Group::Enforced,
        block: rule.block_ms().map(|ms| (name(CounterPart::Block), ms)),
        limits: limits
            .map(|it| (name(CounterPart::Slot(it.slot)), it.algorithm.meter(bounds)))
            .collect(),
    }
}

#[cfg(test)]
mod guide;
#[cfg(test)]
mod tests;
