//! Warnings: a rule or a profile is valid, but a part of it can never take effect, an edit of it forgets used units, or it lets
//! clients escape.

use crate::algorithm::{Algorithm, Bound, Period};
use crate::approximation::{LEASE_SHARE, lease_units_max};
use crate::condition::{Condition, first_contradiction};
use crate::draft::{Action, Consistency, Mode, Op, Operand};
use crate::limit::Limit;
use crate::profile::{Profile, REQUEST_ID_HEADER, Reads};
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
                    "limits[{at}] can never deny: limits[{stricter_at}] is at least as strict over a longer window"
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
            "match[{at}] contradicts an earlier condition on `{attribute}`: this rule can never match"
        ));
    }
    for (at, condition) in rule.conditions().iter().enumerate() {
        if let Some(value) = unfolded_path(condition) {
            warnings.push(format!(
                "match[{at}] can never match `{value}` unless the profile lists its own `fold`: by default, paths are lower-case and have no trailing slash"
            ));
        }
    }
    if let Some(reason) = unleased(rule) {
        warnings.push(format!("`leased` has no effect {reason}: Redis decides every request"));
    }
    if rule.mode() == Mode::Off {
        warnings.push("this rule is off: it has no effect".to_owned());
    }
    warnings
}

/// The value of a condition that looks like a path, and that no path has whose differences are folded.
fn unfolded_path(condition: &Condition) -> Option<&str> {
    let draft = condition.draft();
    let values = match draft.value.as_ref()? {
        Operand::One(value) => std::slice::from_ref(value),
        Operand::Many(values) => values,
    };
    let is_whole = matches!(draft.op, Op::Equals | Op::OneOf);
    let is_unfolded = |value: &&String| {
        let path = value.strip_prefix('/').unwrap_or_default();
        path.chars().any(char::is_uppercase) || is_whole && path.ends_with('/')
    };
    let is_text = is_whole || draft.op == Op::Prefix;
    values.iter().filter(|_| is_text).find(is_unfolded).map(String::as_str)
}

/// The warnings about an edit: used units that the new rule does not know. The limits of `after` have the slots of the limits
/// whose counters they continue.
pub fn of_edit(before: &Rule, after: &Rule) -> Vec<String> {
    if after.action() != Action::Limit || before.action() != Action::Limit {
        return Vec::new();
    }
    if before.namespace() != after.namespace() || before.count_by() != after.count_by() {
        return vec![
            "all counters restart: the rule counts by different attributes, in a different form, or in a different namespace"
                .to_owned(),
        ];
    }
    let of_slot = |limits: &[Limit], slot| limits.iter().position(|limit| limit.slot == slot);
    let is_dropped = |limit: &Limit| of_slot(after.limits(), limit.slot).is_none();
    let drops = before.limits().iter().any(is_dropped);
    let mut warnings = Vec::new();
    for (at, limit) in after.limits().iter().enumerate() {
        match of_slot(before.limits(), limit.slot).map(|at| &before.limits()[at].algorithm) {
            None if drops => warnings.push(format!(
                "limits[{at}] restarts all counters: its algorithm differs from that of the limit it replaces"
            )),
            Some(former) if begins_earlier(former, &limit.algorithm) => warnings.push(format!(
                "limits[{at}] does not count units used before the previous window began, nor those of a subject that uses no more before that window ends"
            )),
            _ => {}
        }
    }
    warnings
}

/// Whether a window of an edited limit can begin before the former one, or a counter of the former one end before it.
fn begins_earlier(former: &Algorithm, edited: &Algorithm) -> bool {
    match (former, edited) {
        (Algorithm::Quota(former), Algorithm::Quota(edited)) => {
            let former = former.calendar();
            let edited = edited.calendar();
            let is_nested = former.time_zone == edited.time_zone && edited.period == Period::Day;
            let never_ends = former.period == Period::None && edited.period == Period::None;
            former != edited && !is_nested && !never_ends
        }
        (Algorithm::SlidingWindowLog(former), Algorithm::SlidingWindowLog(edited)) => {
            edited.window_ms() > former.window_ms()
        }
        (Algorithm::FixedWindow(_) | Algorithm::SlidingWindowCounter(_), _) => {
            let length = |algorithm: &Algorithm| algorithm.window_ms().unwrap_or(1);
            length(former) % length(edited) != 0
        }
        _ => false,
    }
}

/// The warnings about a profile.
pub fn of_profile(profile: &Profile) -> Vec<String> {
    let Some(header) = &profile.draft().idempotency else { return Vec::new() };
    // Envoy makes `x-request-id` anew for each request of a client, with `use_remote_address`.
    let is_of_proxy = header == REQUEST_ID_HEADER
        || header == "x-request-id" && profile.reads() == Reads::ExtAuthz;
    if is_of_proxy {
        return Vec::new();
    }
    vec![format!(
        "clients can send `{header}`: one that always sends the same value is counted only once, unless the proxy overwrites the header; have the proxy set `{REQUEST_ID_HEADER}`, as in the configurations of the guide"
    )]
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
