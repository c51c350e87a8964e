//! Sparklines.

use std::fmt::Write as _;

use crate::charts::geometry::Scale;

pub const WIDTH: u64 = 96;
pub const HEIGHT: u64 = 20;

/// The `d` of a path through the values, scaled to `max`; empty if all values are 0.
pub fn spark(values: &[u64], most: u64) -> String {
    if values.iter().all(|value| *value == 0) {
        return String::new();
    }
    let last = u64::try_from(values.len() - 1).expect("there are few values");
    let x = Scale { most: last, start: 0, end: WIDTH };
    let y = Scale { most, start: HEIGHT - 1, end: 1 };
    let mut path = String::new();
    for (at, value) in (0..).zip(values) {
        let step = if at == 0 { 'M' } else { 'L' };
        write!(path, "{step}{} {}", x.place(at), y.place(*value)).expect("a text takes all");
    }
    if values.len() == 1 {
        write!(path, "H{WIDTH}").expect("a text takes all");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_joined_by_a_path() {
        assert_eq!(spark(&[0, 5, 10], 10), "M0 19L48 10L96 1");
        assert_eq!(spark(&[7], 7), "M0 1H96");
        assert_eq!(spark(&[0, 0], 0), "");
        assert_eq!(spark(&[], 0), "");
    }
}
