//! A limit suggested from recorded traffic: the question that the rule editor asks, and texts for the answer.

use std::fmt::Write as _;

use weir_wire::limits::{AlgorithmName, LimitBody};
use weir_wire::suggest::{CandidateLimit, SuggestAnswer, SuggestBody};
use weir_wire::time::DateTime;

use crate::model::duration::{about, period};
use crate::model::number::{grouped, quantity};
use crate::model::rule_form::RuleForm;

/// The shares of subjects that a suggestion can deny, with their labels.
pub const SHARES: [(f64, &str); 4] = [
    (0.0, "no subject"),
    (0.001, "0.1% of subjects"),
    (0.01, "1% of subjects"),
    (0.05, "5% of subjects"),
];
/// The windows to choose from, in milliseconds.
pub const WINDOWS_MS: [u64; 4] = [1_000, 60_000, 3_600_000, 86_400_000];

/// Whether a number can be suggested for this algorithm.
pub const fn can_suggest(algorithm: AlgorithmName) -> bool {
    !matches!(algorithm, AlgorithmName::Spacing | AlgorithmName::Quota | AlgorithmName::Concurrency)
}

/// The window of a row of the form; a minute for buckets and for input that is no number.
pub fn window_ms(form: &RuleForm, row: u32) -> u64 {
    let limit = form.limits.iter().find(|limit| limit.row == row);
    let windowed = limit.filter(|limit| {
        !matches!(limit.algorithm, AlgorithmName::TokenBucket | AlgorithmName::LeakyBucket)
    });
    windowed.and_then(|limit| limit.window.ms()).unwrap_or(60_000)
}

/// The question about a row of the form.
pub fn question(
    form: &RuleForm,
    row: u32,
    window_ms: u64,
    share_denied: f64,
    from: DateTime,
) -> SuggestBody {
    let limit = form.limits.iter().find(|limit| limit.row == row);
    let (rule, _) = form.read();
    SuggestBody {
        namespace: rule.namespace,
        conditions: rule.conditions,
        count_by: rule.count_by,
        algorithm: limit.map_or(AlgorithmName::FixedWindow, |limit| limit.algorithm),
        window_ms,
        share_denied,
        from: Some(from),
        to: None,
    }
}

/// The limit that 99% of the subjects need at most, and `p99 of your subjects: 15 per minute, from 24 h of traffic`.
pub fn percentile(answer: &SuggestAnswer, window_ms: u64) -> Option<(u64, String)> {
    let p99 = answer.distribution.iter().find(|needed| needed.percentile >= 99.0)?;
    let (units, length) = (p99.limit?, about(span_ms(answer)));
    let limit = format!("{} per {}", grouped(units), period(window_ms));
    Some((units, format!("p99 of your subjects: {limit}, from {length} of traffic")))
}

/// The length of the traffic.
fn span_ms(answer: &SuggestAnswer) -> u64 {
    (answer.to.0.as_millis() - answer.from.0.as_millis()).max(0).unsigned_abs()
}

/// Why a suggestion is uncertain: the traffic is of less than a day.
pub fn too_short(answer: &SuggestAnswer) -> Option<String> {
    let span_ms = span_ms(answer);
    (span_ms < DAY_MS).then(|| {
        format!(
            "From {} of traffic only. A day of traffic shows the busy hours too.",
            about(span_ms)
        )
    })
}

/// A day less a minute, because the traffic begins at a check.
const DAY_MS: u64 = 86_340_000;

/// The suggested limit with another number.
pub fn limit_with(answer: &SuggestAnswer, units: u64) -> LimitBody {
    let mut body = answer.body.clone();
    match &mut body {
        LimitBody::FixedWindow { limit, .. }
        | LimitBody::SlidingWindowLog { limit, .. }
        | LimitBody::SlidingWindowCounter { limit, .. }
        | LimitBody::Quota { limit, .. } => *limit = units,
        LimitBody::TokenBucket { capacity, refill_tokens, .. } => {
            (*capacity, *refill_tokens) = (units, units);
        }
        LimitBody::LeakyBucket { capacity, drain_units, .. } => {
            (*capacity, *drain_units) = (units, units);
        }
        LimitBody::Spacing { .. } | LimitBody::Concurrency { .. } => {}
    }
    body
}

