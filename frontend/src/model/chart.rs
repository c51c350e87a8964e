//! The content of a chart over time: its steps, layers, outages and texts.

use weir_domain::id::TenantId;
use weir_wire::stats::Series;

use crate::charts::stack::Stack;
use crate::charts::time_ticks::{day, time_of_day};
use crate::charts::timeline::Timeline;
use crate::model::duration::{period, short};
use crate::model::marker::{Marker, MarkerKind};
use crate::model::number::{grouped, share};

/// The counts of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartData {
    pub timeline: Timeline,
    /// The usual length of a step.
    pub step_ms: i64,
    /// The layers in the order of the legend. Areas are stacked, the first lowest.
    pub layers: Vec<Layer>,
    /// The checks of each step that were decided without Redis.
    pub degraded: Vec<u64>,
    /// The time up to which the counts are complete.
    pub as_of_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub name: &'static str,
    /// The outcome of its checks, after a number.
    pub outcome: &'static str,
    /// The class of its colour.
    pub class: &'static str,
    /// Whether it is a line from zero instead of an area of the stack.
    pub is_line: bool,
    /// The count of each step.
    pub counts: Vec<u64>,
}

/// The time at which a tenant was created, with which its id begins.
pub fn created_ms(tenant: &str) -> Option<i64> {
    let id: TenantId = tenant.parse().ok()?;
    i64::try_from(id.to_u128() >> 80).ok()
}

/// The outcomes of a series, in the order of the legend.
pub const OUTCOMES: [Outcome; 3] = [Outcome::Allowed, Outcome::Denied, Outcome::WouldDeny];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Allowed,
    Denied,
    WouldDeny,
}

impl Outcome {
    fn layer(self, series: &Series) -> Layer {
        let (name, outcome, class, counts) = match self {
            Self::Allowed => ("Allowed", "allowed", "allowed", &series.allowed),
            Self::Denied => ("Denied", "denied", "denied", &series.denied),
            Self::WouldDeny => {
                ("Would deny (shadow)", "would be denied", "would-deny", &series.shadow_denied)
            }
        };
        Layer { name, outcome, class, is_line: self == Self::WouldDeny, counts: counts.clone() }
    }
}

/// The layers that the legend has switched off; the default shows all. At most 32 layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hidden(u32);

impl Hidden {
    pub const fn is_shown(self, layer: usize) -> bool {
        self.0 & (1 << layer) == 0
    }

    /// Shows or hides a layer of `layers`. Hiding the last one shows all.
    pub const fn toggle(self, layer: usize, layers: usize) -> Self {
        let hidden = self.0 ^ (1 << layer);
        Self(if hidden == (1 << layers) - 1 { 0 } else { hidden })
    }

    /// Hides all others; if they are hidden already, shows all.
    pub const fn solo(self, layer: usize, layers: usize) -> Self {
        let others = ((1 << layers) - 1) & !(1 << layer);
        Self(if self.0 == others { 0 } else { others })
    }
}

impl ChartData {
    /// The outcomes of a series.
    pub fn of(series: &Series, outcomes: &[Outcome]) -> Self {
        let step_ms = i64::from(series.step_s) * 1_000;
        let timeline = match &series.starts {
            Some(starts) => {
                let starts: Vec<_> = starts.iter().map(|start| start.0.as_millis()).collect();
                Timeline::uneven(&starts, step_ms)
            }
            None => Timeline::even(series.start.0.as_millis(), step_ms, series.allowed.len()),
        };
        Self {
            timeline,
            step_ms,
            layers: outcomes.iter().map(|outcome| outcome.layer(series)).collect(),
            degraded: series.degraded.clone(),
            as_of_ms: series.as_of.0.as_millis(),
        }
    }

    /// The start of the first step with checks.
    pub fn first_check_ms(&self) -> Option<i64> {
        let has_checks = |step: &usize| self.layers.iter().any(|layer| layer.counts[*step] > 0);
        let step = (0..self.timeline.steps()).find(has_checks)?;
        Some(self.timeline.step_ms(step).0)
    }

    /// Begins at a time, or earlier if few steps would remain.
    pub fn since(mut self, at_ms: i64) -> Self {
        let steps = self.timeline.step_at(at_ms).unwrap_or(0);
        let steps = steps.min(self.timeline.steps().saturating_sub(STEPS_MIN));
        self.timeline = self.timeline.skip(steps);
        let counts = self.layers.iter_mut().map(|layer| &mut layer.counts);
        counts.chain([&mut self.degraded]).for_each(|counts| drop(counts.drain(..steps)));
        self
    }

