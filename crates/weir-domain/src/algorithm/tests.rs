//! The guarantees of each algorithm, over random histories and random times.

use proptest::prelude::*;

use super::*;
use crate::time::Micros;

const START_US: u64 = 1_763_726_400_000_000;

fn fixed(limit: u64, window_ms: u64) -> Meter {
    Meter::FixedWindow(FixedWindow::new(limit, window_ms).expect("valid"))
}

fn log(limit: u64, window_ms: u64) -> Meter {
    Meter::SlidingWindowLog(SlidingWindowLog::new(limit, window_ms, false).expect("valid"))
}

fn pair(limit: u64, window_ms: u64) -> Meter {
    Meter::SlidingWindowCounter(SlidingWindowCounter::new(limit, window_ms).expect("valid"))
}

fn tokens(capacity: u64, refill: u64, interval_ms: u64) -> Meter {
    Meter::TokenBucket(TokenBucket::new(capacity, refill, interval_ms).expect("valid"))
}

fn leaky(capacity: u64, drain: u64, interval_ms: u64) -> Meter {
    Meter::LeakyBucket(LeakyBucket::new(capacity, drain, interval_ms).expect("valid"))
}

fn spacing(interval_ms: u64) -> Meter {
    Meter::Spacing(Spacing::new(interval_ms).expect("valid"))
}

/// A limit of any kind, with periods around the start if it is a quota.
fn any_algorithm() -> impl Strategy<Value = (Algorithm, Meter)> {
    let (limit, rate, span_ms) = (1..20_u64, 1..50_u64, 1..5_000_u64);
    (prop::sample::select(Kind::ALL), limit, rate, span_ms).prop_map(
        |(kind, limit, rate, span_ms)| {
            let draft = LimitDraft::from_numbers(kind, |parameter| match parameter.input {
                Input::Units => limit,
                Input::Rate => rate,
                Input::Window | Input::Every => span_ms,
                Input::AnchorDay => 1,
                Input::CountDenied | Input::Period | Input::TimeZone | Input::EndsAt => 0,
            });
            let algorithm = Algorithm::parse(draft).expect("within the bounds");
            let step = 1000 * (span_ms + 3_000_000);
            let first = START_US - step - 7;
            let bounds_us = [first, first + step, first + 2 * step, first + 3 * step];
            let meter = algorithm.meter(|_| PeriodBounds { limit, bounds_us });
            (algorithm, meter)
        },
    )
}

fn any_meter() -> impl Strategy<Value = Meter> {
    any_algorithm().prop_map(|(_, meter)| meter)
}

/// Steps of time in microseconds, small backward steps included, and costs.
fn any_history() -> impl Strategy<Value = Vec<(i64, u64)>> {
    let step =
        prop_oneof![Just(0), 0..2_000_i64, 0..200_000_i64, 0..9_000_000_i64, -900_000..0_i64,];
    prop::collection::vec((step, 1..8_u64), 1..120)
}

/// Admissions as (time, cost), with `check` called before each decision.
fn run(
    meter: &Meter,
    history: &[(i64, u64)],
    mut check: impl FnMut(&Counter, u64, Micros, Wait),
) -> Vec<(u64, u64)> {
    let mut counter = Counter::default();
    let mut now = START_US;
    let mut admitted = Vec::new();
    for &(step, cost) in history {
        now = now.saturating_add_signed(step);
        meter.follow_clock(&mut counter, Micros(now));
        let wait = meter.wait(&mut counter, cost, Micros(now));
        check(&counter, cost, Micros(now), wait);
        if wait == Wait::None {
            meter.charge(&mut counter, cost, Micros(now));
            admitted.push((now, cost));
        }
    }
    admitted
}

/// The most units admitted within any span of `span_us`, ends excluded; times must not step back.
fn most_within(admitted: &[(u64, u64)], span_us: u64) -> u64 {
    let units_from = |from: usize| {
        let start = admitted[from].0;
        admitted[from..]
            .iter()
            .take_while(|(at, _)| *at < start + span_us)
            .map(|(_, units)| units)
            .sum()
    };
    (0..admitted.len()).map(units_from).max().unwrap_or(0)
}

fn forward(history: &[(i64, u64)]) -> Vec<(i64, u64)> {
    history.iter().map(|&(step, cost)| (step.abs(), cost)).collect()
}

