//! The verdict: all decisions of a check combined. The strictest one decides.

use crate::decide::Decision;

/// The decision of a limit, with its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name of the rule.
    pub rule: &'a str,
    /// Whether the rule is in shadow mode.
    pub shadow: bool,
    /// The limit, the capacity, or 1 for spacing.
    pub limit: u64,
    /// The decision.
    pub decision: Decision,
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the check is admitted.
    pub allowed: bool,
    /// The first entry of each enforced rule that refused, in rule order.
    pub denied_by: Vec<usize>,
    /// The entry that decides: of a denial the enforced one with the longest wait, else the enforced one with the
    /// smallest share left; `None` without enforced limits.
    pub deciding: Option<usize>,
    /// The wait in milliseconds: 0 if the check is allowed, `None` if it can never pass.
    pub retry_after_ms: Option<u64>,
    /// The longest of the enforced delays, in milliseconds.
    pub delay_ms: u64,
}

/// Combines the entries of a check.
pub fn combine(entries: &[Entry<'_>]) -> Verdict {
    let enforced = || entries.iter().enumerate().filter(|(_, entry)| !entry.shadow);
    let mut denied_by = Vec::new();
    for (at, entry) in enforced().filter(|(_, entry)| !entry.decision.allowed) {
        if denied_by.last().is_none_or(|&last: &usize| entries[last].rule != entry.rule) {
            denied_by.push(at);
        }
    }
    let allowed = denied_by.is_empty();
    let deciding = if allowed {
        // Least share left; compared as remaining × other limit, exact in 128 bits.
        enforced().reduce(|least, next| if share_less(next.1, least.1) { next } else { least })
    } else {
        let wait = |entry: &Entry<'_>| entry.decision.retry_after_ms.unwrap_or(u64::MAX);
        enforced()
            .reduce(|longest, next| if wait(next.1) > wait(longest.1) { next } else { longest })
    };
    Verdict {
        allowed,
        deciding: deciding.map(|(at, _)| at),
        retry_after_ms: match deciding {
            Some((_, entry)) if !allowed => entry.decision.retry_after_ms,
            _ => Some(0),
        },
        delay_ms: enforced().map(|(_, entry)| entry.decision.delay_ms).max().unwrap_or(0),
        denied_by,
    }
}

fn share_less(a: &Entry<'_>, b: &Entry<'_>) -> bool {
    let share = |entry: &Entry<'_>, other: &Entry<'_>| {
        u128::from(entry.decision.remaining) * u128::from(other.limit)
    };
    share(a, b) < share(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(rule: &str, limit: u64, remaining: u64, retry_after_ms: Option<u64>) -> Entry<'_> {
        let allowed = retry_after_ms == Some(0);
        let decision = Decision {
            allowed,
            remaining,
            reset_after_ms: 0,
            retry_after_ms,
            delay_ms: 0,
            returned: false,
        };
        Entry { rule, shadow: false, limit, decision }
    }

    #[test]
    fn longest_wait_decides_a_denial_and_never_is_longest() {
        let verdict = combine(&[
            entry("a", 5, 0, Some(10)),
            entry("a", 5, 0, Some(30)),
            entry("b", 5, 3, Some(0)),
        ]);
        assert_eq!((verdict.allowed, verdict.deciding), (false, Some(1)));
        assert_eq!((verdict.denied_by, verdict.retry_after_ms), (vec![0], Some(30)));
        let verdict = combine(&[entry("a", 5, 0, Some(10)), entry("b", 5, 5, None)]);
        assert_eq!((verdict.deciding, verdict.retry_after_ms), (Some(1), None));
    }

    #[test]
    fn least_share_left_decides_when_allowed_and_shadows_never_do() {
        let mut shadow = entry("s", 5, 0, Some(9));
        shadow.shadow = true;
        let verdict = combine(&[entry("a", 10, 9, Some(0)), entry("b", 3, 1, Some(0)), shadow]);
        assert!(verdict.allowed);
        assert_eq!((verdict.deciding, verdict.retry_after_ms), (Some(1), Some(0)));
        assert_eq!(combine(&[]).deciding, None);
        assert!(combine(&[]).allowed);
    }
}
