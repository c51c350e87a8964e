use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

const NOW_MS: i64 = 1_763_726_400_000;
const HOUR_MS: i64 = 3_600_000;
const FAST: Duration = Duration::from_millis(4);

/// The clock of a gate whose machine has a clock that is ahead by this much and a supplied monotonic clock.
fn clock(ahead_ms: i64) -> (GateClock, impl Fn(u64)) {
    let (passed, started) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let elapsed = {
        let passed = Arc::clone(&passed);
        move || passed.load(Ordering::Relaxed)
    };
    let wall = elapsed.clone();
    let machine = Clock::new(move || {
        Timestamp::from_millis(NOW_MS + ahead_ms).plus_ms(i64::try_from(wall()).unwrap())
    });
    let monotonic = Monotonic::new(move || started + Duration::from_millis(elapsed()));
    let advance = move |ms| {
        passed.fetch_add(ms, Ordering::Relaxed);
    };
    (GateClock::new(machine, monotonic), advance)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(NOW_MS + ms)
}

#[test]
fn machine_clock_is_used_until_a_server_has_answered() {
    for ahead_ms in [-HOUR_MS, HOUR_MS] {
        let (clock, advance) = clock(ahead_ms);
        assert_eq!((clock.now(), clock.ahead_ms()), (at(ahead_ms), None));
        clock.correct(ClockSource::Postgres, at(-2), FAST);
        assert_eq!((clock.now(), clock.ahead_ms()), (at(0), Some(ahead_ms)));
        advance(90_000);
        assert_eq!((clock.now(), clock.ahead_ms()), (at(90_000), Some(ahead_ms)));
    }
}

#[test]
fn answer_with_the_shortest_round_trip_is_used() {
    let (clock, _) = clock(HOUR_MS);
    // All of its duration passed after Postgres had read its clock: the middle is 400 ms off.
    clock.correct(ClockSource::Postgres, at(-800), Duration::from_millis(800));
    assert_eq!(clock.now(), at(-400));
    clock.correct(ClockSource::Postgres, at(-2), FAST);
    assert_eq!(clock.now(), at(0));
    for _ in 1..READINGS {
        clock.correct(ClockSource::Postgres, at(-800), Duration::from_millis(800));
        assert_eq!(clock.now(), at(0));
    }
}

#[test]
fn clock_that_was_set_is_followed_once_successive_answers_agree() {
    let (clock, _) = clock(0);
    clock.correct(ClockSource::Postgres, at(-2), FAST);
    for _ in 1..STEP_READINGS {
        clock.correct(ClockSource::Postgres, at(5_000), FAST);
        assert_eq!(clock.now(), at(0));
    }
    clock.correct(ClockSource::Postgres, at(-2), FAST);
    for _ in 1..STEP_READINGS {
        clock.correct(ClockSource::Postgres, at(4_998), FAST);
        assert_eq!(clock.now(), at(0), "an answer between them agreed with the earlier ones");
    }
    clock.correct(ClockSource::Postgres, at(4_998), FAST);
    assert_eq!(clock.now(), at(5_000));
}

#[test]
fn redis_corrects_the_clock_until_postgres_answers() {
    let (clock, _) = clock(HOUR_MS);
    clock.correct(ClockSource::Redis, at(698), FAST);
    assert_eq!(clock.now(), at(700));
    clock.correct(ClockSource::Postgres, at(-20), Duration::from_millis(40));
    assert_eq!(clock.now(), at(0));
    for _ in 0..READINGS {
        clock.correct(ClockSource::Redis, at(698), FAST);
        assert_eq!(clock.now(), at(0));
    }
}

#[test]
fn extreme_times_do_not_overflow() {
    let (clock, _) = clock(0);
    for ms in [i64::MIN, i64::MAX, 0] {
        let time = Timestamp::from_millis(ms);
        for _ in 0..STEP_READINGS {
            clock.correct(ClockSource::Postgres, time, Duration::MAX);
        }
        assert!(clock.ahead_ms().is_some());
    }
}
