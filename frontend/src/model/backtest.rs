//! The back-test of an alert: the request, and the answer as text and as a drawing.

use weir_wire::alerts::AlertBody;
use weir_wire::backtest::{BacktestAnswer, BacktestBody, Firing};

use crate::charts::timeline::{Timeline, WIDTH};
use crate::model::alert_labels::window;
use crate::model::duration::about;
use crate::model::number::{grouped, quantity};

/// The times to test, in days, with their labels. With the longest window of a day, the longest one needs the minutes of seven
/// days, which is the time for which they are retained by default.
pub const DAYS: [(i64, &str); 3] = [(1, "Last 24 hours"), (3, "Last 3 days"), (6, "Last 6 days")];
/// The height of the drawing.
pub const HEIGHT: u64 = 1_000;
/// The least width of a firing in the drawing.
const FIRING_WIDTH: u64 = WIDTH / 150;

/// The condition of an alert, without a time.
pub fn condition(alert: &AlertBody) -> BacktestBody {
    BacktestBody {
        kind: Some(alert.kind),
        rule_id: alert.rule_id.clone(),
        namespace: alert.namespace.clone(),
        share_percent: alert.share_percent,
        window_s: alert.window_s,
        checks_min: alert.checks_min,
        ..BacktestBody::default()
    }
}

/// How often the alert would have fired; if never, how close it came.
pub fn headline(tested: &BacktestBody, answer: &BacktestAnswer, days: i64) -> String {
    let time = if days == 1 { "24 hours".to_owned() } else { format!("{days} days") };
    if answer.fired > 0 {
        return format!("Would have fired {} in the last {time}", times(answer.fired));
    }
    let never = format!("Would not have fired in the last {time}");
    let highest = answer.highest_percent.iter().copied().flatten().reduce(f64::max);
    match highest {
        Some(highest) => format!("{never}: the denial rate was at most {}", percent(highest)),
        None => format!(
            "{never}: there were never {} checks within {}",
            grouped(tested.checks_min.unwrap_or_default()),
            window(tested.window_s.unwrap_or_default())
        ),
    }
}

/// The number of messages, if it differs from the number of firings.
pub fn messages(answer: &BacktestAnswer) -> Option<String> {
    (answer.messages > answer.fired).then(|| {
        let count = usize::try_from(answer.messages).unwrap_or(usize::MAX);
        format!(
            "{}: a firing that outlasts the window is announced again.",
            quantity(count, "message", "messages")
        )
    })
}

/// The duration of a firing.
pub fn duration(firing: &Firing) -> String {
    match firing.to {
        Some(to) => about(to.0.as_millis().abs_diff(firing.from.0.as_millis())),
        None => "still firing".to_owned(),
    }
}

/// The highest share of a firing, with its checks.
pub fn peak(firing: &Firing) -> String {
    let (denied, checks) = (grouped(firing.denied), grouped(firing.checks));
    format!("{} ({denied} of {checks})", percent(firing.highest_percent))
}

/// A percentage with at most one decimal.
pub fn percent(share: f64) -> String {
    let text = format!("{share:.1}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{} times", grouped(count)),
    }
}

/// The denial rate over time, and the firings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacktestDrawing {
    /// The area below the rate, as the `d` of a path.
    pub rate: String,
    /// The start and the width of each firing.
    pub firings: Vec<(u64, u64)>,
    /// The height of the alert's rate, from the top.
    pub threshold: u64,
}

