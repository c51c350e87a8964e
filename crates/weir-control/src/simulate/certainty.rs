//! The certainty of a run: how far a sample of the subjects represents all of them.

use weir_wire::simulate::{Certainty, Interval};

use super::outcome::Counted;

/// The quantile of the standard normal distribution for 95 %.
const Z: f64 = 1.96;
/// The fewest subjects for which the bounds are meaningful.
const SUBJECTS_ENOUGH: usize = 30;

/// The certainty of a run with this share of the subjects.
pub(super) fn certainty(counted: &[Counted], rate: f64, checks: usize) -> Certainty {
    let method = if rate < 1.0 {
        "95 % bounds for the share of refused checks of all subjects: ratio estimate over subjects as \
         clusters of unequal size, normal approximation with finite population correction \
         (W. G. Cochran, Sampling Techniques, 3rd ed., 1977, chapters 6 and 9A)"
    } else {
        "every check of this time was replayed: there is no error of sampling"
    };
    let share = |denied: fn(&Counted) -> f64| interval(counted, rate, denied);
    Certainty {
        rate,
        subjects: counted.len() as u64,
        checks: checks as u64,
        denied_before: share(|counted| float(counted.denied_before)),
        denied_after: share(|counted| float(counted.denied_after)),
        change: share(|counted| float(counted.denied_after) - float(counted.denied_before)),
        method: method.to_owned(),
    }
}

/// Warnings about a sample that is too small, as sentences.
pub(super) fn warnings(counted: &[Counted], rate: f64) -> Vec<String> {
    let subjects = counted.len();
    let mut said = Vec::new();
    if subjects == 0 {
        said.push("no check in this period matches the current or the proposed rule".to_owned());
        return said;
    }
    if rate >= 1.0 {
        return said;
    }
    if subjects < SUBJECTS_ENOUGH {
        said.push(format!(
            "only {subjects} subjects were sampled; below {SUBJECTS_ENOUGH} the bounds mean little"
        ));
    }
    if counted.iter().all(|counted| counted.denied_after == 0) {
        // Rule of three: Hanley and Lippman-Hand, JAMA 249 (1983), 1743-1745.
        let most = (300.0 / float(subjects as u64)).min(100.0);
        said.push(format!(
            "none of the {subjects} sampled subjects would be denied; with 95 % confidence it is at \
             most {most:.1} % of all subjects (rule of three)"
        ));
    }
    said
}

/// The share of `denied` in all checks, by the ratio estimate over subjects. All subjects together have no error; one subject
/// of several gives no estimate.
fn interval(counted: &[Counted], rate: f64, denied: fn(&Counted) -> f64) -> Option<Interval> {
    let subjects = float(counted.len() as u64);
    let checks: f64 = counted.iter().map(|counted| float(counted.checks)).sum();
    if checks < 1.0 {
        return None;
    }
    let share = counted.iter().map(denied).sum::<f64>() / checks;
    if rate >= 1.0 {
        return Some(Interval { share, low: share, high: share });
    }
    if counted.len() < 2 {
        return None;
    }
    let residual = |counted: &Counted| (denied(counted) - share * float(counted.checks)).powi(2);
    let variance = counted.iter().map(residual).sum::<f64>() / (subjects - 1.0);
    let mean = checks / subjects;
    let error = Z * ((1.0 - rate) * variance / subjects).sqrt() / mean;
    let least =
        if counted.iter().any(|counted| denied(counted) < 0.0) || share < 0.0 { -1.0 } else { 0.0 };
    let low = (share - error).max(least);
    let high = (share + error).min(1.0);
    Some(Interval { share, low, high })
}

#[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
