//! The axis of time: steps that follow one another, and their positions along the plot.

/// The position of the right edge of every plot.
pub const WIDTH: u64 = 10_000;

/// Steps in milliseconds since 1970; each ends where the next starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The start of each step, and the end of the last. Ascending, at least two.
    bounds_ms: Vec<i64>,
}

impl Timeline {
    /// Steps of equal length.
    pub fn even(start_ms: i64, step_ms: i64, steps: usize) -> Self {
        let steps = i64::try_from(steps.max(1)).unwrap_or(1);
        Self { bounds_ms: (0..=steps).map(|step| start_ms + step * step_ms.max(1)).collect() }
    }

    /// Steps with these starts, the last of which has the usual length.
    pub fn uneven(starts_ms: &[i64], step_ms: i64) -> Self {
        let Some(last) = starts_ms.last() else { return Self::even(0, step_ms, 1) };
        let end = last + step_ms.max(1);
        Self { bounds_ms: starts_ms.iter().copied().chain([end]).collect() }
    }

    /// Without its first steps; the last one stays.
    pub fn skip(mut self, steps: usize) -> Self {
        self.bounds_ms.drain(..steps.min(self.steps() - 1));
        self
    }

    pub fn steps(&self) -> usize {
        self.bounds_ms.len() - 1
    }

    pub fn start_ms(&self) -> i64 {
        self.bounds_ms[0]
    }

    pub fn end_ms(&self) -> i64 {
        self.bounds_ms[self.steps()]
    }

    pub fn length_ms(&self) -> i64 {
        self.end_ms() - self.start_ms()
    }

    /// The start and the end of a step; of the last step if the number is too great.
    pub fn step_ms(&self, step: usize) -> (i64, i64) {
        let step = step.min(self.steps() - 1);
        (self.bounds_ms[step], self.bounds_ms[step + 1])
    }

    /// The step that contains a time; `None` outside.
    pub fn step_at(&self, at_ms: i64) -> Option<usize> {
        let after = self.bounds_ms.partition_point(|bound| *bound <= at_ms);
        after.checked_sub(1).filter(|step| *step < self.steps())
    }

    /// The position of a time, from 0 to [`WIDTH`]; times outside are at the nearer edge.
    pub fn place(&self, at_ms: i64) -> u64 {
        let along = at_ms.clamp(self.start_ms(), self.end_ms()).abs_diff(self.start_ms());
        let place =
            u128::from(along) * u128::from(WIDTH) / u128::from(self.length_ms().unsigned_abs());
        u64::try_from(place).unwrap_or(WIDTH)
    }

    /// The time at a position from 0 to [`WIDTH`].
    pub fn at(&self, place: u64) -> i64 {
        let along = u128::from(place.min(WIDTH)) * u128::from(self.length_ms().unsigned_abs());
        let along = i64::try_from(along / u128::from(WIDTH)).unwrap_or(0);
        (self.start_ms() + along).min(self.end_ms() - 1)
    }
}

/// A position as a CSS percentage of the plot.
pub fn percent(place: u64) -> String {
    format!("{}.{:02}%", place / 100, place % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_position_belongs_to_one_step() {
        let timeline = Timeline::even(60_000, 60_000, 4);
        assert_eq!(
            (timeline.start_ms(), timeline.end_ms(), timeline.steps()),
            (60_000, 300_000, 4)
        );
        assert_eq!(timeline.step_ms(1), (120_000, 180_000));
        assert_eq!(timeline.step_ms(9), (240_000, 300_000));
        let found =
            [59_999, 60_000, 119_999, 120_000, 299_999, 300_000].map(|at| timeline.step_at(at));
        assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(3), None]);
        for place in 0..=WIDTH {
            let step = timeline.step_at(timeline.at(place));
            assert_eq!(
                step,
                Some(usize::try_from(place / 2_500).expect("a step").min(3)),
                "{place}"
            );
        }
    }

    #[test]
    fn positions_follow_time_even_if_steps_differ() {
        let days = Timeline::uneven(&[0, 25, 48], 24);
        assert_eq!((days.steps(), days.end_ms()), (3, 72));
        assert_eq!([0, 36, 72, -5, 99].map(|at| days.place(at)), [0, 5_000, WIDTH, 0, WIDTH]);
        assert_eq!(percent(days.place(25)), "34.72%");
        assert_eq!(Timeline::uneven(&[], 60).steps(), 1);
    }
}
