//! The difference between the two rules of a replay: over time, and in a sentence.

use weir_wire::simulate::SimulateAnswer;

use crate::charts::timeline::Timeline;
use crate::model::chart::{ChartData, Layer};
use crate::model::number::{grouped, quantity};

/// The checks of each step by what the change does to them, and the denied checks of the present rule as a line.
pub fn difference(answer: &SimulateAnswer) -> ChartData {
    let (now, changed) = (&answer.present, &answer.candidate);
    let steps = changed.allowed_series.len();
    let at = |series: &[u64], step: usize| series.get(step).copied().unwrap_or(0);
    let each = |of: &dyn Fn(u64, u64, u64) -> u64| -> Vec<u64> {
        let count = |step: usize| {
            let (before, after) = (at(&now.denied_series, step), at(&changed.denied_series, step));
            of(before, after, at(&changed.allowed_series, step) + after)
        };
        (0..steps).map(count).collect()
    };
    let area =
        |name, outcome, class, counts| Layer { name, outcome, class, is_line: false, counts };
    let layers = vec![
        area(
            "Allowed",
            "allowed by both",
            "allowed",
            each(&|before, after, all| all - before.max(after).min(all)),
        ),
        area(
            "Newly allowed",
            "newly allowed",
            "newly-allowed",
            each(&|before, after, _| before.saturating_sub(after)),
        ),
        area(
            "Newly denied",
            "newly denied",
            "newly-denied",
            each(&|before, after, _| after.saturating_sub(before)),
        ),
        area("Denied", "denied by both", "denied", each(&|before, after, _| before.min(after))),
    ];
    ChartData {
        timeline: Timeline::even(answer.start.0.as_millis(), step_ms(answer), steps),
        step_ms: step_ms(answer),
        layers,
        degraded: vec![0; steps],
        as_of_ms: answer.to.0.as_millis(),
    }
}

/// `27 more checks denied (+2.4 points), 4 of 50 subjects affected`.
pub fn headline(answer: &SimulateAnswer) -> String {
    let (before, after) = (answer.present.denied, answer.candidate.denied);
    let subjects = &answer.subjects;
    let affected = subjects.more_denied + subjects.less_denied;
    let of = quantity(usize::try_from(subjects.seen).unwrap_or(usize::MAX), "subject", "subjects");
    let change = match (before, after) {
        _ if before == after => "No change in denied checks".to_owned(),
        _ => {
            let word = if after > before { "more" } else { "fewer" };
            let checks = quantity(
                usize::try_from(after.abs_diff(before)).unwrap_or(usize::MAX),
                &format!("{word} check"),
                &format!("{word} checks"),
            );
            format!("{checks} denied ({})", points(answer))
        }
    };
    format!("{change}, {} of {of} affected", grouped(affected))
}

/// The change of the denied share in percentage points, with one decimal.
fn points(answer: &SimulateAnswer) -> String {
    let tenths = |denied: u64, allowed: u64| {
        i128::from(denied) * 1_000 / i128::from((denied + allowed).max(1))
    };
    let of = |side: &weir_wire::simulate::SimulatedSide| tenths(side.denied, side.allowed);
    let change = of(&answer.candidate) - of(&answer.present);
    let sign = if change < 0 { '−' } else { '+' };
    format!("{sign}{}.{} points", change.abs() / 10, change.abs() % 10)
}

fn step_ms(answer: &SimulateAnswer) -> i64 {
    i64::try_from(answer.step_ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(before: [u64; 3], after: [u64; 3]) -> SimulateAnswer {
        let side = |denied: [u64; 3]| {
            let total: u64 = denied.iter().sum();
            json!({"met": 30, "allowed": 30 - total, "denied": total,
                "allowed_series": denied.map(|count| 10 - count), "denied_series": denied})
        };
        serde_json::from_value(json!({
            "from": "1970-01-01T00:01:00Z", "to": "1970-01-01T00:02:30Z", "start": "1970-01-01T00:01:00Z",
            "step_ms": 30_000, "warmup_ms": 0, "warmup_needed_ms": 0, "present": side(before), "candidate": side(after),
            "subjects": {"seen": 50, "more_denied": 3, "less_denied": 1, "data": []},
            "certainty": {"rate": 1.0, "subjects": 50, "checks": 30, "denied_before": null, "denied_after": null,
                "change": null, "method": ""},
            "warnings": []
        }))
        .expect("an answer")
    }

    #[test]
    fn each_check_is_in_one_area() {
        let chart = difference(&answer([0, 4, 5], [3, 4, 1]));
        let counts: Vec<_> = chart.layers.iter().map(|layer| layer.counts.clone()).collect();
        assert_eq!(counts, [[7, 6, 5], [0, 0, 4], [3, 0, 0], [0, 4, 1]]);
        assert!((0..3).all(|step| chart.whole(step) == 10));
        assert_eq!(chart.timeline.step_ms(2), (120_000, 150_000));
    }

    #[test]
    fn the_headline_counts_checks_points_and_subjects() {
        assert_eq!(
            headline(&answer([0, 4, 5], [3, 4, 9])),
            "7 more checks denied (+23.3 points), 4 of 50 subjects affected"
        );
        assert_eq!(
            headline(&answer([1, 0, 0], [0, 0, 0])),
            "1 fewer check denied (−3.3 points), 4 of 50 subjects affected"
        );
        assert_eq!(
            headline(&answer([1, 0, 0], [0, 1, 0])),
            "No change in denied checks, 4 of 50 subjects affected"
        );
    }
}
