use proptest::prelude::*;
use weir_wire::limits::LimitBody;
use weir_wire::words::Period as PeriodWord;

use super::*;
use crate::model::picture::tests::rule;
use crate::model::picture::{Pattern, Picture};

/// The most requests of cost 1 at `times` that pass in any period of `stretch_ms`.
fn passed(limits: &[LimitBody], stretch_ms: u64, times: &[u64]) -> u64 {
    let rule = rule(limits);
    let mut picture = Picture::of(&rule, Pattern::ByHand, &[]).expect("it limits");
    (picture.cost, picture.level) = (1, Vec::new());
    let shown = (0..limits.len())
        .find(|at| rule.limits()[*at].algorithm.usual_window_ms() == picture.window_ms)
        .expect("one of them is drawn");
    picture.run(&rule, shown, times);
    picture.window_ms = stretch_ms;
    picture.most_in_a_window()
}

fn worst(limits: &[LimitBody], stretch_ms: u64) -> u64 {
    most_in(&rule(limits), stretch_ms * 1000, 1)
}

fn each_algorithm(limit: u64, window_ms: u64, rate: u64) -> [LimitBody; 7] {
    let (capacity, time_zone) = (limit, "UTC".to_owned());
    [
        LimitBody::FixedWindow { limit, window_ms },
        LimitBody::SlidingWindowLog { limit, window_ms, count_denied: false },
        LimitBody::SlidingWindowCounter { limit, window_ms },
        LimitBody::TokenBucket { capacity, refill_tokens: rate, refill_interval_ms: window_ms },
        LimitBody::LeakyBucket { capacity, drain_units: rate, drain_interval_ms: window_ms },
        LimitBody::Spacing { interval_ms: window_ms },
        LimitBody::Quota {
            limit,
            period: PeriodWord::Day,
            time_zone,
            anchor_day: 1,
            ends_at: None,
        },
    ]
}

#[test]
fn two_bursts_less_than_a_window_apart_reach_the_bound() {
    for (limit, window_ms, rate) in [(1, 1, 1), (5, 1_000, 3), (7, 60_000, 2), (9, 4, 13)] {
        for limit_body in each_algorithm(limit, window_ms, rate) {
            let limits = std::slice::from_ref(&limit_body);
            let stretch_ms = rule(limits).limits()[0].algorithm.shortest_window_ms();
            let first_us = stretch_ms * 1000 - 1;
            let burst = |at_us: u64| (0..limit).map(move |_| at_us);
            let times: Vec<_> =
                burst(first_us).chain(burst(first_us + stretch_ms * 1000 - 1)).collect();
            let (passed, worst) = (passed(limits, stretch_ms, &times), worst(limits, stretch_ms));
            assert_eq!(passed, worst, "{limit_body:?} in {stretch_ms} ms");
        }
    }
}

#[test]
fn calendar_quotas_are_bounded_in_their_shortest_period() {
    let quota = |period, time_zone: &str| {
        let time_zone = time_zone.to_owned();
        let body = LimitBody::Quota { limit: 10, period, time_zone, anchor_day: 1, ends_at: None };
        rule(&[body]).limits()[0].algorithm.shortest_window_ms() / 3_600_000
    };
    assert_eq!(quota(PeriodWord::Day, "UTC"), 24);
    assert_eq!(quota(PeriodWord::Day, "Europe/Vienna"), 23);
    assert_eq!(quota(PeriodWord::Month, "UTC"), 28 * 24);
}

proptest! {
    #[test]
    fn no_traffic_exceeds_the_bound(
        (limit, window_ms, rate) in (1_u64..9, 1_u64..40, 1_u64..9),
        (chosen, other) in (0_usize..6, 0_usize..6),
        both: bool,
        stretch_ms in 1_u64..130,
        mut times in prop::collection::vec(0_u64..120_000, 1..80),
    ) {
        times.sort_unstable();
        let mut limits = vec![each_algorithm(limit, window_ms, rate)[chosen].clone()];
        if both {
            limits.push(each_algorithm(rate, window_ms + rate, limit)[other].clone());
        }
        let (passed, worst) = (passed(&limits, stretch_ms, &times), worst(&limits, stretch_ms));
        prop_assert!(passed <= worst, "{passed} of at most {worst} in {stretch_ms} ms: {limits:?}");
    }
}