proptest! {
    #[test]
    fn lone_caller_passes_after_exactly_the_wait_and_not_a_millisecond_before(
        meter in any_meter(),
        history in any_history(),
    ) {
        run(&meter, &history, |counter, cost, now, wait| {
            if let Wait::Ms(ms) = wait {
                assert!(ms > 0);
                let at = |ms: u64| {
                    meter.wait(&mut counter.clone(), cost, Micros(now.0 + ms * 1000))
                };
                assert_eq!(at(ms), Wait::None, "after {ms} ms: {counter:?}");
                assert_ne!(at(ms - 1), Wait::None, "after {} ms: {counter:?}", ms - 1);
            }
        });
    }

    #[test]
    fn counter_is_untouched_after_exactly_its_reset(
        meter in any_meter(),
        history in any_history(),
    ) {
        run(&meter, &history, |counter, _, now, _| {
            let level = meter.level(&mut counter.clone(), now);
            let later = Micros(now.0 + level.reset_after_ms * 1000);
            let fresh = meter.level(&mut Counter::default(), later);
            assert_eq!(meter.level(&mut counter.clone(), later), fresh, "{counter:?}");
            if level.reset_after_ms > 0 {
                let before = Micros(later.0 - 1000);
                assert_ne!(meter.level(&mut counter.clone(), before), fresh, "{counter:?}");
            }
        });
    }

    #[test]
    fn refund_never_lifts_above_full(
        meter in any_meter(),
        history in any_history(),
        back in 1..1_000_u64,
    ) {
        run(&meter, &history, |counter, _, now, _| {
            let mut counter = counter.clone();
            let before = meter.level(&mut counter, now).remaining;
            meter.refund(&mut counter, back, None, now);
            let after = meter.level(&mut counter, now).remaining;
            let full = meter.level(&mut Counter::default(), now).remaining;
            assert!(before <= after && after <= full, "{before} {after} {full}");
        });
    }

    #[test]
    fn fixed_window_admits_at_most_its_limit_in_each_aligned_window(
        limit in 1..20_u64, window_ms in 1..5_000_u64, history in any_history(),
    ) {
        let admitted = run(&fixed(limit, window_ms), &forward(&history), |_, _, _, _| {});
        let mut windows = std::collections::HashMap::<u64, u64>::new();
        for (at, cost) in &admitted {
            *windows.entry(at / (window_ms * 1000)).or_default() += cost;
        }
        prop_assert!(windows.values().all(|units| *units <= limit));
        // The documented weakness: twice the limit within one window's length, and no more.
        prop_assert!(most_within(&admitted, window_ms * 1000) <= 2 * limit);
    }

    #[test]
    fn log_admits_at_most_its_limit_in_any_window(
        limit in 1..20_u64, window_ms in 1..5_000_u64, history in any_history(),
    ) {
        let admitted = run(&log(limit, window_ms), &forward(&history), |_, _, _, _| {});
        prop_assert!(most_within(&admitted, window_ms * 1000) <= limit);
    }

    #[test]
    fn counter_keeps_to_the_documented_formula(
        limit in 1..20_u64, window_ms in 1..5_000_u64, history in any_history(),
    ) {
        let meter = pair(limit, window_ms);
        let mut taken = std::collections::HashMap::<u64, u64>::new();
        let mut now = START_US;
        let mut counter = Counter::default();
        for (step, cost) in forward(&history) {
            now = now.saturating_add_signed(step);
            let (window, elapsed_ms) = (now / 1000 / window_ms, now / 1000 % window_ms);
            let previous = taken.get(&(window - 1)).copied().unwrap_or(0);
            let current = taken.get(&window).copied().unwrap_or(0);
            let estimate = previous * (window_ms - elapsed_ms) / window_ms + current;
            let passes = meter.wait(&mut counter, cost, Micros(now)) == Wait::None;
            prop_assert_eq!(passes, estimate + cost <= limit);
            if passes {
                meter.charge(&mut counter, cost, Micros(now));
                *taken.entry(window).or_default() += cost;
            }
        }
    }

    #[test]
    fn bucket_admits_at_most_its_capacity_and_what_flowed_meanwhile(
        capacity in 1..20_u64, rate in 1..50_u64, interval_ms in 1..5_000_u64,
        history in any_history(),
    ) {
        for meter in [tokens(capacity, rate, interval_ms), leaky(capacity, rate, interval_ms)] {
            let admitted = run(&meter, &forward(&history), |_, _, _, _| {});
            for from in 0..admitted.len() {
                let mut units = 0;
                for (at, cost) in &admitted[from..] {
                    units += cost;
                    let flowed = u128::from(at - admitted[from].0) * u128::from(rate);
                    let most = u128::from(capacity) * u128::from(interval_ms * 1000) + flowed;
                    prop_assert!(u128::from(units) * u128::from(interval_ms * 1000) <= most);
                }
            }
        }
    }

    #[test]
    fn spacing_keeps_its_distance(interval_ms in 1..5_000_u64, history in any_history()) {
        let admitted = run(&spacing(interval_ms), &forward(&history), |_, _, _, _| {});
        prop_assert!(admitted.windows(2).all(|pair| pair[1].0 - pair[0].0 >= interval_ms * 1000));
    }

    #[test]
    fn step_back_shuts_nobody_out_for_longer_than_the_limit_says(
        (algorithm, meter) in any_algorithm(),
        history in any_history(),
        back_us in 1_000_001..4_000_000_000_u64,
    ) {
        let mut counter = Counter::default();
        let mut now = START_US;
        for (step, cost) in history {
            now = now.saturating_add_signed(step);
            meter.follow_clock(&mut counter, Micros(now));
            if meter.wait(&mut counter, cost, Micros(now)) == Wait::None {
                meter.charge(&mut counter, cost, Micros(now));
            }
        }
        let back = Micros(now - back_us);
        meter.follow_clock(&mut counter, back);
        let longest_ms = longest_wait_ms(&algorithm, &meter);
        let wait = meter.wait(&mut counter, 1, back);
        let holds = matches!(wait, Wait::None) || matches!(wait, Wait::Ms(ms) if ms <= longest_ms);
        prop_assert!(holds, "{wait:?}, not {longest_ms} ms at most: {counter:?}");
    }

    #[test]
    fn steps_back_again_and_again_admit_nothing_more(
        limit in 1..20_u64,
        span_ms in 4_000..20_000_u64,
        history in prop::collection::vec((0..1_500_000_u64, 0..3_000_000_u64, 1..4_u64), 1..200),
    ) {
        let quota = {
            let first = START_US - 2 * 86_400_000_000;
            let bounds_us = [first, first + 86_400_000_000, START_US, START_US + 86_400_000_000];
            Meter::Quota(PeriodBounds { limit, bounds_us })
        };
        let meters = [
            (fixed(limit, span_ms), limit, span_ms),
            (log(limit, span_ms), limit, span_ms),
            (pair(limit, span_ms), limit, span_ms),
            (tokens(limit, limit, span_ms), limit, span_ms),
            (leaky(limit, limit, span_ms), limit, span_ms),
            (spacing(span_ms), 1, span_ms),
            (quota, limit, 86_400_000),
        ];
        for (meter, units, span_ms) in meters {
            let mut counter = Counter::default();
            let (mut now, mut forward_us, mut back_us, mut admitted) = (START_US, 0, 0, 0);
            for &(forward, back, cost) in &history {
                // The clock goes back no further than it went forward.
                let back = back.min(forward_us - back_us);
                (forward_us, back_us) = (forward_us + forward, back_us + back);
                now = now - back + forward;
                meter.follow_clock(&mut counter, Micros(now));
                if meter.wait(&mut counter, cost, Micros(now)) == Wait::None {
                    meter.charge(&mut counter, cost, Micros(now));
                    admitted += if matches!(meter, Meter::Spacing(_)) { 1 } else { cost };
                }
            }
            // As without steps: a full limit at once, and the units of the time that passed; one window more for windows.
            let windows = matches!(meter, Meter::FixedWindow(_) | Meter::SlidingWindowCounter(_) | Meter::Quota(_));
            let spans = forward_us.div_ceil(span_ms * 1000) + 1 + u64::from(windows);
            prop_assert!(admitted <= units * spans, "{admitted} of {units} in {spans}: {meter:?}");
        }
    }
}

