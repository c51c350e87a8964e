//! The rules that denied a subject in the last hour, as a sentence.

use weir_domain::quantity::counted;
use weir_wire::stats::DenialEntry;
use weir_wire::subjects::{InspectSubjectAnswer, SubjectOfRule};
use weir_wire::words::{Action, Mode};

use crate::model::duration::about;
use crate::model::number::quantity;
use crate::model::subject_action::RuleSubject;

/// The enforced denials of a rule in the last hour, at least.
pub fn denials_of(past: Option<&InspectSubjectAnswer>, rule_id: &str) -> u64 {
    let history = past.and_then(|past| past.history.as_ref());
    let rule = history
        .and_then(|history| history.last_hour.iter().find(|denials| denials.rule_id == rule_id));
    rule.map_or(0, |rule| rule.denied)
}

/// `Denied 114 times by api and 6 times by exports in the last 64 min.` Empty without a history.
pub fn sentence(past: &InspectSubjectAnswer, log: &[DenialEntry], now_ms: i64) -> String {
    let Some(history) = &past.history else { return String::new() };
    let from_ms = history.last_hour_from.0.as_millis();
    let last = format!("in the last {}", about(now_ms.abs_diff(from_ms)));
    let name = |id: &str| {
        let rule = past.data.iter().find(|rule| rule.rule_id == id);
        rule.map_or("a deleted rule", |rule| &rule.rule)
    };
    let step_ms = i64::from(history.step_s) * 1_000;
    let first = (from_ms - history.start.0.as_millis()).div_euclid(step_ms.max(1));
    let first = usize::try_from(first).unwrap_or(0);
    let uncounted = log.iter().find(|denial| !denial.shadow && denial.at >= history.as_of);
    let missing = history.unknown.iter().skip(first).any(|missing| *missing > 0);
    let exact = !missing && uncounted.is_none();
    let denying: Vec<_> = history.last_hour.iter().filter(|rule| rule.denied > 0).collect();
    let (named, others) = denying.split_at(denying.len().min(NAMED_MAX));
    let mut parts: Vec<_> = named
        .iter()
        .map(|rule| format!("{} by {}", counted(rule.denied, "time", "times"), name(&rule.rule_id)))
        .collect();
    if !others.is_empty() {
        let sum = others.iter().map(|rule| rule.denied).sum();
        let rules = quantity(others.len(), "other rule", "other rules");
        parts.push(format!("{} by {rules}", counted(sum, "time", "times")));
    }
    let enforced = match (parts.split_last(), uncounted) {
        (Some((only, [])), _) => format!("Denied {}{only} {last}.", at_least(exact)),
        (Some((end, begin)), _) => {
            format!("Denied {}{} and {end} {last}.", at_least(exact), begin.join(", "))
        }
        (None, Some(denial)) => {
            format!("Denied just now by {}. The count follows within a minute.", denial.rule)
        }
        (None, None) if exact => format!("Not denied {last}."),
        (None, None) => {
            format!("No denials are known {last}. Gates count only the busiest subjects.")
        }
    };
    let shadow = history.last_hour.iter().filter(|rule| rule.shadow_denied > 0).take(NAMED_MAX);
    let shadow = shadow.map(|rule| {
        let times = counted(rule.shadow_denied, "time", "times");
        format!("In shadow mode, {} would have denied it {times}.", name(&rule.rule_id))
    });
    [enforced].into_iter().chain(shadow).collect::<Vec<_>>().join(" ")
}

const fn at_least(exact: bool) -> &'static str {
    if exact { "" } else { "at least " }
}

/// The rules to change so that the subject passes: those that denied it in the last hour, or deny it now.
pub fn denying(past: &InspectSubjectAnswer, found: &InspectSubjectAnswer) -> Vec<RuleSubject> {
    let denies = |rule: &&SubjectOfRule| {
        let now = rule.limits.iter().any(|limit| !limit.allowed);
        let decides = rule.action == Action::Deny && rule.exception.is_some();
        let counts = now || denials_of(Some(past), &rule.rule_id) > 0;
        rule.mode == Mode::Enforce && (decides || rule.action == Action::Limit && counts)
    };
    found.data.iter().filter(denies).map(RuleSubject::of).collect()
}

