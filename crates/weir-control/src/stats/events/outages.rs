//! The times in which gates answered checks without Redis, because it was away or slow.

use weir_domain::quantity::{grouped, period, short};
use weir_domain::time::Timestamp;
use weir_store::{DegradedStep, STEP_MS, TallyCounts, TallyFilter, Tx};
use weir_wire::stats::{Event, EventKind};

use super::event::event;
use crate::error::ControlError;
use crate::stats::range::RequestedRange;

/// The share of a gate's checks without Redis from which Redis was away, not slow: a gate gives it up after a second of failures.
const AWAY_PERCENT: u64 = 10;
const MINUTE_MS: i64 = 60_000;
/// The fewest checks without Redis of an event.
const CHECKS_MIN: u64 = 10;
/// The most events: they leave as many for other kinds.
const OUTAGES_MAX: usize = 100;
/// The time after its last step in which an outage possibly continues, because gates write a step after its end.
const CONTINUES_MS: i64 = 3 * STEP_MS;

/// Reads the events of the requested time, the newest first.
pub(super) async fn read(
    tx: &mut Tx,
    of: &TallyFilter,
    asked: &RequestedRange,
) -> Result<Vec<Event>, ControlError> {
    let minutes_since = asked.minutes_since();
    let (from, to) = asked.widened(MINUTE_MS);
    let mut steps = Vec::new();
    if from < minutes_since {
        let coarse = asked.steps(None, None)?;
        let bounds: Vec<Timestamp> =
            coarse.bounds.iter().copied().filter(|at| *at <= minutes_since.min(to)).collect();
        if bounds.len() > 1 {
            let counted = tx.tallies().series(of, &bounds, coarse.resolution).await?;
            let step = |(bounds, counts): (&[Timestamp], &TallyCounts)| DegradedStep {
                at: bounds[0],
                length_ms: bounds[1].as_millis() - bounds[0].as_millis(),
                degraded: counts.degraded,
                checks: counts.allowed + counts.denied,
                most_percent: 0,
            };
            steps.extend(bounds.windows(2).zip(&counted.counts).map(step));
            steps.retain(|step| step.degraded > 0);
        }
    }
    if to > minutes_since {
        let range = (from.max(minutes_since), to);
        steps.extend(tx.tallies().degraded(of, range, asked.now()).await?);
    }
    Ok(events(&steps, asked.now()))
}

/// The events of some ascending steps, the newest first.
fn events(steps: &[DegradedStep], now: Timestamp) -> Vec<Event> {
    let runs = joined(steps).into_iter().rev().filter(|run| run.degraded >= CHECKS_MIN);
    runs.take(OUTAGES_MAX).map(|run| run.event(now)).collect()
}

/// Whether there are enough checks without Redis: some calls take too long on any day. A short outage is a small part of an hour.
fn is_much(step: &DegradedStep) -> bool {
    let share = if step.length_ms > MINUTE_MS { 1_000 } else { 100 };
    step.degraded * share >= step.checks
}

/// Neighbouring steps of one kind.
#[derive(Debug, Clone, Copy)]
struct Run {
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
    /// Whether Redis was away, not slow. Of steps longer than ten seconds this is not known, and they count as such.
    is_away: bool,
    degraded: u64,
    checks: u64,
}

/// The runs of steps. The first and the last step of an outage can have only a few checks without Redis.
fn joined(steps: &[DegradedStep]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for run in steps.iter().filter(|step| is_much(step)).map(Run::of) {
        match runs.last_mut() {
            Some(last) if last.is_followed_by(&run) && last.is_away == run.is_away => {
                last.join(&run);
            }
            _ => runs.push(run),
        }
    }
    let mut whole: Vec<Run> = Vec::new();
    for run in runs {
        match whole.last_mut() {
            Some(last)
                if last.is_followed_by(&run)
                    && last.is_away != run.is_away
                    && (last.is_edge() || run.is_edge()) =>
            {
                last.join(&run);
            }
            _ => whole.push(run),
        }
    }
    whole
}

impl Run {
    fn of(step: &DegradedStep) -> Self {
        Self {
            from: step.at,
            until: step.at.plus_ms(step.length_ms),
            step_ms: step.length_ms,
            is_away: step.length_ms > STEP_MS || step.most_percent >= AWAY_PERCENT,
            degraded: step.degraded,
            checks: step.checks,
        }
    }

    fn is_followed_by(&self, next: &Self) -> bool {
        self.until == next.from && self.step_ms == next.step_ms
    }

    /// Whether it is a single step in which Redis was not away for long.
    fn is_edge(&self) -> bool {
        !self.is_away && self.until == self.from.plus_ms(self.step_ms)
    }

    fn join(&mut self, next: &Self) {
        self.until = next.until;
        self.is_away |= next.is_away;
        self.degraded += next.degraded;
        self.checks += next.checks;
    }

    fn event(self, now: Timestamp) -> Event {
        let kind = if self.is_away { EventKind::RedisOutage } else { EventKind::RedisSlow };
        let checks = format!("{} of {} checks", grouped(self.degraded), grouped(self.checks));
        let length_ms = (self.until.as_millis() - self.from.as_millis()).unsigned_abs();
        let so_far = if self.until.plus_ms(CONTINUES_MS) > now { " so far" } else { "" };
        let step_ms = self.step_ms.unsigned_abs();
        let summary = if !self.is_away {
            format!("{checks} were over the time for its calls")
        } else if self.step_ms > STEP_MS {
            format!("{checks}, known to the {}", period(step_ms))
        } else {
            format!("{}{so_far}, {checks} answered without it", short(length_ms))
        };
        Event {
            until: Some(self.until.into()),
            summary: Some(summary),
            step_ms: Some(step_ms),
            checks: Some(self.degraded),
            ..event(kind, self.from)
        }
    }
}

#[cfg(test)]
mod tests;
