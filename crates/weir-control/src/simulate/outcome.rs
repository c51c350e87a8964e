//! The outcome of a replay: in each step, for each subject, in total.

use std::borrow::Cow;
use std::collections::HashMap;

use weir_domain::time::Timestamp;
use weir_wire::simulate::{
    POINTS_MAX, SUBJECTS_LISTED_MAX, SimulatedSide, SimulatedSubject, SimulatedSubjects,
};

/// The replayed time, in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) start: Timestamp,
    pub(super) step_ms: i64,
    count: usize,
}

/// The decisions.
#[derive(Debug)]
pub(super) struct Outcome {
    steps: Steps,
    pub(super) present: SimulatedSide,
    pub(super) candidate: SimulatedSide,
    subjects: HashMap<Vec<(String, String)>, Counted>,
}

/// The decisions about one subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) checks: u64,
    pub(super) denied_before: u64,
    pub(super) denied_after: u64,
}

/// The lengths of a step, in seconds: those that people usually count in.
const STEPS_S: [i64; 16] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400];

impl Steps {
    /// The steps from `from` until before `to`, at most 200.
    pub(super) fn new(from: Timestamp, to: Timestamp) -> Self {
        let from_ms = from.as_millis();
        let to_ms = to.as_millis();
        let most = i64::from(POINTS_MAX);
        let count =
            |step_ms: i64| (to_ms - 1).div_euclid(step_ms) - from_ms.div_euclid(step_ms) + 1;
        let known = STEPS_S.map(|step| step * 1000).into_iter().find(|step| count(*step) <= most);
        let step_ms = known.unwrap_or_else(|| (to_ms - from_ms) / (most - 1) + 1);
        Self {
            from,
            to,
            start: Timestamp::from_millis(from_ms.div_euclid(step_ms) * step_ms),
            step_ms,
            count: usize::try_from(count(step_ms)).unwrap_or(1),
        }
    }

    /// The index of the step that contains a time.
    fn place(&self, at: Timestamp) -> Option<usize> {
        if at < self.from || at >= self.to {
            return None;
        }
        let place = (at.as_millis() - self.start.as_millis()) / self.step_ms;
        usize::try_from(place).ok().filter(|place| *place < self.count)
    }
}

impl Outcome {
    pub(super) fn new(steps: Steps) -> Self {
        let side = SimulatedSide {
            met: 0,
            allowed: 0,
            denied: 0,
            allowed_series: vec![0; steps.count],
            denied_series: vec![0; steps.count],
        };
        Self { steps, present: side.clone(), candidate: side, subjects: HashMap::new() }
    }

    /// Counts a check that matches at least one of the rules, if it is in the replayed time.
    pub(super) fn count<'a>(
        &mut self,
        at: Timestamp,
        (before, after): (Option<bool>, Option<bool>),
        subject: impl FnOnce() -> Vec<(&'a str, Cow<'a, str>)>,
    ) {
        let Some(place) = self.steps.place(at) else { return };
        if before.is_none() && after.is_none() {
            return;
        }
        for (side, verdict) in [(&mut self.present, before), (&mut self.candidate, after)] {
            side.met += u64::from(verdict.is_some());
            let (sum, series) = match verdict {
                Some(false) => (&mut side.denied, &mut side.denied_series),
                _ => (&mut side.allowed, &mut side.allowed_series),
            };
            *sum += 1;
            series[place] += 1;
        }
        let own = |(name, value): (&str, Cow<'_, str>)| (name.to_owned(), value.into_owned());
        let counted = self.subjects.entry(subject().into_iter().map(own).collect()).or_default();
        counted.checks += 1;
        counted.denied_before += u64::from(before == Some(false));
        counted.denied_after += u64::from(after == Some(false));
    }

    /// The decisions about each subject.
    pub(super) fn counted(&self) -> Vec<Counted> {
        self.subjects.values().copied().collect()
    }

    /// The subjects that the change would affect, with the greatest effect first.
    pub(super) fn subjects(&self) -> SimulatedSubjects {
        let change = |counted: &Counted| counted.denied_after.abs_diff(counted.denied_before);
        let mut changed: Vec<_> =
            self.subjects.iter().filter(|(_, counted)| change(counted) > 0).collect();
        changed.sort_by(|(a_name, a), (b_name, b)| {
            change(b).cmp(&change(a)).then_with(|| a_name.cmp(b_name))
        });
        let more = changed
            .iter()
            .filter(|(_, counted)| counted.denied_after > counted.denied_before)
            .count();
        let entry = |(subject, counted): &(&Vec<(String, String)>, &Counted)| SimulatedSubject {
            subject: subject.iter().cloned().collect(),
            allowed_before: counted.checks - counted.denied_before,
            denied_before: counted.denied_before,
            allowed_after: counted.checks - counted.denied_after,
            denied_after: counted.denied_after,
        };
        SimulatedSubjects {
            seen: self.subjects.len() as u64,
            more_denied: more as u64,
            less_denied: (changed.len() - more) as u64,
            data: changed.iter().take(SUBJECTS_LISTED_MAX).map(entry).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn steps_are_round_at_most_200_and_hold_all_of_the_time() {
        let spans = [1, 999, 1_000, 199_000, 200_001, 3_600_000, 86_400_000, 400 * 86_400_000];
        for from in [0, 1, 999, 1_763_726_400_123] {
            for span in spans {
                let steps = Steps::new(at(from), at(from + span));
                assert!(steps.count <= POINTS_MAX as usize, "{steps:?}");
                assert_eq!(steps.place(at(from)), Some(0), "{steps:?}");
                assert_eq!(steps.place(at(from + span - 1)), Some(steps.count - 1), "{steps:?}");
                assert_eq!(steps.place(at(from + span)), None);
                assert_eq!(steps.place(at(from - 1)), None);
            }
        }
        assert_eq!(Steps::new(at(0), at(3_600_000)).step_ms, 30_000);
    }
}
