//! What an alert does, in a sentence; and which windows one can choose.

use weir_wire::alerts::{AlertBody, AlertKind};

/// The windows of a form.
pub const WINDOWS: [(u32, &str); 6] = [
    (60, "1 minute"),
    (300, "5 minutes"),
    (900, "15 minutes"),
    (3600, "1 hour"),
    (21_600, "6 hours"),
    (86_400, "1 day"),
];

/// What it does; `rule` is what the rule is called, if it is about one.
pub fn sentence(alert: &AlertBody, rule: Option<&str>) -> String {
    let rule = rule.unwrap_or("a rule");
    match alert.kind {
        AlertKind::Quota => {
            let thresholds = alert.thresholds_percent.clone().unwrap_or_default();
            format!(
                "Told when a subject of {rule} has used {} of its quota, once a period each.",
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
                "Told when {} % or more of at least {} {of} were refused within {}, once in that time.",
                alert.share_percent.unwrap_or_default(),
                alert.checks_min.unwrap_or_default(),
                window(alert.window_s.unwrap_or_default()),
            )
        }
    }
}

/// Whole numbers in a text such as `80, 90, 100`; one that is none makes all of them worth refusing.
pub fn numbers(text: &str) -> Vec<u32> {
    let parts = text.split(|it: char| it == ',' || it.is_whitespace()).filter(|it| !it.is_empty());
    parts
        .map(|part| part.trim_end_matches('%').parse().ok())
        .collect::<Option<_>>()
        .unwrap_or_default()
}

fn percents(thresholds: &[u32]) -> String {
    let mut words: Vec<String> = thresholds.iter().map(ToString::to_string).collect();
    match words.pop() {
        None => "none".to_owned(),
        Some(last) if words.is_empty() => format!("{last} %"),
        Some(last) => format!("{} or {last} %", words.join(", ")),
    }
}

fn window(window_s: u32) -> String {
    let known = WINDOWS.iter().find(|(known, _)| *known == window_s);
    known.map_or_else(|| format!("{} minutes", window_s / 60), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(kind: AlertKind) -> AlertBody {
        AlertBody {
            name: "a".into(),
            webhook_id: "w".into(),
            enabled: true,
            kind,
            rule_id: None,
            namespace: None,
            thresholds_percent: Some(vec![80, 90, 100]),
            share_percent: Some(20),
            window_s: Some(300),
            checks_min: Some(100),
        }
    }

    #[test]
    fn sentence_says_when_and_how_often() {
        assert_eq!(
            sentence(&alert(AlertKind::Quota), Some("api/monthly")),
            "Told when a subject of api/monthly has used 80, 90 or 100 % of its quota, once a period each."
        );
        let share = alert(AlertKind::DenialShare);
        let text = sentence(&share, None);
        assert_eq!(
            text,
            "Told when 20 % or more of at least 100 checks were refused within 5 minutes, once in that time."
        );
        let namespace = AlertBody { namespace: Some("api".into()), window_s: Some(120), ..share };
        assert!(
            sentence(&namespace, None).contains("100 checks in api were refused within 2 minutes")
        );
    }

    #[test]
    fn numbers_come_in_any_spelling_or_not_at_all() {
        assert_eq!(numbers("80, 90,100%"), [80, 90, 100]);
        assert_eq!(numbers("80% 90%"), [80, 90]);
        assert!(numbers("80, many").is_empty());
        assert!(numbers("").is_empty());
    }
}
