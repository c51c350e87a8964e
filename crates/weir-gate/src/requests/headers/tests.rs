use weir_wire::limits::AlgorithmName;
use weir_wire::words::Mode;

use super::*;

fn denied() -> CheckAnswer {
    let limit = LimitAnswer {
        rule: "login-per-user".into(),
        rule_id: "rule_01".into(),
        algorithm: AlgorithmName::SlidingWindowLog,
        mode: Mode::Enforce,
        allowed: false,
        limit: 5,
        remaining: Some(0),
        window_ms: 60_000,
        reset_after_ms: Some(41_200),
        retry_after_ms: Some(1_840),
        delay_ms: 0,
        refunded: None,
    };
    CheckAnswer {
        allowed: false,
        denied_by: vec!["login-per-user".into()],
        retry_after_ms: Some(1_840),
        cache_for_ms: 0,
        delay_ms: 0,
        limit: Some(5),
        remaining: Some(0),
        reset_after_ms: Some(41_200),
        limits: vec![limit],
        over: Vec::new(),
        leases: Vec::new(),
        charge: None,
        degraded: None,
        rulebook_version: 42,
        code: None,
    }
}

fn listed(answer: &CheckAnswer) -> Vec<String> {
    let mut headers = HeaderMap::new();
    add(answer, &mut headers);
    let mut all: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().expect("ascii")))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn quota_that_never_renews_has_neither_a_reset_nor_a_window_nor_a_retry() {
    let mut answer = denied();
    (answer.reset_after_ms, answer.retry_after_ms) = (None, None);
    let limit = &mut answer.limits[0];
    (limit.window_ms, limit.reset_after_ms, limit.retry_after_ms) = (0, None, None);
    assert_eq!(
        listed(&answer),
        [
            "ratelimit-policy: \"login-per-user\";q=5",
            "ratelimit: \"login-per-user\";r=0",
            "x-ratelimit-limit: 5",
            "x-ratelimit-remaining: 0",
        ]
    );
}

#[test]
fn documented_denial_has_the_documented_headers() {
    assert_eq!(
        listed(&denied()),
        [
            "ratelimit-policy: \"login-per-user\";q=5;w=60",
            "ratelimit: \"login-per-user\";r=0;t=42",
            "retry-after: 2",
            "x-ratelimit-limit: 5",
            "x-ratelimit-remaining: 0",
            "x-ratelimit-reset: 42",
            "x-ratelimit-retry-after: 2",
        ]
    );
}

#[test]
fn check_that_can_never_pass_has_no_retry_after() {
    let mut answer = denied();
    answer.retry_after_ms = None;
    answer.limits[0].retry_after_ms = None;
    assert!(!listed(&answer).iter().any(|header| header.contains("retry-after")));
}

#[test]
fn retry_after_is_at_least_a_second_and_an_answer_without_limit_has_no_headers() {
    let mut answer = denied();
    answer.retry_after_ms = Some(3);
    answer.limits[0].retry_after_ms = Some(3);
    assert!(listed(&answer).contains(&"retry-after: 1".to_owned()));
    let none = CheckAnswer {
        allowed: true,
        denied_by: Vec::new(),
        retry_after_ms: Some(0),
        limit: None,
        remaining: None,
        reset_after_ms: None,
        limits: Vec::new(),
        over: Vec::new(),
        ..denied()
    };
    assert!(listed(&none).is_empty());
}
