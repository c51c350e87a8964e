//! The arithmetic of experiments: how far two variants differ by the numbers of their denied subjects.
//!
//! Each subject has one variant, by a hash, and counts once. So of all denied subjects of two variants, those of the second are a
//! binomial number, whose probability is the second one's share if the variants do not differ.

use weir_wire::stats::Comparison;

/// The quantile of the standard normal distribution for 95 %, both sides.
const Z: f64 = 1.96;
/// The quantile for a power of 80 %.
const Z_POWER: f64 = 0.8416;

/// A description of [`compare`].
pub(crate) const METHOD: &str = "denied subjects of a variant for each one of the first variant, at equal shares: 95 % bounds by the \
     score interval of a binomial share, given the sum of both (E. B. Wilson, JASA 22 (1927), 209-212)";

/// The denied subjects of one variant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeniedSubjects {
    /// The number of subjects.
    pub(crate) subjects: f64,
    /// The share of the subjects that have the variant, in percent.
    pub(crate) percent: f64,
}

/// The denied subjects of a variant beside those of the first one. `None` if nobody was denied.
pub(crate) fn compare(first: DeniedSubjects, other: DeniedSubjects) -> Option<Comparison> {
    let sum = first.subjects + other.subjects;
    if sum < 1.0 {
        return None;
    }
    let ratio =
        |share: f64| (share < 1.0).then(|| share / (1.0 - share) * first.percent / other.percent);
    let share = other.subjects / sum;
    let centre = share + Z * Z / (2.0 * sum);
    let spread = Z * (share * (1.0 - share) / sum + Z * Z / (4.0 * sum * sum)).sqrt();
    let scale = 1.0 + Z * Z / sum;
    Some(Comparison {
        ratio: ratio(share),
        low: ratio(((centre - spread) / scale).max(0.0)).unwrap_or(0.0),
        high: if first.subjects < 1.0 { None } else { ratio((centre + spread) / scale) },
    })
}

/// How many times as long as the counted time an experiment with both variants runs until it distinguishes them in 80 of 100 cases,
/// at 95 % (J. L. Fleiss, Statistical Methods for Rates and Proportions, 3rd ed., 2003, chapter 2). The numbers of subjects are
/// those that each variant would deny if all subjects had it. `None` if they do not differ.
pub(crate) fn times_needed(first: DeniedSubjects, other: DeniedSubjects) -> Option<f64> {
    let denied = |variant: DeniedSubjects| variant.subjects * variant.percent / 100.0;
    let sum = denied(first) + denied(other);
    let equal = other.percent / (first.percent + other.percent);
    let share = denied(other) / sum;
    if sum <= 0.0 || (share - equal).abs() < 1e-9 {
        return None;
    }
    let error = Z * (equal * (1.0 - equal)).sqrt() + Z_POWER * (share * (1.0 - share)).sqrt();
    Some((error / (share - equal)).powi(2) / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(subjects: f64, percent: f64) -> DeniedSubjects {
        DeniedSubjects { subjects, percent }
    }

    /// By hand: 40 of 100 at equal shares; centre 0.4192, spread 0.09790, scale 1.038416; so from 0.3094 to 0.4980.
    #[test]
    fn bounds_equal_those_computed_by_hand() {
        let found = compare(of(60.0, 50.0), of(40.0, 50.0)).expect("both were denied");
        let near = |a: Option<f64>, b: f64| (a.expect("known") - b).abs() < 1e-3;
        assert!(near(found.ratio, 2.0 / 3.0), "{found:?}");
        assert!(near(Some(found.low), 0.4480) && near(found.high, 0.9920), "{found:?}");
    }

    #[test]
    fn shares_of_subjects_are_taken_out_and_nobody_gives_no_bound() {
        let found = compare(of(90.0, 90.0), of(10.0, 10.0)).expect("both were denied");
        assert!((found.ratio.expect("known") - 1.0).abs() < 1e-9 && found.low < 1.0);
        assert_eq!(compare(of(0.0, 50.0), of(0.0, 50.0)), None);
        let none = compare(of(0.0, 50.0), of(5.0, 50.0)).expect("one was denied");
        assert_eq!((none.ratio, none.high), (None, None));
        assert!(none.low > 0.0);
        let less = compare(of(5.0, 50.0), of(0.0, 50.0)).expect("one was denied");
        assert_eq!((less.ratio, less.low), (Some(0.0), 0.0));
    }

    /// The bounds hold the truth in about 95 of 100 experiments, and an experiment of the needed length distinguishes the variants in
    /// about 80 of 100.
    #[test]
    fn simulated_experiments_agree_with_both_formulas() {
        let mut random = 42_u64;
        let mut chance = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(random >> 33).expect("31 bits")) / f64::from(1_u32 << 31)
        };
        let (first, other) = (of(100.0, 50.0), of(70.0, 50.0));
        let times = times_needed(first, other).expect("they differ");
        let sum = (f64::midpoint(first.subjects, other.subjects) * times).round();
        let share = 70.0 / 170.0;
        let (mut held, mut significant) = (0, 0);
        for _ in 0..1_000 {
            let mut denied = 0.0;
            let mut left = sum;
            while left > 0.0 {
                denied += f64::from(chance() < share);
                left -= 1.0;
            }
            let found = compare(of(sum - denied, 50.0), of(denied, 50.0)).expect("many");
            let high = found.high.expect("many");
            held += u32::from(found.low <= 0.7 && 0.7 <= high);
            significant += u32::from(high < 1.0);
        }
        assert!((925..=975).contains(&held), "{held} of 1000");
        assert!((760..=850).contains(&significant), "{significant} of 1000");
        assert_eq!(times_needed(first, first), None);
    }
}
