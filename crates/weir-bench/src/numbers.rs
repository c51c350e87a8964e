//! Median and spread of a few measurements.

use std::fmt;

/// The results of several rounds of one measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Returns `None` if nothing was measured.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        Some(Self { median, least, most })
    }
}

/// A count with separated thousands.
pub struct Thousands(pub f64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.0}", self.0);
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.write_str(&text)
    }
}

/// A count as a double. Every count here is far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts of seconds-long runs are exact in a double")]
pub fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::{Spread, Thousands};

    #[test]
    fn the_median_is_the_middle() {
        let of = |values: &[f64]| Spread::of(values.iter().copied()).map(|spread| spread.median);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn thousands_stand_apart() {
        let shown = |value| Thousands(value).to_string();
        assert_eq!([shown(7.4), shown(1_000.0), shown(1_234_567.0)], ["7", "1,000", "1,234,567"]);
    }
}
