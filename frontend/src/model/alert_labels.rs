//! The text of an alert, and the windows to choose from.

use weir_wire::alerts::{AlertBody, AlertKind};
use weir_wire::stats::Event;
use weir_wire::time::DateTime;

/// The windows of the form, in seconds, with their labels.
pub const WINDOWS: [(u32, &str); 6] = [
    (60, "1 minute"),
    (300, "5 minutes"),
    (900, "15 minutes"),
    (3600, "1 hour"),
    (21_600, "6 hours"),
    (86_400, "1 day"),
];

/// The effect of an alert; `rule` is the name of its rule, if it has one.
pub fn sentence(alert: &AlertBody, rule: Option<&str>) -> String {
    let rule = rule.unwrap_or("a rule");
    match alert.kind {
        AlertKind::Quota => {
            let thresholds = alert.thresholds_percent.clone().unwrap_or_default();
            let customer = alert.customer.as_ref();
            let of = customer.map(|name| format!(" of customer {name}")).unwrap_or_default();
            format!(
                "Fires when a subject{of} of {rule} reaches {} of its quota, once per period.",
                percents(&thresholds)
            )
        }
        AlertKind::DenialShare => {
            let of = match (&alert.rule_id, &alert.namespace) {
                (Some(_), _) => format!("decisions of {rule}"),
                (None, Some(namespace)) => format!("checks in {namespace}"),
                (None, None) => "checks".to_owned(),
            };
            format!(
                "Fires when {}% or more of at least {} {of} are denied within {}, at most once in that time.",
                alert.share_percent.unwrap_or_default(),
                alert.checks_min.unwrap_or_default(),
                window(alert.window_s.unwrap_or_default()),
            )
        }
    }
}

/// Whether an alert fired in the last hour.
pub fn fired_recently(at: DateTime, now_ms: i64) -> bool {
    now_ms - at.0.as_millis() < RECENT_MS
}

/// The alerts that fired in the last hour, each with the last time; the newest first, as the events are.
pub fn recently_fired(events: &[Event], now_ms: i64) -> Vec<(String, DateTime)> {
    let mut fired: Vec<(String, DateTime)> = Vec::new();
    for event in events {
        let last = event.until.unwrap_or(event.at);
        let name = event.alert.as_ref().filter(|_| fired_recently(last, now_ms));
        if let Some(name) = name.filter(|name| fired.iter().all(|(other, _)| other != *name)) {
            fired.push((name.clone(), last));
        }
    }
    fired
}

/// The time for which an alert that fired stands out.
pub const RECENT_MS: i64 = 3_600_000;

/// The whole numbers in a text such as `80, 90, 100`. Empty if any part is not a number, so that the API rejects the
/// list.
pub fn numbers(text: &str) -> Vec<u32> {
    let separates = |separator: char| separator == ',' || separator.is_whitespace();
    let parts = text.split(separates).filter(|part| !part.is_empty());
    parts
        .map(|part| part.trim_end_matches('%').parse().ok())
        .collect::<Option<_>>()
        .unwrap_or_default()
}

fn percents(thresholds: &[u32]) -> String {
    let mut parts: Vec<String> = thresholds.iter().map(ToString::to_string).collect();
    match parts.pop() {
        None => "none".to_owned(),
        Some(last) if parts.is_empty() => format!("{last}%"),
        Some(last) => format!("{} or {last}%", parts.join(", ")),
    }
}

/// The label of a window.
pub fn window(window_s: u32) -> String {
    let known = WINDOWS.iter().find(|(known, _)| *known == window_s);
    known.map_or_else(|| format!("{} minutes", window_s / 60), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(kind: AlertKind) -> AlertBody {
        AlertBody {
            name: "a".into(),
            webhook_ids: vec!["w".into()],
            enabled: true,
            kind,
            rule_id: None,
            namespace: None,
            customer: None,
            thresholds_percent: Some(vec![80, 90, 100]),
            share_percent: Some(20),
            window_s: Some(300),
            checks_min: Some(100),
        }
    }

    #[test]
    fn the_sentence_states_condition_and_frequency() {
        assert_eq!(
            sentence(&alert(AlertKind::Quota), Some("api/monthly")),
            "Fires when a subject of api/monthly reaches 80, 90 or 100% of its quota, once per period."
        );
        let of_acme = AlertBody { customer: Some("acme".into()), ..alert(AlertKind::Quota) };
        assert!(
            sentence(&of_acme, Some("api/monthly")).contains("of customer acme of api/monthly")
        );
        let share = alert(AlertKind::DenialShare);
        let text = sentence(&share, None);
        assert_eq!(
            text,
            "Fires when 20% or more of at least 100 checks are denied within 5 minutes, at most once in that time."
        );
        let namespace = AlertBody { namespace: Some("api".into()), window_s: Some(120), ..share };
        assert!(
            sentence(&namespace, None).contains("100 checks in api are denied within 2 minutes")
        );
    }

    #[test]
    fn an_alert_stands_out_for_an_hour() {
        let at = DateTime(weir_domain::time::Timestamp::from_millis(1_000));
        assert!(fired_recently(at, 3_600_999));
        assert!(!fired_recently(at, 3_601_000));
    }

    #[test]
    fn an_alert_that_fired_twice_is_listed_once() {
        let event = |alert: Option<&str>, minute: u32| -> Event {
            let at = format!("1970-01-01T00:{minute:02}:00Z");
            serde_json::from_value(serde_json::json!({ "kind": "alert", "at": at, "alert": alert }))
                .expect("an event")
        };
        let events =
            [event(Some("a"), 50), event(None, 49), event(Some("b"), 48), event(Some("a"), 47)];
        let names = |now_ms| {
            recently_fired(&events, now_ms).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(3_600_000), ["a", "b"]);
        assert_eq!(names(3_600_000 + 49 * 60_000), ["a"]);
    }

    #[test]
    fn lists_of_numbers_are_parsed_or_rejected_as_a_whole() {
        assert_eq!(numbers("80, 90,100%"), [80, 90, 100]);
        assert_eq!(numbers("80% 90%"), [80, 90]);
        assert!(numbers("80, many").is_empty());
        assert!(numbers("").is_empty());
    }
}