#[test]
fn each_kind_states_the_number_of_its_script_parameters() {
    for &kind in Kind::ALL {
        let draft = LimitDraft::from_numbers(kind, |_| 1);
        let algorithm = Algorithm::parse(draft).expect("valid");
        let meter = algorithm.meter(|_| PeriodBounds { limit: 1, bounds_us: [1, 2, 3, 4] });
        let count = if kind.has_five_parameters() { 5 } else { 3 };
        assert_eq!(meter.script_parameters().as_slice().len(), count, "{kind:?}");
    }
}

/// The longest wait for one unit while the clock runs correctly. For windows the next one is possibly counted.
fn longest_wait_ms(algorithm: &Algorithm, meter: &Meter) -> u64 {
    let window_ms = || algorithm.window_ms().expect("only a quota's window varies");
    match meter {
        Meter::FixedWindow(_) => 2 * window_ms(),
        Meter::SlidingWindowCounter(_) => 3 * window_ms(),
        Meter::Quota(meter) => (meter.bounds_us[3] - meter.bounds_us[0]) / 1000,
        _ => window_ms(),
    }
}

#[test]
fn every_kind_has_its_number_its_words_and_its_parameters() {
    for (number, &kind) in (1..).zip(Kind::ALL) {
        assert_eq!(kind.number(), number, "{kind:?}");
        assert!(!kind.title().is_empty() && kind.hint().ends_with('.'), "{kind:?}");
        let mut names = Vec::new();
        let draft = LimitDraft::from_numbers(kind, |parameter| {
            names.push(parameter.name);
            1
        });
        let listed: Vec<_> = kind.parameters().iter().map(|parameter| parameter.name).collect();
        assert_eq!(names, listed, "{kind:?}");
        assert_eq!(draft.kind(), kind);
        assert!(!draft.describe().is_empty(), "{kind:?}");
        let algorithm = Algorithm::parse(draft).expect("ones are valid");
        assert_eq!((algorithm.kind(), algorithm.name()), (kind, kind.name()));
        assert!(algorithm.usual_window_ms() > 0 && algorithm.shortest_window_ms() > 0, "{kind:?}");
        let stretch_us = algorithm.shortest_window_ms() * 1000;
        assert!(algorithm.worst_case(stretch_us, 1) >= 1, "{kind:?}");
    }
}

