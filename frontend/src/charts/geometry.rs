//! Scales and areas in whole units of a chart's `viewBox`.

use std::fmt::Write as _;

/// Maps values to positions along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// The value at `end`; the value at `start` is 0.
    pub most: u64,
    /// The position of 0.
    pub start: u64,
    /// The position of `max`; less than `start` when values grow towards the origin.
    pub end: u64,
}

impl Scale {
    /// The position of a value, clamped to the axis.
    pub fn place(self, value: u64) -> u64 {
        let most = self.most.max(1);
        let along = u128::from(value.min(most)) * u128::from(self.start.abs_diff(self.end));
        let along = u64::try_from(along / u128::from(most)).expect("it is at most the whole side");
        if self.end < self.start { self.start - along } else { self.start + along }
    }
}

/// The area below a polyline as the `d` of a path; empty without points.
pub fn area(x: Scale, y: Scale, points: &[(u64, u64)]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let mut path = format!("M{} {}", x.place(first.0), y.start);
    for (along, value) in points {
        write!(path, "L{} {}", x.place(*along), y.place(*value)).expect("a text takes all");
    }
    write!(path, "L{} {}Z", x.place(last.0), y.start).expect("a text takes all");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Scale = Scale { most: 60_000, start: 0, end: 1_200 };
    const Y: Scale = Scale { most: 10, start: 100, end: 0 };

    #[test]
    fn scales_map_their_ends() {
        assert_eq!((X.place(0), X.place(30_000), X.place(60_000)), (0, 600, 1_200));
        assert_eq!((Y.place(0), Y.place(4), Y.place(10), Y.place(99)), (100, 60, 0, 0));
        assert_eq!(Scale { most: 0, start: 5, end: 9 }.place(7), 9);
        assert_eq!(Scale { most: u64::MAX, start: 0, end: u64::MAX }.place(7), 7);
    }

    #[test]
    fn areas_start_at_the_baseline() {
        let points = [(0, 0), (30_000, 5), (60_000, 2)];
        assert_eq!(area(X, Y, &points), "M0 100L0 100L600 50L1200 80L1200 100Z");
        assert_eq!(area(X, Y, &[]), "");
    }
}