    /// The paths of the layers, empty for hidden ones, and a last line along the top of the compared stack.
    pub fn stack(&self, compared: Option<&Self>, hidden: Hidden) -> Stack {
        let areas = self.shown(false, hidden);
        let mut lines = self.shown(true, hidden);
        let compared = compared.map(|before| before.shown(false, hidden)).unwrap_or_default();
        let steps = compared.iter().map(Vec::len).max().unwrap_or(0);
        let total = |step: usize| compared.iter().filter_map(|layer| layer.get(step)).sum::<u64>();
        lines.push((0..steps).map(total).collect());
        Stack::of(&self.timeline, &areas, &lines)
    }

    /// The counts of the areas or of the lines, 0 for hidden ones.
    fn shown(&self, lines: bool, hidden: Hidden) -> Vec<Vec<u64>> {
        let counts = |(at, layer): (usize, &Layer)| {
            let counts = &layer.counts;
            if hidden.is_shown(at) { counts.clone() } else { vec![0; counts.len()] }
        };
        let of_kind = |(_, layer): &(usize, &Layer)| layer.is_line == lines;
        self.layers.iter().enumerate().filter(of_kind).map(counts).collect()
    }

    /// The sum of the areas in a step.
    pub fn whole(&self, step: usize) -> u64 {
        let areas = self.layers.iter().filter(|layer| !layer.is_line);
        areas.filter_map(|layer| layer.counts.get(step)).sum()
    }

    /// The total of a layer, and its share of the areas.
    pub fn total(&self, layer: &Layer) -> (u64, String) {
        let whole = (0..self.timeline.steps()).map(|step| self.whole(step)).sum();
        let total = layer.counts.iter().sum();
        (total, share(total, whole))
    }

    /// The first step that can still grow; `None` if all are complete.
    pub fn first_open_step(&self) -> Option<usize> {
        (0..self.timeline.steps()).find(|step| self.timeline.step_ms(*step).1 > self.as_of_ms)
    }

    /// Whether a step can still grow.
    pub fn is_open(&self, step: usize) -> bool {
        self.first_open_step().is_some_and(|open| step >= open)
    }

    /// The times in which Redis was away, of a chart whose steps are short: neighbouring steps in which a tenth of the checks or more
    /// were decided without it.
    pub fn outages(&self) -> Vec<Marker> {
        let mut outages: Vec<Marker> = Vec::new();
        for (step, checks) in self.degraded.iter().copied().enumerate() {
            let (from_ms, to_ms) = self.timeline.step_ms(step);
            match outages.last_mut() {
                _ if checks == 0 || checks * 10 < self.whole(step) => {}
                Some(last) if last.until_ms == Some(from_ms) => last.until_ms = Some(to_ms),
                _ => outages.push(Marker {
                    at_ms: from_ms,
                    until_ms: Some(to_ms),
                    kind: MarkerKind::Outage,
                    text: "Redis unavailable".to_owned(),
                }),
            }
        }
        outages
    }

    /// The unit of the vertical axis: `per minute`, `per 5 minutes`.
    pub fn unit(&self) -> String {
        format!("per {}", period(self.step_ms.unsigned_abs()))
    }

    /// The range of the chart and the length of its steps.
    pub fn extent(&self, zone_ms: impl Fn(i64) -> i64) -> String {
        let range = span(self.timeline.start_ms(), self.timeline.end_ms(), self.step_ms, zone_ms);
        format!("{range}, {} steps", short(self.step_ms.unsigned_abs()))
    }

    /// The values of a step as one sentence.
    pub fn readout(&self, step: usize, when: &str) -> Option<String> {
        let value = |layer: &Layer| {
            let count = layer.counts.get(step).copied()?;
            Some(format!("{} {}", grouped(count), layer.outcome))
        };
        let values = self.layers.iter().map(value).collect::<Option<Vec<_>>>()?.join(", ");
        let open = if self.is_open(step) { " (not complete yet)" } else { "" };
        Some(format!("{when}: {values}{open}"))
    }
}

/// The fewest steps of a chart that begins at its first check.
const STEPS_MIN: usize = 10;

/// Two times, with their days unless both are on one day of the viewer's zone.
pub fn span(from_ms: i64, to_ms: i64, step_ms: i64, zone_ms: impl Fn(i64) -> i64) -> String {
    let time = |at_ms| time_of_day(at_ms, step_ms, &zone_ms);
    let (from_day, to_day) = (day(from_ms, &zone_ms), day(to_ms, &zone_ms));
    if step_ms % 86_400_000 == 0 {
        let last = day(to_ms - 1, &zone_ms);
        return if last == from_day { from_day } else { format!("{from_day} – {last}") };
    }
    if from_day == to_day {
        return format!("{from_day}, {}–{}", time(from_ms), time(to_ms));
    }
    format!("{from_day}, {} – {to_day}, {}", time(from_ms), time(to_ms))
}

#[cfg(test)]
mod tests;
