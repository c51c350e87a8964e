//! Stacked step charts of counts over time.

use std::fmt::Write as _;

use crate::charts::timeline::{Timeline, WIDTH};
use crate::charts::value_axis::ValueAxis;

/// The height of every plot.
pub const HEIGHT: u64 = 1_000;

/// The paths of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The `d` of a path for each layer, lowest first; empty if the layer is 0 throughout.
    pub areas: Vec<String>,
    /// The `d` of the upper edge of each layer.
    pub edges: Vec<String>,
    /// The `d` of each line that is not part of the stack, from zero.
    pub lines: Vec<String>,
    pub axis: ValueAxis,
}

impl Stack {
    /// Stacks layers of counts, one for each step.
    pub fn of(timeline: &Timeline, layers: &[Vec<u64>], lines: &[Vec<u64>]) -> Self {
        let steps = timeline.steps();
        let mut tops = vec![0_u64; steps];
        let mut levels = vec![tops.clone()];
        for layer in layers {
            for (top, count) in tops.iter_mut().zip(layer) {
                *top = top.saturating_add(*count);
            }
            levels.push(tops.clone());
        }
        let of_lines = lines.iter().flat_map(|line| line.iter().take(steps));
        let most = tops.iter().chain(of_lines).copied().max().unwrap_or(0);
        let path = Path { timeline, axis: ValueAxis::of(most, HEIGHT) };
        Self {
            areas: levels.windows(2).map(|pair| path.band(&pair[0], &pair[1])).collect(),
            edges: levels.windows(2).map(|pair| path.edge_above(&pair[0], &pair[1])).collect(),
            lines: lines.iter().map(|line| path.line(line)).collect(),
            axis: path.axis,
        }
    }
}

/// Draws the tops of steps.
struct Path<'t> {
    timeline: &'t Timeline,
    axis: ValueAxis,
}

impl Path<'_> {
    /// The area between two levels.
    fn band(&self, lower: &[u64], upper: &[u64]) -> String {
        if lower == upper {
            return String::new();
        }
        let mut path = self.edge(upper);
        for (step, bottom) in lower.iter().enumerate().rev() {
            let left = self.timeline.place(self.timeline.step_ms(step).0);
            write!(path, "V{}H{left}", self.axis.place(*bottom)).expect("a text takes all");
        }
        path.push('Z');
        path
    }

    /// The upper edge of a layer, with gaps where the layer is 0.
    fn edge_above(&self, lower: &[u64], upper: &[u64]) -> String {
        let mut path = String::new();
        let mut is_drawing = false;
        for (step, (bottom, top)) in lower.iter().zip(upper).enumerate() {
            let (from_ms, to_ms) = self.timeline.step_ms(step);
            if top > bottom {
                let (y, right) = (self.axis.place(*top), self.timeline.place(to_ms));
                if is_drawing {
                    write!(path, "V{y}H{right}").expect("a text takes all");
                } else {
                    let left = self.timeline.place(from_ms);
                    write!(path, "M{left} {y}H{right}").expect("a text takes all");
                }
            }
            is_drawing = top > bottom;
        }
        path
    }

    /// A line along the tops of steps; empty if all are 0.
    fn line(&self, tops: &[u64]) -> String {
        if tops.iter().all(|top| *top == 0) { String::new() } else { self.edge(tops) }
    }

    /// A line from left to right along the tops of at least one step.
    fn edge(&self, tops: &[u64]) -> String {
        let mut path = format!("M0 {}", self.axis.place(tops[0]));
        for (step, top) in tops.iter().take(self.timeline.steps()).enumerate() {
            let right = self.timeline.place(self.timeline.step_ms(step).1).min(WIDTH);
            write!(path, "V{}H{right}", self.axis.place(*top)).expect("a text takes all");
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(layers: &[&[u64]], line: &[u64]) -> Stack {
        let steps = layers.iter().map(|layer| layer.len()).max().unwrap_or(0);
        let layers: Vec<_> = layers.iter().map(|layer| layer.to_vec()).collect();
        Stack::of(&Timeline::even(0, 60_000, steps), &layers, &[line.to_vec()])
    }

    #[test]
    fn layers_are_stacked() {
        let stack = stack(&[&[1, 3], &[20, 0]], &[0, 21]);
        assert_eq!(stack.areas[0], "M0 955V955H5000V864H10000V1000H5000V1000H0Z");
        assert_eq!(stack.areas[1], "M0 48V48H5000V864H10000V864H5000V955H0Z");
        assert_eq!(stack.edges, ["M0 955H5000V864H10000", "M0 48H5000"]);
        assert_eq!(stack.lines, ["M0 1000V1000H5000V48H10000"]);
    }

    #[test]
    fn empty_single_and_huge_series_are_drawn() {
        assert_eq!(stack(&[&[], &[]], &[]).areas, ["", ""]);
        assert_eq!(stack(&[&[0, 0], &[0, 0]], &[0, 0]).areas, ["", ""]);
        assert_eq!(stack(&[&[0, 0]], &[0, 0]).lines, [""]);
        assert_eq!(stack(&[&[7]], &[]).areas, ["M0 48V48H10000V1000H0Z"]);
        assert_eq!(stack(&[&[u64::MAX], &[u64::MAX]], &[]).areas[0], "M0 48V48H10000V1000H0Z");
    }

    #[test]
    fn a_line_can_be_longer_than_the_stack() {
        assert_eq!(
            stack(&[&[1]], &[1, 99]).lines,
            ["M0 48V48H10000"],
            "only the steps of the plot count"
        );
    }
}
