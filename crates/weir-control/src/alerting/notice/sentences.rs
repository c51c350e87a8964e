//! The sentences about events.

use std::collections::BTreeSet;

use weir_wire::time::DateTime;

use crate::alerting::message::{QuotaReached, Resolved, ShareReached};
use crate::alerting::notice::quoting::Quoting;

/// The most subjects that a message names.
const SUBJECTS_MAX: usize = 5;

/// Says that subjects have used shares of a quota, the most used first. The first value is whether one is used up.
pub(super) fn quotas(
    mut reached: Vec<&QuotaReached>,
    quoting: Quoting,
) -> (bool, String, Vec<String>) {
    reached.sort_by_key(|one| std::cmp::Reverse((used_percent(one), one.used)));
    let highest = reached.iter().map(|one| one.threshold_percent).max().unwrap_or_default();
    let lowest = reached.iter().map(|one| one.threshold_percent).min().unwrap_or_default();
    let subjects = reached.iter().map(|one| &one.subject).collect::<BTreeSet<_>>().len();
    let rule = reached.first().map(|one| quoting.name(&one.rule.name)).unwrap_or_default();
    let first = reached.first().and_then(|one| quoting.subject(&one.subject));
    let what = match (first, reached.as_slice(), subjects) {
        (Some(subject), [one], _) => {
            let percent = used_percent(one);
            format!("{subject} has used {percent} % of its quota (threshold {lowest} %)")
        }
        (None, [one], _) => {
            format!("{} % of the quota is used (threshold {lowest} %)", used_percent(one))
        }
        (Some(subject), _, 1) => format!("{subject} has used at least {lowest} % of its quotas"),
        (None, _, 1) => format!("at least {lowest} % of the quotas is used"),
        (_, _, subjects) => {
            format!("{subjects} subjects have used at least {lowest} % of their quota")
        }
    };
    let headline = format!("Rule {rule}: {what}");
    let mut lines: Vec<_> =
        reached.iter().take(SUBJECTS_MAX).map(|one| level(one, quoting)).collect();
    if reached.len() > SUBJECTS_MAX {
        lines.push(format!("and {} more", reached.len() - SUBJECTS_MAX));
    }
    (highest >= 100, headline, lines)
}

/// Says that a share of checks was denied.
pub(super) fn denial_share(share: &ShareReached, quoting: Quoting) -> (String, Vec<String>) {
    let denied = if share.would_deny == 0 {
        "denied"
    } else if share.would_deny < share.denied {
        "denied, or would have denied in shadow mode,"
    } else {
        "would have denied (shadow mode)"
    };
    let percent = percent(share.denied, share.checks);
    let (window, threshold) = (span(share.window_s), share.share_percent);
    let rest = format!("in the last {window} (threshold {threshold} %)");
    let headline = match (&share.rule, &share.namespace) {
        (Some(rule), _) => {
            let rule = quoting.name(&rule.name);
            format!("Rule {rule} {denied} {percent} % of checks {rest}")
        }
        (None, Some(name)) => {
            format!("{percent} % of the checks of namespace {name} were denied {rest}")
        }
        (None, None) => format!("{percent} % of all checks were denied {rest}"),
    };
    let facts = format!("{} of {} checks", share.denied, share.checks);
    (headline, vec![facts])
}

/// Says that the condition of an alert ended.
pub(super) fn resolved(end: &Resolved, quoting: Quoting) -> (String, Vec<String>) {
    let alert = quoting.name(&end.alert.name);
    let headline = if end.disabled {
        format!("Alert {alert} ended: it was disabled")
    } else {
        format!("Alert {alert} ended: its condition no longer holds")
    };
    let (since, at) = (DateTime(end.since).text(), DateTime(end.at).text());
    (headline, vec![format!("First announced at {since}, ended at {at}")])
}

/// The level of one quota: `user=u-1: 8 of 10 per month (80 %), until 2026-12-01T00:00:00Z`.
fn level(one: &QuotaReached, quoting: Quoting) -> String {
    let subject =
        quoting.subject(&one.subject).map(|subject| format!("{subject}: ")).unwrap_or_default();
    let (used, limit, percent) = (one.used, one.limit, used_percent(one));
    match one.between {
        Some((_, to)) => {
            let (period, to) = (one.period, DateTime(to).text());
            format!("{subject}{used} of {limit} per {period} ({percent} %), until {to}")
        }
        None => format!("{subject}{used} of {limit} ({percent} %)"),
    }
}

pub(in crate::alerting) fn used_percent(one: &QuotaReached) -> u64 {
    percent(one.used, one.limit)
}

/// A share in whole percent, rounded down so that nothing seems to have reached a threshold that it has not.
fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// A time as people say it.
fn span(seconds: u32) -> String {
    match seconds / 60 {
        1 => "minute".to_owned(),
        60 => "hour".to_owned(),
        minutes if minutes % 60 == 0 => format!("{} hours", minutes / 60),
        minutes => format!("{minutes} minutes"),
    }
}
