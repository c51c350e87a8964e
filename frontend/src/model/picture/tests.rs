use weir_wire::limits::LimitBody;
use weir_wire::rules::RuleBody;
use weir_wire::words::Period as PeriodWord;

use super::*;

const MINUTE: u64 = 60_000;

pub(super) fn rule(limits: &[LimitBody]) -> Rule {
    let json = r#"{"name": "drawn"}"#;
    let mut body: RuleBody = serde_json::from_str(json).expect("a rule in JSON");
    body.limits = limits.to_vec();
    body.parse().expect("a rule")
}

fn picture(limit: LimitBody, pattern: Pattern) -> Picture {
    Picture::of(&rule(&[limit]), pattern, &[]).expect("it limits")
}

#[test]
fn fixed_window_admits_twice_the_limit_around_a_reset() {
    let fixed = picture(LimitBody::FixedWindow { limit: 10, window_ms: MINUTE }, Pattern::Boundary);
    assert_eq!((fixed.counts(), fixed.most), ((20, 0), 20));
    let exact = LimitBody::SlidingWindowLog { limit: 10, window_ms: MINUTE, count_denied: false };
    let exact = picture(exact, Pattern::Boundary);
    assert_eq!((exact.counts(), exact.most), ((10, 10), 10));
    let summary = "10 of 20 requests allowed, 10 denied. Peak: 10 per minute.";
    assert_eq!(exact.summary(), summary);
}

#[test]
fn classes_that_leave_units_free_have_a_level_of_their_own() {
    let json = r#"{"name": "drawn", "limits": [{"algorithm": "fixed_window", "limit": 10, "window_ms": 60000}],
        "priority": {"attribute": "class", "keep": {"batch": 0.25, "vip": 0}}}"#;
    let body: RuleBody = serde_json::from_str(json).expect("a rule in JSON");
    let form = crate::model::rule_form::RuleForm::of(&body);
    let drawn = form.for_picture().expect("it limits");
    let picture = Picture::of(&drawn, Pattern::Steady, &[]).expect("it limits");
    assert_eq!(
        picture.classes,
        [("batch".to_owned(), 7)],
        "a quarter of ten, rounded up, is left free"
    );
    let mut unreadable = form;
    unreadable.controls.classes = "batch".to_owned();
    let drawn = unreadable.for_picture().expect("the limits are valid");
    assert_eq!(Picture::of(&drawn, Pattern::Steady, &[]).expect("it limits").classes, []);
}

#[test]
fn worst_case_is_that_of_a_length_that_people_read() {
    let refilled = |capacity: u64| {
        let limit = LimitBody::TokenBucket { capacity, refill_tokens: 3, refill_interval_ms: 1000 };
        picture(limit, Pattern::Burst)
    };
    let small = refilled(10);
    assert_eq!(small.worst_case(), "Worst case: 20 in 3.4 seconds.");
    assert!(small.summary().ends_with(" in 3.4 seconds."), "{}", small.summary());
    let large = refilled(1_000).worst_case();
    assert!(
        large.starts_with("Worst case: 2,0") && large.ends_with(" per 334 seconds."),
        "{large}"
    );
}

#[test]
fn large_limits_use_few_requests_of_higher_cost() {
    let limit = LimitBody::FixedWindow { limit: 1_000_000_000, window_ms: MINUTE };
    let picture = picture(limit, Pattern::Burst);
    assert!(picture.dots.len() < 100, "{}", picture.dots.len());
    assert!(picture.cost > 1 && picture.most <= picture.limit);
    assert!(picture.summary().contains("each with cost 41,666,667"), "{}", picture.summary());
}

#[test]
fn every_algorithm_is_simulated_under_every_pattern() {
    let longest_ms = 366 * 86_400_000;
    let quota = |period| LimitBody::Quota {
        limit: 30,
        period,
        time_zone: "UTC".to_owned(),
        anchor_day: 1,
        ends_at: None,
    };
    let limits = [
        LimitBody::FixedWindow { limit: 1, window_ms: 1 },
        LimitBody::SlidingWindowCounter { limit: 100, window_ms: longest_ms },
        LimitBody::SlidingWindowLog { limit: 5, window_ms: 10, count_denied: true },
        LimitBody::TokenBucket { capacity: 20, refill_tokens: 10, refill_interval_ms: 1_000 },
        LimitBody::LeakyBucket { capacity: 20, drain_units: 10, drain_interval_ms: 1_000 },
        LimitBody::Spacing { interval_ms: 500 },
        LimitBody::Concurrency { capacity: 30, lease_ms: 1_000 },
        quota(PeriodWord::Day),
        quota(PeriodWord::Year),
    ];
    for limit in limits {
        for pattern in [Pattern::Steady, Pattern::Burst, Pattern::Boundary, Pattern::ByHand] {
            let picture = Picture::of(&rule(std::slice::from_ref(&limit)), pattern, &[0, 5, 11]);
            let picture = picture.expect("it limits");
            assert!(picture.counts().0 > 0, "{limit:?} {pattern:?} admits something");
            assert!(picture.dots.is_sorted_by_key(|dot| dot.at_us), "{limit:?} {pattern:?}");
            assert!(picture.level.iter().all(|(_, used)| *used <= picture.limit));
            let total: usize =
                picture.slices().iter().map(|slice| slice.admitted + slice.denied).sum();
            assert_eq!(total, picture.dots.len(), "the table tells of every request");
        }
    }
}

#[test]
fn quotas_reset_with_each_period() {
    let quota = LimitBody::Quota {
        limit: 10,
        period: PeriodWord::Month,
        time_zone: "UTC".to_owned(),
        anchor_day: 1,
        ends_at: None,
    };
    assert_eq!(picture(quota, Pattern::Steady).counts(), (30, 15));
}

#[test]
fn all_limits_decide_and_the_shortest_is_shown() {
    let hour = LimitBody::FixedWindow { limit: 12, window_ms: 60 * MINUTE };
    let minute = LimitBody::FixedWindow { limit: 10, window_ms: MINUTE };
    let picture = Picture::of(&rule(&[hour, minute]), Pattern::Boundary, &[]).expect("it limits");
    assert_eq!((picture.limit, picture.window_ms, picture.counts()), (10, MINUTE, (12, 8)));
}
