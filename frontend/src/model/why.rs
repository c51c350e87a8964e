//! Why a check was denied, in words.

use weir_wire::check::LimitAnswer;
use weir_wire::limits::AlgorithmName;
use weir_wire::stats::ExplainedDenial;

use crate::model::duration::{about, period};
use crate::model::number::grouped;
use crate::model::subject;

/// The path of the page about the denials of a request, below the tenant.
pub fn page(request_id: &str) -> String {
    format!("why/{request_id}")
}

/// The rule that denied the check, the subject, and the numbers of the limit that did.
pub fn sentence(explained: &ExplainedDenial) -> String {
    let denial = &explained.denial;
    let verb = if denial.shadow { "Would be denied" } else { "Denied" };
    let of = format!("{verb} by {} for {}", denial.rule, subject::label(&denial.subject));
    let denying = explained.limits.iter().find(|limit| !limit.allowed);
    match denying {
        Some(limit) => format!("{of}: {}", numbers(limit, denial.cost)),
        None if explained.override_id.is_some() => {
            format!("{of}: an override of the subject denies every check")
        }
        None => format!("{of}: the rule denies every check that it matches"),
    }
}

/// `100 of 100 used per minute, retry in 12 s`
fn numbers(limit: &LimitAnswer, cost: u64) -> String {
    let per = match limit.algorithm {
        AlgorithmName::FixedWindow
        | AlgorithmName::SlidingWindowLog
        | AlgorithmName::SlidingWindowCounter => format!(" per {}", period(limit.window_ms)),
        _ => String::new(),
    };
    let most = grouped(limit.limit);
    let used = match limit.remaining {
        Some(left) => {
            let used = grouped(limit.limit - left.min(limit.limit));
            format!("{used} of {most} used{per}")
        }
        None => format!("limit of {most}{per}, use unknown"),
    };
    let cost = if cost == 1 { String::new() } else { format!(", cost {}", grouped(cost)) };
    let retry = match limit.retry_after_ms {
        Some(wait_ms) => format!("retry in {}", about(wait_ms)),
        None => "never allowed".to_owned(),
    };
    format!("{used}{cost}, {retry}")
}

/// How the override of the subject differs from that of the denial; `None` if there was none and is none.
pub fn override_since(explained: &ExplainedDenial) -> Option<&'static str> {
    let now = explained.now.as_ref()?.exception.as_ref();
    Some(match (&explained.override_id, now) {
        (None, None) => return None,
        (None, Some(_)) => "An override applies that did not apply then.",
        (Some(_), None) => "The override of that time no longer applies.",
        (Some(then), Some(now)) if *then != now.id => "Another override applies than then.",
        (Some(_), Some(now)) if now.updated_at.0 > explained.denial.at.0 => {
            "The override was changed since."
        }
        (Some(_), Some(_)) => "The override applied then, too.",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn limit(allowed: bool, remaining: Option<u64>, retry_after_ms: Option<u64>) -> Value {
        json!({
            "rule": "api-per-customer", "rule_id": "rule_1", "algorithm": "fixed_window", "mode": "enforce",
            "allowed": allowed, "limit": 100, "remaining": remaining, "window_ms": 60_000, "reset_after_ms": 1,
            "retry_after_ms": retry_after_ms, "delay_ms": 0
        })
    }

    fn explained(change: &Value) -> ExplainedDenial {
        let denial = json!({
            "id": "denial_1", "at": "2026-11-21T22:40:00Z", "namespace": "api", "rule_id": "rule_1",
            "rule": "api-per-customer", "shadow": false, "subject": { "customer": "42" }, "cost": 1,
            "retry_after_ms": 12_000, "degraded": false, "stands_for": 1, "request_id": "req_1"
        });
        let mut whole = json!({
            "denial": denial, "trace_id": null, "rule_revision": 3, "limits": [], "override_id": null,
            "also_denied_by": [], "present_revision": 4, "now": null, "now_unknown": null, "revisions": []
        });
        for (name, value) in change.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        serde_json::from_value(whole).expect("a denial")
    }

    #[test]
    fn sentence_has_the_numbers_of_the_limit_that_denied() {
        let of = |limits: Value| sentence(&explained(&json!({ "limits": limits })));
        let start = "Denied by api-per-customer for customer 42";
        assert_eq!(
            of(json!([limit(true, Some(5), Some(0)), limit(false, Some(0), Some(12_000))])),
            format!("{start}: 100 of 100 used per minute, retry in 12 s")
        );
        assert_eq!(
            of(json!([limit(false, Some(40), None)])),
            format!("{start}: 60 of 100 used per minute, never allowed")
        );
        assert_eq!(
            of(json!([limit(false, None, Some(500))])),
            format!("{start}: limit of 100 per minute, use unknown, retry in 500 ms")
        );
        assert_eq!(of(json!([])), format!("{start}: the rule denies every check that it matches"));
        assert_eq!(
            sentence(&explained(&json!({ "override_id": "override_1" }))),
            format!("{start}: an override of the subject denies every check")
        );
    }

    #[test]
    fn override_is_compared_with_that_of_the_denial() {
        let of = |then: Value, now: Value| {
            let now = json!({
                "rule_id": "rule_1", "rule": "api-per-customer", "namespace": "api", "mode": "enforce", "action": "limit",
                "count_by": ["customer"], "subject": { "customer": "42" }, "override": now, "limits": []
            });
            override_since(&explained(&json!({ "override_id": then, "now": now })))
        };
        let exception = |id: &str, updated: &str| {
            json!({
                "id": id, "rule_id": "rule_1", "subject": { "customer": "42" }, "action": "deny", "revision": 1,
                "rulebook_version": 1, "created_at": "2026-11-21T22:00:00Z", "updated_at": updated
            })
        };
        let (before, after) = ("2026-11-21T22:00:00Z", "2026-11-21T23:00:00Z");
        let id = json!("override_1");
        assert_eq!(of(Value::Null, Value::Null), None);
        let added = of(Value::Null, exception("override_1", after));
        assert_eq!(added, Some("An override applies that did not apply then."));
        let gone = of(id.clone(), Value::Null);
        assert_eq!(gone, Some("The override of that time no longer applies."));
        let other = of(id.clone(), exception("override_2", before));
        assert_eq!(other, Some("Another override applies than then."));
        let changed = of(id.clone(), exception("override_1", after));
        assert_eq!(changed, Some("The override was changed since."));
        let same = of(id, exception("override_1", before));
        assert_eq!(same, Some("The override applied then, too."));
    }
}