impl BacktestDrawing {
    pub fn of(tested: &BacktestBody, answer: &BacktestAnswer) -> Self {
        let step_ms = i64::from(answer.step_s) * 1_000;
        let timeline =
            Timeline::even(answer.from.0.as_millis(), step_ms, answer.highest_percent.len());
        let bar = |(step, share): (usize, &Option<f64>)| {
            let (from_ms, to_ms) = timeline.step_ms(step);
            let (left, right) = (timeline.place(from_ms), timeline.place(to_ms));
            share.map(|share| format!("M{left} {HEIGHT}V{}H{right}V{HEIGHT}Z", top(share)))
        };
        let place = |firing: &Firing| {
            let from = timeline.place(firing.from.0.as_millis());
            let to = firing.to.unwrap_or(answer.to).0.as_millis();
            let width = timeline.place(to).saturating_sub(from).max(FIRING_WIDTH);
            (from.min(WIDTH - width), width)
        };
        Self {
            rate: answer.highest_percent.iter().enumerate().filter_map(bar).collect(),
            firings: answer.firings.iter().map(place).collect(),
            threshold: top(tested.share_percent.map_or(100.0, f64::from)),
        }
    }
}

/// The position of a share from the top of the drawing.
fn top(share_percent: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share from 0 to 100 percent"
    )]
    let thousandths = (share_percent.clamp(0.0, 100.0) * 10.0).round() as u64;
    HEIGHT - thousandths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tested() -> BacktestBody {
        BacktestBody {
            share_percent: Some(20),
            window_s: Some(300),
            checks_min: Some(1_000),
            ..BacktestBody::default()
        }
    }

    fn answer(firings: &serde_json::Value, shares: &serde_json::Value) -> BacktestAnswer {
        let fired = firings.as_array().map_or(0, Vec::len);
        serde_json::from_value(json!({
            "from": "2026-11-21T00:00:00Z", "to": "2026-11-21T00:04:00Z", "fired": fired, "messages": fired,
            "firings": firings, "truncated": false, "step_s": 60, "highest_percent": shares,
            "as_of": "2026-11-21T00:04:00Z", "dropped": 0
        }))
        .expect("an answer")
    }

    fn firing(to: &serde_json::Value) -> serde_json::Value {
        json!({
            "from": "2026-11-21T00:01:00Z", "to": to, "messages": 1, "highest_percent": 61.54,
            "denied": 8, "checks": 13
        })
    }

    #[test]
    fn the_headline_counts_firings_or_says_how_close_the_alert_came() {
        let one = json!([firing(&json!("2026-11-21T00:02:00Z"))]);
        let text = |answer: &BacktestAnswer| {
            headline(&tested(), answer, 6).replace("in the last 6 days", "…")
        };
        assert_eq!(text(&answer(&one, &json!([null, 61.54, 0.0, 1.0]))), "Would have fired once …");
        assert_eq!(
            text(&answer(&json!([]), &json!([null, 12.0, 3.5, null]))),
            "Would not have fired …: the denial rate was at most 12%"
        );
        assert_eq!(
            text(&answer(&json!([]), &json!([null, null, null, null]))),
            "Would not have fired …: there were never 1,000 checks within 5 minutes"
        );
    }

    #[test]
    fn firings_have_a_duration_and_a_peak() {
        let ended = answer(&json!([firing(&json!("2026-11-21T00:03:00Z"))]), &json!([]));
        assert_eq!(duration(&ended.firings[0]), "2 min");
        assert_eq!(peak(&ended.firings[0]), "61.5% (8 of 13)");
        let lasting = answer(&json!([firing(&json!(null))]), &json!([]));
        assert_eq!(duration(&lasting.firings[0]), "still firing");
        assert_eq!(messages(&lasting), None);
        let announced = BacktestAnswer { messages: 3, ..lasting };
        assert!(messages(&announced).is_some_and(|text| text.starts_with("3 messages")));
    }

    #[test]
    fn the_drawing_has_a_bar_for_each_known_step_and_a_band_for_each_firing() {
        let found = answer(&json!([firing(&json!(null))]), &json!([null, 50.0, 100.0, null]));
        let drawing = BacktestDrawing::of(&tested(), &found);
        assert_eq!(drawing.rate, "M2500 1000V500H5000V1000ZM5000 1000V0H7500V1000Z");
        assert_eq!(drawing.firings, [(2_500, 7_500)]);
        assert_eq!(drawing.threshold, 800);
    }
}
