//! Warnings: a rule is valid, but a part of it can never take effect.

use crate::algorithm::{Algorithm, Bound};
use crate::draft::{Action, Mode};
use crate::rule::Rule;

/// The warnings about a rule.
pub fn of_rule(rule: &Rule) -> Vec<String> {
    let mut warnings = Vec::new();
    let limits = rule.limits();
    for (at, limit) in limits.iter().enumerate() {
        for (stricter_at, stricter) in limits.iter().enumerate() {
            let hidden = at != stricter_at && hides(&stricter.algorithm, &limit.algorithm);
            if hidden && (stricter_at < at || !hides(&limit.algorithm, &stricter.algorithm)) {
                warnings.push(format!(
                    "limits[{at}] can never deny: limits[{stricter_at}] admits no more and over a longer window"
                ));
                break;
            }
        }
    }
    if rule.action() == Action::Deny && rule.conditions().is_empty() && rule.mode() == Mode::Enforce
    {
        warnings.push("this rule denies every request in its namespace".to_owned());
    }
    if rule.mode() == Mode::Off {
        warnings.push("this rule is off: it has no effect".to_owned());
    }
    warnings
}

/// Whether `stricter` admits so little that `limit` can never be the one to deny.
fn hides(stricter: &Algorithm, limit: &Algorithm) -> bool {
    let (Some(stricter), Some(limit)) = (stricter.bound(), limit.bound()) else { return false };
    match (stricter, limit) {
        (
            Bound::AnyWindow { limit: least, window_ms: longest },
            Bound::AnyWindow { limit, window_ms } | Bound::AlignedWindow { limit, window_ms },
        ) => least <= limit && longest >= window_ms,
        (
            Bound::AlignedWindow { limit: least, window_ms: longest },
            Bound::AlignedWindow { limit, window_ms },
        ) => least <= limit && longest % window_ms == 0,
        (Bound::Distance { interval_ms: longest }, Bound::Distance { interval_ms }) => {
            longest >= interval_ms
        }
        _ => false,
    }
}