#[test]
fn share_is_the_limit_divided_and_never_nothing() {
    let ten = Algorithm::FixedWindow(FixedWindow::new(10, 1_000).expect("valid"));
    assert_eq!(ten.share(3).limit(), 3);
    assert_eq!(ten.share(20).limit(), 1);
    let bucket = Algorithm::TokenBucket(TokenBucket::new(10, 5, 1_000).expect("valid"));
    let half = Algorithm::TokenBucket(TokenBucket::new(5, 5, 2_000).expect("valid"));
    assert_eq!(bucket.share(2), half);
}

#[test]
fn clock_that_is_set_back_keeps_what_was_counted() {
    let meters = [
        fixed(3, 60_000),
        log(3, 60_000),
        pair(3, 60_000),
        tokens(3, 3, 60_000),
        leaky(3, 3, 60_000),
        spacing(60_000),
    ];
    for meter in meters {
        let mut counter = Counter::default();
        meter.charge(&mut counter, 3, Micros(START_US + 30_000_000));
        for back_us in [2_000_000, 3_600_000_000, 90_000_000_000] {
            let now = Micros(START_US + 30_000_000 - back_us);
            meter.follow_clock(&mut counter, now);
            assert!(
                matches!(meter.wait(&mut counter, 1, now), Wait::Ms(_)),
                "{meter:?}, {back_us}"
            );
        }
    }
}

#[test]
fn refund_of_another_window_changes_nothing() {
    let hour = 3_600_000;
    let now = Micros(START_US - START_US % (24 * hour * 1000) + 10 * hour * 1000 + 90_000_000);
    let day_us = 86_400_000_000;
    let midnight = now.0 - now.0 % day_us;
    let bounds = |first: u64, step: u64| {
        Meter::Quota(PeriodBounds {
            limit: 1_000,
            bounds_us: [first, first + step, first + 2 * step, first + 3 * step],
        })
    };
    let (day, month) =
        (bounds(midnight - day_us, day_us), bounds(midnight - 45 * day_us, 30 * day_us));
    let edits = [
        (fixed(1_000, hour), fixed(2_000, 24 * hour)),
        (fixed(1_000, 24 * hour), fixed(2_000, hour)),
        (pair(1_000, 60_000), pair(2_000, hour)),
        (pair(1_000, hour), pair(2_000, 60_000)),
        (day, month),
        (month, day),
    ];
    for (old, new) in edits {
        let mut counter = Counter::default();
        old.charge(&mut counter, 600, now);
        // The edit takes over the units that belong to the new window.
        new.charge(&mut counter, 1, now);
        let before = counter.clone();
        old.refund(&mut counter, 600, None, now);
        assert_eq!(counter, before, "{old:?} after {new:?}");
        // A refund to its own window is not lost.
        new.refund(&mut counter, 1, None, now);
        assert_ne!(counter, before, "{new:?}");
    }
}

#[test]
fn documents_example_of_the_sliding_window_counter_is_admitted_and_the_next_is_not() {
    // Seven units a minute: five in the last minute, three in this one, at thirty per cent of it.
    let meter = pair(7, 60_000);
    let mut counter = Counter::default();
    meter.charge(&mut counter, 5, Micros(START_US));
    let now = Micros(START_US + 60_000_000 + 18_000_000);
    meter.charge(&mut counter, 3, now);
    assert_eq!(meter.level(&mut counter, now).remaining, 1, "7 − (3 + ⌊5 × 0.7⌋)");
    assert_eq!(meter.wait(&mut counter, 1, now), Wait::None);
    meter.charge(&mut counter, 1, now);
    assert!(matches!(meter.wait(&mut counter, 1, now), Wait::Ms(_)));
}

