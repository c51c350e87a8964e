//! The live stream's seconds as a series.

use std::collections::VecDeque;

use weir_domain::time::Timestamp;
use weir_wire::stats::{Counts, LiveTick, Series};
use weir_wire::time::DateTime;

/// The last `seconds` seconds, each with the counts of the tick that ended in it.
pub fn live_series(ticks: &VecDeque<LiveTick>, seconds: usize) -> Series {
    let newest_s = ticks.back().map_or(0, |tick| tick.at.0.as_millis().div_euclid(1_000));
    let start_s = newest_s + 1 - i64::try_from(seconds).unwrap_or(0);
    let mut counts = vec![Counts::default(); seconds];
    for tick in ticks {
        let second = tick.at.0.as_millis().div_euclid(1_000) - start_s;
        if let Some(count) = usize::try_from(second).ok().and_then(|second| counts.get_mut(second))
        {
            count.allowed += tick.requests.allowed;
            count.denied += tick.requests.denied;
            count.shadow_denied += tick.requests.shadow_denied;
            count.degraded += tick.requests.degraded;
        }
    }
    let column = |of: fn(&Counts) -> u64| counts.iter().map(of).collect::<Vec<_>>();
    Series {
        start: DateTime(Timestamp::from_millis(start_s * 1_000)),
        step_s: 1,
        starts: None,
        allowed: column(|counts| counts.allowed),
        denied: column(|counts| counts.denied),
        shadow_denied: column(|counts| counts.shadow_denied),
        degraded: column(|counts| counts.degraded),
        refunded: vec![0; seconds],
        latency: None,
        recorded: vec![0; seconds],
        as_of: DateTime(Timestamp::from_millis(i64::MAX)),
        dropped: 0,
    }
}

/// Puts the complete steps of a series before the first tick, spread evenly over their seconds. Returns whether there are any.
pub fn fill(ticks: &mut VecDeque<LiveTick>, series: &Series, seconds: usize) -> bool {
    let second_of = |at: DateTime| at.0.as_millis().div_euclid(1_000);
    let (Some(first), Some(newest)) = (ticks.front(), ticks.back()) else { return false };
    let oldest_s = second_of(newest.at) + 1 - i64::try_from(seconds).unwrap_or(0);
    let missing = oldest_s..second_of(first.at);
    let (step_s, length) = (i64::from(series.step_s), u64::from(series.step_s));
    let mut filled = Vec::new();
    let mut begin_s = second_of(series.start);
    for step in 0..series.allowed.len() {
        if begin_s + step_s > second_of(series.as_of) {
            break;
        }
        for (at_s, second) in (begin_s..begin_s + step_s).zip(0..length) {
            // The seconds of a step add up to its count.
            let part = |counts: &[u64]| {
                let count = counts.get(step).copied().unwrap_or(0);
                count * (second + 1) / length - count * second / length
            };
            filled.push(LiveTick {
                at: DateTime(Timestamp::from_millis(at_s * 1_000)),
                span_ms: 1_000,
                requests: Counts {
                    allowed: part(&series.allowed),
                    denied: part(&series.denied),
                    shadow_denied: part(&series.shadow_denied),
                    degraded: part(&series.degraded),
                    ..Counts::default()
                },
                rules: Vec::new(),
                denials: Vec::new(),
            });
        }
        begin_s += step_s;
    }
    filled.retain(|tick| missing.contains(&second_of(tick.at)));
    let is_filled = !filled.is_empty();
    for tick in filled.into_iter().rev() {
        ticks.push_front(tick);
    }
    is_filled
}

/// The seconds of the series before the first tick and between ticks that are more than two seconds apart, in milliseconds
/// since 1970.
pub fn silent(ticks: &VecDeque<LiveTick>, seconds: usize) -> Vec<(i64, i64)> {
    let second = |tick: &LiveTick| tick.at.0.as_millis().div_euclid(1_000);
    let Some(newest) = ticks.back().map(second) else { return Vec::new() };
    let mut known = newest - i64::try_from(seconds).unwrap_or(0);
    let mut gaps = Vec::new();
    for at in ticks.iter().map(second) {
        if at - known > SILENT_S {
            gaps.push(((known + 1) * 1_000, at * 1_000));
        }
        known = known.max(at);
    }
    gaps
}

/// The most seconds between two ticks of an uninterrupted stream.
const SILENT_S: i64 = 2;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ticks(seconds: &[u32]) -> VecDeque<LiveTick> {
        let tick = |second: &u32| -> LiveTick {
            let counts = json!({"allowed": second, "denied": 1, "shadow_denied": 0, "degraded": 0, "refunded": 0});
            serde_json::from_value(json!({
                "at": format!("1970-01-01T00:00:{second:02}.250Z"), "span_ms": 1000, "requests": counts, "rules": [],
                "denials": []
            }))
            .expect("a tick")
        };
        seconds.iter().map(tick).collect()
    }

    #[test]
    fn each_tick_counts_in_its_second() {
        let series = live_series(&ticks(&[3, 4, 4, 6]), 5);
        assert_eq!(series.start.0.as_millis(), 2_000);
        assert_eq!(series.allowed, [0, 3, 8, 0, 6]);
        assert_eq!(series.denied, [0, 1, 2, 0, 1]);
        assert_eq!(live_series(&VecDeque::new(), 3).allowed, [0, 0, 0]);
    }

    #[test]
    fn interruptions_are_gaps() {
        assert_eq!(silent(&ticks(&[10, 11, 20, 22, 23]), 15), [(12_000, 20_000)]);
        assert_eq!(silent(&ticks(&[22, 23]), 15), [(9_000, 22_000)], "before the page was opened");
        assert_eq!(silent(&ticks(&[]), 15), []);
    }

    #[test]
    fn complete_steps_fill_the_minute_before_the_first_tick() {
        let series = |as_of: u32| -> Series {
            serde_json::from_value(json!({
                "start": "1970-01-01T00:00:00Z", "step_s": 10, "starts": null, "allowed": [20, 15, 70],
                "denied": [0, 5, 0], "shadow_denied": [0, 0, 0], "degraded": [0, 0, 0], "refunded": [0, 0, 0],
                "as_of": format!("1970-01-01T00:00:{as_of:02}Z"), "dropped": 0
            }))
            .expect("a series")
        };
        let mut all = ticks(&[18, 20]);
        assert!(fill(&mut all, &series(20), 15));
        let filled = live_series(&all, 15);
        assert_eq!(filled.start.0.as_millis(), 6_000);
        assert_eq!(filled.allowed, [2, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2, 18, 0, 20]);
        assert_eq!(filled.denied[4..12].iter().sum::<u64>(), 4);
        let mut before = ticks(&[18, 20]);
        assert!(!fill(&mut before, &series(9), 15), "the first step is not complete");
        assert!(!fill(&mut VecDeque::new(), &series(20), 15));
    }
}
