//! The chart of the denials of a subject.

use weir_wire::subjects::SubjectHistory;
use weir_wire::time::DateTime;

use crate::charts::timeline::Timeline;
use crate::model::chart::{ChartData, Layer};

/// The denials of each step, with what can be missing as an area above them. Empty without a history.
pub fn denial_chart(history: Option<&SubjectHistory>) -> ChartData {
    let layer = |(name, outcome, class), is_line, of: fn(&SubjectHistory) -> &Vec<u64>| Layer {
        name,
        outcome,
        class,
        is_line,
        counts: history.map(of).cloned().unwrap_or_default(),
    };
    let step_ms = history.map_or(1, |history| i64::from(history.step_s) * 1_000);
    let ms = |at: fn(&SubjectHistory) -> DateTime| {
        history.map_or(0, |history| at(history).0.as_millis())
    };
    ChartData {
        timeline: Timeline::even(
            ms(|history| history.start),
            step_ms,
            history.map_or(1, |history| history.denied.len()),
        ),
        step_ms,
        layers: vec![
            layer(("Denied", "denied", "denied"), false, |history| &history.denied),
            layer(("Not known, up to", "more at most", "gap"), false, |history| &history.unknown),
            layer(("Would deny (shadow)", "would be denied", "would-deny"), true, |history| {
                &history.shadow_denied
            }),
        ],
        degraded: Vec::new(),
        as_of_ms: ms(|history| history.as_of),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn history(denied: &[u64], unknown: &[u64]) -> SubjectHistory {
        let none = vec![0; denied.len()];
        serde_json::from_value(json!({
            "start": "2026-11-21T22:00:00Z", "step_s": 600, "denied": denied, "shadow_denied": none,
            "unknown": unknown, "as_of": "2026-11-21T22:25:00Z",
            "last_hour_from": "2026-11-21T21:20:00Z", "last_hour": []
        }))
        .expect("a history")
    }

    #[test]
    fn what_can_be_missing_is_drawn_and_never_as_none() {
        let chart = denial_chart(Some(&history(&[586, 0, 7], &[0, 40, 0])));
        let readout = |step| chart.readout(step, "then").unwrap_or_default();
        assert_eq!(readout(0), "then: 586 denied, 0 more at most, 0 would be denied");
        assert_eq!(readout(1), "then: 0 denied, 40 more at most, 0 would be denied");
        assert!(readout(2).ends_with("(not complete yet)"));
        let areas = chart.stack(None, crate::model::chart::Hidden::default()).areas;
        assert!(areas.len() == 2 && !areas[1].is_empty(), "{areas:?}");
    }
}