#[test]
fn cost_above_the_limit_can_never_pass() {
    for meter in [fixed(5, 10), log(5, 10), pair(5, 10), tokens(5, 1, 10), leaky(5, 1, 10)] {
        assert_eq!(meter.wait(&mut Counter::default(), 6, Micros(START_US)), Wait::Forever);
        assert_eq!(meter.wait(&mut Counter::default(), 5, Micros(START_US)), Wait::None);
    }
}

#[test]
fn rates_above_a_thousand_a_second_are_exact() {
    let meter = tokens(1, 1_000_000, 1_000);
    let mut counter = Counter::default();
    for at in 0..1_000 {
        let now = Micros(START_US + at);
        assert_eq!(meter.wait(&mut counter, 1, now), Wait::None, "one each microsecond");
        meter.charge(&mut counter, 1, now);
        assert_eq!(meter.wait(&mut counter, 1, now), Wait::Ms(1));
    }
}

#[test]
fn delay_of_a_leaky_bucket_is_the_time_in_which_the_work_ahead_drains() {
    let meter = leaky(3, 1, 100);
    let mut counter = Counter::default();
    let now = Micros(START_US);
    for delay_ms in [0, 100, 200] {
        assert_eq!(meter.delay_ms(&mut counter, now), delay_ms);
        assert_eq!(meter.wait(&mut counter, 1, now), Wait::None);
        meter.charge(&mut counter, 1, now);
    }
    assert_eq!(meter.wait(&mut counter, 1, now), Wait::Ms(100));
    assert_eq!(meter.level(&mut counter, now), Level { remaining: 0, reset_after_ms: 300 });
}

#[test]
fn log_of_denials_denies_repeated_attempts_and_stays_small() {
    let meter = Meter::SlidingWindowLog(SlidingWindowLog::new(3, 1_000, true).expect("valid"));
    let mut counter = Counter::default();
    for at in 0..3 {
        meter.charge(&mut counter, 1, Micros(START_US + at));
    }
    for at in 1..1_000 {
        let now = Micros(START_US + at * 200_000);
        assert!(matches!(meter.wait(&mut counter, 1, now), Wait::Ms(_)), "still out at {at}");
        meter.log_denied(&mut counter, 1, now);
        let Counter::Log(log) = &counter else { panic!("a log") };
        assert!(log.entries.len() <= 4, "{}", log.entries.len());
    }
}

#[test]
fn edits_keep_what_was_taken() {
    let now = Micros(START_US);
    let mut counter = Counter::default();
    fixed(5, 60_000).charge(&mut counter, 5, now);
    assert_eq!(fixed(8, 60_000).level(&mut counter, now).remaining, 3);
    assert_eq!(fixed(2, 60_000).level(&mut counter, now).remaining, 0);
    let mut counter = Counter::default();
    tokens(5, 1, 1_000).charge(&mut counter, 5, now);
    assert_eq!(tokens(8, 1, 1_000).level(&mut counter, now).remaining, 3);
    assert_eq!(tokens(8, 7, 300).level(&mut counter, now).remaining, 3, "another rate");
}

#[test]
fn parameters_that_cannot_be_counted_exactly_are_refused_with_the_reason() {
    let said = SlidingWindowCounter::new(1_000_000_000, 86_400_000).expect_err("too large");
    assert!(said.reason.contains("at most"), "{said}");
    let said = TokenBucket::new(1_000_000_000, 999_999_937, 86_400_000).expect_err("too fine");
    assert!(said.reason.contains("too fine"), "{said}");
    let said = SlidingWindowCounter::new(1_000_000_000_000, 31_622_400_000).expect_err("too large");
    assert!(said.reason.ends_with("for a limit of 1000000000000 at most 9007 ms"), "{said}");
    let said = TokenBucket::new(1, 999_999_999_989, 1).expect_err("too fast");
    assert_eq!(
        (said.field, said.reason.contains("at most 1000000000;")),
        ("refill_tokens", true),
        "{said}"
    );
    assert!(TokenBucket::new(1_000_000_000_000, 1_000_000_000_000, 86_400_000).is_ok());
    for (limit, window_ms) in [(0, 1), (1_000_000_000_001, 1), (1, 0), (1, 31_622_400_001)] {
        assert!(FixedWindow::new(limit, window_ms).is_err(), "{limit} {window_ms}");
    }
}