/// `12 per minute would have denied 1 of 80 subjects in the recorded 4,210 checks.`
pub fn finding(answer: &SuggestAnswer, window_ms: u64) -> String {
    let denied = answer.candidates.iter().find(|candidate| candidate.limit == answer.limit);
    let denied = denied.map_or(0, |candidate| candidate.subjects_denied);
    let subjects =
        quantity(usize::try_from(answer.subjects).unwrap_or(usize::MAX), "subject", "subjects");
    let mut text = format!(
        "{} per {} would have denied {} of {subjects} in {} recorded checks.",
        grouped(answer.limit),
        period(window_ms),
        grouped(denied),
        grouped(answer.checks),
    );
    if answer.rate < 1.0 {
        let high = answer.high.map_or_else(|| "more".to_owned(), grouped);
        let low = grouped(answer.low);
        let _ = write!(text, " For all subjects: {low} to {high}, with 95% confidence.");
    }
    text
}

/// The share of the subjects that a limit denies, in hundredths of a percent.
pub fn subjects_share(candidate: &CandidateLimit, subjects: u64) -> u64 {
    let share = u128::from(candidate.subjects_denied) * 10_000 / u128::from(subjects.max(1));
    u64::try_from(share).unwrap_or(10_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(rate: f64, body: &serde_json::Value) -> SuggestAnswer {
        let candidate = |limit: u64, denied: u64| {
            json!({"limit": limit, "subjects_denied": denied, "share_of_subjects": 0.0, "checks_denied": 9,
                "share_of_checks": 0.0})
        };
        serde_json::from_value(json!({
            "from": "1970-01-01T00:00:00Z", "to": "1970-01-01T01:00:00Z", "limit": 12, "body": body, "low": 9,
            "high": null, "rate": rate, "subjects": 80, "checks": 4210,
            "candidates": [candidate(6, 20), candidate(12, 1)], "distribution": [{"percentile": 50.0, "limit": 3}, {"percentile": 99.0, "limit": 15}, {"percentile": 99.9, "limit": null}],
            "method": "", "warnings": []
        }))
        .expect("an answer")
    }

    #[test]
    fn the_finding_counts_denied_subjects_and_names_the_bounds_of_a_sample() {
        let body = json!({"algorithm": "fixed_window", "limit": 12, "window_ms": 60_000});
        assert_eq!(
            finding(&answer(1.0, &body), 60_000),
            "12 per minute would have denied 1 of 80 subjects in 4,210 recorded checks."
        );
        assert!(
            finding(&answer(0.5, &body), 60_000)
                .ends_with(" For all subjects: 9 to more, with 95% confidence.")
        );
        let few = answer(1.0, &body);
        let short = "From 60 min of traffic only. A day of traffic shows the busy hours too.";
        assert_eq!(too_short(&few).as_deref(), Some(short));
        assert_eq!(subjects_share(&few.candidates[0], few.subjects), 2_500);
    }

    #[test]
    fn the_percentile_is_the_limit_that_99_of_100_subjects_need() {
        let mut few =
            answer(1.0, &json!({"algorithm": "fixed_window", "limit": 12, "window_ms": 60_000}));
        let text = "p99 of your subjects: 15 per minute, from 60 min of traffic";
        assert_eq!(percentile(&few, 60_000), Some((15, text.to_owned())));
        few.distribution[1].limit = None;
        assert_eq!(percentile(&few, 60_000), None, "no limit is great enough");
    }

    #[test]
    fn a_bucket_is_refilled_once_in_each_window() {
        let body = json!({"algorithm": "token_bucket", "capacity": 12, "refill_tokens": 12, "refill_interval_ms": 60_000});
        let expected = json!({"algorithm": "token_bucket", "capacity": 20, "refill_tokens": 20, "refill_interval_ms": 60_000});
        let changed = serde_json::to_value(limit_with(&answer(1.0, &body), 20)).expect("JSON");
        assert_eq!(changed, expected);
    }

    #[test]
    fn the_question_takes_the_conditions_and_the_window_of_the_form() {
        let mut form = RuleForm::new();
        "user, ip".clone_into(&mut form.count_by);
        let row = form.limits[0].row;
        assert_eq!(window_ms(&form, row), 60_000);
        let body = question(
            &form,
            row,
            3_600_000,
            0.01,
            answer(1.0, &json!({"algorithm": "fixed_window", "limit": 1, "window_ms": 1})).from,
        );
        assert_eq!((body.namespace.as_str(), body.window_ms), ("default", 3_600_000));
        assert_eq!(body.count_by, ["user", "ip"]);
    }
}
