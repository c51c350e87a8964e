//! Warnings: a rule is valid, but a part of it can never take effect.

use crate::algorithm::{Algorithm, Bound};
use crate::approximation::{LEASE_SHARE, lease_units_max};
use crate::condition::first_contradiction;
use crate::draft::{Action, Consistency, Mode};
use crate::rule::Rule;
use crate::unleased::Unleased;

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
    if let Some(at) = first_contradiction(rule.conditions()) {
        let attribute = rule.conditions()[at].attribute();
        warnings.push(format!(
            "match[{at}] and earlier conditions on `{attribute}` cannot hold together: this rule can never match"
        ));
    }
    if let Some(reason) = unleased(rule) {
        warnings.push(format!("`leased` has no effect {reason}: Redis decides every request"));
    }
    if rule.mode() == Mode::Off {
        warnings.push("this rule is off: it has no effect".to_owned());
    }
    warnings
}

/// On which rules `leased` has no effect, if this is such a rule.
fn unleased(rule: &Rule) -> Option<String> {
    const UNITS_MIN: u64 = 2;
    if rule.consistency() != Consistency::Leased {
        return None;
    }
    let limits = rule.limits();
    let reason = Unleased::reason(rule, limits);
    match (reason, limits) {
        (Some(Unleased::Exact), _) => None,
        (Some(Unleased::NoLimit), _) => Some("on a rule without limits".to_owned()),
        (Some(Unleased::SeveralLimits), _) => Some("on a rule with several limits".to_owned()),
        (Some(Unleased::Algorithm), _) => {
            let name = limits.first()?.algorithm.name();
            Some(format!("on a limit of the algorithm `{name}`"))
        }
        (Some(Unleased::Block), _) => Some("with `block_ms`".to_owned()),
        (None, limits) => limits
            .iter()
            .any(|limit| lease_units_max(limit.algorithm.limit()) < UNITS_MIN)
            .then(|| format!("on a limit below {}", UNITS_MIN * LEASE_SHARE)),
    }
}

/// Whether `stricter` admits so little that `limit` can never be the one to deny. A limit that counts denials can: it also
/// counts those of `stricter`.
fn hides(stricter: &Algorithm, limit: &Algorithm) -> bool {
    if limit.counts_denied() {
        return false;
    }
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
