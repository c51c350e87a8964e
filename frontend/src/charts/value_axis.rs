//! The axis of counts: its height and its ticks.

/// An axis from 0 to slightly more than the greatest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueAxis {
    /// The greatest value.
    most: u64,
    /// The height of the plot.
    height: u64,
}

/// The most ticks above 0.
const TICKS_MAX: u64 = 4;

impl ValueAxis {
    pub fn of(most: u64, height: u64) -> Self {
        Self { most: most.max(1), height }
    }

    /// The position of a value, from the top of the plot. Above the greatest value is 5 % of free space.
    pub fn place(self, value: u64) -> u64 {
        let along = u128::from(value) * 20 * u128::from(self.height) / (u128::from(self.most) * 21);
        self.height.saturating_sub(u64::try_from(along).unwrap_or(u64::MAX))
    }

    /// Multiples of 1, 2, 2.5 or 5 times a power of ten, from 0.
    pub fn ticks(self) -> Vec<u64> {
        let step = tick_step(self.most);
        (0..=self.most / step).map(|tick| tick * step).collect()
    }
}

/// The smallest step that gives at most [`TICKS_MAX`] ticks above 0.
fn tick_step(most: u64) -> u64 {
    let mut unit = 1_u128;
    loop {
        for tenths in [10, 20, 25, 50] {
            let step = unit * tenths / 10;
            let whole = unit > 1 || tenths != 25;
            if whole && u128::from(most) / step <= u128::from(TICKS_MAX) {
                return u64::try_from(step).unwrap_or(u64::MAX);
            }
        }
        unit *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = |most| ValueAxis::of(most, 200).ticks();
        assert_eq!(ticks(0), [0, 1]);
        assert_eq!(ticks(4), [0, 1, 2, 3, 4]);
        assert_eq!(ticks(7), [0, 2, 4, 6]);
        assert_eq!(ticks(24), [0, 5, 10, 15, 20]);
        assert_eq!(ticks(93), [0, 20, 40, 60, 80]);
        assert_eq!(ticks(110), [0, 25, 50, 75, 100]);
        assert_eq!(ticks(1_900), [0, 500, 1_000, 1_500]);
        for most in (1..5_000).chain([u64::MAX / 3, u64::MAX]) {
            let count = ticks(most).len();
            assert!((2..=5).contains(&count), "{most}: {count} ticks");
        }
    }

    #[test]
    fn the_greatest_value_almost_fills_the_plot() {
        for most in [1, 24, 999, 1_000_000_007, u64::MAX] {
            let axis = ValueAxis::of(most, 2_100);
            assert_eq!((axis.place(0), axis.place(most)), (2_100, 100), "{most}");
        }
        assert_eq!(ValueAxis::of(10, 200).place(99), 0, "a value above the axis ends at its top");
    }
}
