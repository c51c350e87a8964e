//! Stacked step charts of counts in equal steps of time.

use std::fmt::Write as _;

use crate::charts::geometry::Scale;

pub const WIDTH: u64 = 1000;
pub const HEIGHT: u64 = 200;

/// The paths of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The `d` of a path for each layer, lowest first.
    pub areas: Vec<String>,
    /// The `d` of the line that is not part of the stack.
    pub line: String,
    /// The value at the top of the plot.
    pub most: u64,
}

impl Stack {
    /// Stacks layers of counts of equal length. The line starts at zero.
    pub fn of(layers: &[&[u64]], line: &[u64]) -> Self {
        let steps = layers.iter().map(|layer| layer.len()).max().unwrap_or(0);
        let mut tops = vec![0_u64; steps];
        let mut edges = vec![tops.clone()];
        for layer in layers {
            for (top, count) in tops.iter_mut().zip(*layer) {
                *top = top.saturating_add(*count);
            }
            edges.push(tops.clone());
        }
        let most = round_up(tops.iter().chain(line).copied().max().unwrap_or(0));
        let y = Scale { most, start: HEIGHT, end: 0 };
        let areas = edges.windows(2).map(|pair| band(y, &pair[0], &pair[1])).collect();
        Self { areas, line: step_line(y, line), most }
    }
}

/// The position of the start of a step, of `steps` steps.
pub fn step_position(step: usize, steps: usize) -> u64 {
    let whole = |number: usize| u64::try_from(number).expect("there are few steps");
    Scale { most: whole(steps), start: 0, end: WIDTH }.place(whole(step))
}

/// The step at a share of the width from 0 to 1; `None` without steps.
pub fn step_at(share: f64, steps: usize) -> Option<usize> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "there are few steps, and a place off the plot is the step at its end"
    )]
    let at = (share.clamp(0.0, 1.0) * steps as f64) as usize;
    (steps > 0).then(|| at.min(steps - 1))
}

/// At most `labels` evenly spaced steps to label.
pub fn steps_to_label(steps: usize, labels: usize) -> Vec<usize> {
    let every = steps.div_ceil(labels.max(1)).max(1);
    (0..steps).step_by(every).collect()
}

/// The next of 1, 2, 5, 10, 20, 50, …
pub fn round_up(most: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            let round = unit.saturating_mul(factor);
            if round >= most {
                return round;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// A line along the tops of steps; empty if all are 0.
fn step_line(y: Scale, tops: &[u64]) -> String {
    if tops.iter().all(|top| *top == 0) { String::new() } else { edge(y, tops) }
}

/// The area between two edges.
fn band(y: Scale, lower: &[u64], upper: &[u64]) -> String {
    if lower == upper {
        return String::new();
    }
    let mut path = edge(y, upper);
    for (step, bottom) in lower.iter().enumerate().rev() {
        write!(path, "V{}H{}", y.place(*bottom), step_position(step, lower.len()))
            .expect("a text takes all");
    }
    path.push('Z');
    path
}

/// A line from left to right along the tops of at least one step.
fn edge(y: Scale, tops: &[u64]) -> String {
    let mut path = format!("M0 {}", y.place(tops[0]));
    for (step, top) in tops.iter().enumerate() {
        write!(path, "V{}H{}", y.place(*top), step_position(step + 1, tops.len()))
            .expect("a text takes all");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_stacked() {
        let stack = Stack::of(&[&[1, 3], &[1, 0]], &[0, 2]);
        assert_eq!(stack.most, 5);
        assert_eq!(stack.areas[0], "M0 160V160H500V80H1000V200H500V200H0Z");
        assert_eq!(stack.areas[1], "M0 120V120H500V80H1000V80H500V160H0Z");
        assert_eq!(stack.line, "M0 200V200H500V120H1000");
    }

    #[test]
    fn empty_single_and_huge_series_are_drawn() {
        assert_eq!(Stack::of(&[&[], &[]], &[]).areas, ["", ""]);
        assert_eq!(Stack::of(&[&[0, 0], &[0, 0]], &[0, 0]).areas, ["", ""]);
        assert_eq!(Stack::of(&[&[7]], &[]).areas, ["M0 60V60H1000V200H0Z"]);
        assert_eq!(Stack::of(&[&[1_000_000_000]], &[]).areas, ["M0 0V0H1000V200H0Z"]);
        assert_eq!(Stack::of(&[&[u64::MAX], &[u64::MAX]], &[]).most, u64::MAX);
    }

    #[test]
    fn the_top_is_a_round_number() {
        let tops: Vec<_> = [0, 1, 3, 5, 6, 11, 99, 101, 2001].into_iter().map(round_up).collect();
        assert_eq!(tops, [1, 1, 5, 5, 10, 20, 100, 200, 5000]);
    }

    #[test]
    fn each_position_belongs_to_one_step() {
        assert_eq!(
            [0.0, 0.49, 0.5, 1.0, 7.0].map(|share| step_at(share, 2)),
            [Some(0), Some(0), Some(1), Some(1), Some(1)]
        );
        assert_eq!(step_at(0.5, 0), None);
        assert_eq!(steps_to_label(60, 6), [0, 10, 20, 30, 40, 50]);
        assert_eq!(steps_to_label(1, 6), [0]);
        assert_eq!(steps_to_label(0, 6), [0_usize; 0]);
    }
}
