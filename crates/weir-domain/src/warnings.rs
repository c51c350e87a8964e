//! Warnings: a rule that is allowed, but holds something that can never take effect.

use crate::algorithm::Algorithm;
use crate::draft::{Action, Mode};
use crate::rule::Rule;

/// What the writer of a rule should know before relying on it.
pub fn of_rule(rule: &Rule) -> Vec<String> {
    let mut warnings = Vec::new();
    let limits = rule.limits();
    for (at, limit) in limits.iter().enumerate() {
        for (stricter_at, stricter) in limits.iter().enumerate() {
            let hides = at != stricter_at && hides(&stricter.algorithm, &limit.algorithm);
            if hides && (stricter_at < at || !hides_back(&limit.algorithm, &stricter.algorithm)) {
                warnings.push(format!(
                    "limits[{at}] can never deny: limits[{stricter_at}] admits no more and over a longer window"
                ));
                break;
            }
        }
    }
    if rule.action() == Action::Deny && rule.conditions().is_empty() && rule.mode() == Mode::Enforce
    {
        warnings.push("this rule refuses every request of its namespace".to_owned());
    }
    if rule.mode() == Mode::Off {
        warnings.push("this rule is off: it does nothing".to_owned());
    }
    warnings
}

/// Whether `stricter` admits so little that `limit` can never be the one to deny.
fn hides(stricter: &Algorithm, limit: &Algorithm) -> bool {
    match (stricter, limit) {
        (Algorithm::SlidingWindowLog(a), Algorithm::SlidingWindowLog(b)) => {
            a.limit() <= b.limit() && a.window_ms() >= b.window_ms()
        }
        (Algorithm::SlidingWindowLog(a), Algorithm::FixedWindow(b)) => {
            a.limit() <= b.limit() && a.window_ms() >= b.window_ms()
        }
        (Algorithm::FixedWindow(a), Algorithm::FixedWindow(b)) => {
            a.limit() <= b.limit() && a.window_ms() % b.window_ms() == 0
        }
        (Algorithm::Spacing(a), Algorithm::Spacing(b)) => a.interval_ms() >= b.interval_ms(),
        _ => false,
    }
}

fn hides_back(limit: &Algorithm, stricter: &Algorithm) -> bool {
    hides(limit, stricter)
}
