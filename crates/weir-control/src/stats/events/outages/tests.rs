use super::*;

/// Steps of ten seconds from the hundredth on, each with its checks without Redis, of a hundred at the only gate.
fn steps(degraded: &[u64]) -> Vec<DegradedStep> {
    let step = |(at, degraded): (usize, &u64)| DegradedStep {
        at: at_step(i64::try_from(at).expect("few")),
        length_ms: STEP_MS,
        degraded: *degraded,
        checks: 100,
        most_percent: *degraded,
    };
    let some = |step: &DegradedStep| step.degraded > 0;
    degraded.iter().enumerate().map(step).filter(some).collect()
}

fn at_step(at: i64) -> Timestamp {
    Timestamp::from_millis((100 + at) * STEP_MS)
}

/// The kinds of the events and their steps, the newest first.
fn found(degraded: &[u64]) -> Vec<(EventKind, i64, i64, u64)> {
    let step = |at: weir_wire::time::DateTime| at.0.as_millis() / STEP_MS - 100;
    let events = events(&steps(degraded), at_step(1_000)).into_iter();
    let of = |event: Event| {
        let until = event.until.expect("an end");
        (event.kind, step(event.at), step(until), event.checks.expect("checks"))
    };
    events.map(of).collect()
}

#[test]
fn pauses_are_as_many_outages_and_single_slow_calls_are_none() {
    let (away, slow) = (EventKind::RedisOutage, EventKind::RedisSlow);
    assert_eq!(found(&[0, 1, 0, 0, 9, 0]), [], "some calls were slow");
    assert_eq!(
        found(&[0, 70, 100, 30, 0, 0, 0, 0, 70, 100, 30]),
        [(away, 8, 11, 200), (away, 1, 4, 200)],
        "two pauses, 70 s from begin to begin"
    );
    assert_eq!(found(&[0, 4, 100, 5, 0]), [(away, 1, 4, 109)], "its edges belong to it");
    assert_eq!(
        found(&[100, 5, 100]),
        [(away, 2, 3, 100), (away, 0, 2, 105)],
        "Redis was there for ten seconds"
    );
    assert_eq!(
        found(&[3, 4, 5, 90, 4, 3, 5]),
        [(slow, 4, 7, 12), (away, 3, 4, 90), (slow, 0, 3, 12)],
        "slow before and after it"
    );
}

#[test]
fn an_outage_at_one_of_many_gates_is_one() {
    let at_one = DegradedStep {
        at: at_step(0),
        length_ms: STEP_MS,
        degraded: 20,
        checks: 1_000,
        most_percent: 100,
    };
    assert_eq!(events(&[at_one], at_step(9))[0].kind, EventKind::RedisOutage);
    let at_all = DegradedStep { most_percent: 2, ..at_one };
    assert_eq!(events(&[at_all], at_step(9))[0].kind, EventKind::RedisSlow);
    let few = DegradedStep { degraded: 9, ..at_one };
    assert_eq!(events(&[few], at_step(9)), []);
}

#[test]
fn summaries_state_what_is_known() {
    let text = |step: DegradedStep, now: i64| {
        events(&[step], at_step(now))[0].summary.clone().unwrap_or_default()
    };
    let step = steps(&[70])[0];
    assert_eq!(text(step, 20), "10 s, 70 of 100 checks answered without it");
    assert_eq!(text(step, 2), "10 s so far, 70 of 100 checks answered without it");
    let minute = DegradedStep { length_ms: 60_000, ..step };
    assert_eq!(text(minute, 20), "70 of 100 checks, known to the minute");
    let slow = DegradedStep { most_percent: 9, ..step };
    assert_eq!(text(slow, 20), "70 of 100 checks were over the time for its calls");
    let hour = DegradedStep { length_ms: 3_600_000, checks: 70_000, ..step };
    assert_eq!(text(hour, 9_000), "70 of 70,000 checks, known to the hour", "20 s of an hour");
    assert_eq!(events(&[DegradedStep { checks: 70_001, ..hour }], at_step(9_000)), []);
}