/// The most rules of the sentence that are named.
const NAMED_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(denied: &[(&str, u64, u64)], unknown: u64) -> InspectSubjectAnswer {
        let rule = |(name, ..): &(&str, u64, u64)| {
            json!({
                "rule_id": format!("rule_{name}"), "rule": name, "namespace": "api", "mode": "enforce",
                "action": "limit", "count_by": ["user"], "subject": {"user": "u-1"}, "override": null, "limits": []
            })
        };
        let last_hour = denied.iter().map(|(name, denied, shadow_denied)| {
            json!({"rule_id": format!("rule_{name}"), "denied": denied, "shadow_denied": shadow_denied})
        });
        let mut unknowns = vec![0; 144];
        unknowns[100] = 9;
        unknowns[143] = unknown;
        serde_json::from_value(json!({
            "data": denied.iter().map(rule).collect::<Vec<_>>(), "truncated": false, "denials": [],
            "as_of": "2026-11-21T22:25:00Z",
            "history": {
                "start": "2026-11-20T22:30:00Z", "step_s": 600, "denied": [], "shadow_denied": [],
                "unknown": unknowns, "as_of": "2026-11-21T22:25:00Z",
                "last_hour_from": "2026-11-21T21:20:00Z", "last_hour": last_hour.collect::<Vec<_>>()
            }
        }))
        .expect("an answer")
    }

    fn said(denied: &[(&str, u64, u64)], unknown: u64, log: &Value) -> String {
        let past = answer(denied, unknown);
        let log: Vec<DenialEntry> = serde_json::from_value(log.clone()).expect("a log");
        let from_ms = past.history.as_ref().expect("a history").last_hour_from.0.as_millis();
        sentence(&past, &log, from_ms + 64 * 60_000)
    }

    #[test]
    fn the_sentence_names_the_rules_and_what_is_not_known() {
        let none = json!([]);
        let both = [("api", 114, 0), ("exports", 1, 0)];
        assert_eq!(
            said(&both, 0, &none),
            "Denied 114 times by api and 1 time by exports in the last 64 min."
        );
        assert_eq!(
            said(&both[..1], 5, &none),
            "Denied at least 114 times by api in the last 64 min."
        );
        let many: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| (name, 2, 0)).to_vec();
        assert_eq!(
            said(&many, 0, &none),
            "Denied 2 times by a, 2 times by b, 2 times by c and 4 times by 2 other rules in the last 64 min."
        );
        assert_eq!(said(&[], 0, &none), "Not denied in the last 64 min.");
        assert_eq!(
            said(&[], 5, &none),
            "No denials are known in the last 64 min. Gates count only the busiest subjects."
        );
        assert_eq!(
            said(&[("trial", 0, 6)], 0, &none),
            "Not denied in the last 64 min. In shadow mode, trial would have denied it 6 times."
        );
        let fresh = json!([{
            "id": "denial_1", "at": "2026-11-21T22:25:01Z", "namespace": "api", "rule_id": "rule_api",
            "rule": "api", "shadow": false, "subject": {"user": "u-1"}, "cost": 1,
            "retry_after_ms": 10, "degraded": false, "stands_for": 1
        }]);
        assert_eq!(
            said(&[], 0, &fresh),
            "Denied just now by api. The count follows within a minute."
        );
        assert_eq!(
            said(&both[..1], 0, &fresh),
            "Denied at least 114 times by api in the last 64 min."
        );
    }

    #[test]
    fn rules_that_denied_or_deny_now_are_changed() {
        let names = |past: &InspectSubjectAnswer, found: &InspectSubjectAnswer| {
            denying(past, found).into_iter().map(|rule| rule.rule).collect::<Vec<_>>()
        };
        let past = answer(&[("api", 114, 0), ("exports", 0, 2), ("mail", 1, 0)], 0);
        let mut found = past.clone();
        assert_eq!(names(&past, &found), ["api", "mail"]);
        found.data[0].mode = Mode::Shadow;
        // A rule that denies everybody has no limit to raise.
        found.data[2].action = Action::Deny;
        assert_eq!(names(&past, &found), [""; 0]);
    }
}
