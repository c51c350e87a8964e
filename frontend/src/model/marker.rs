//! Events on the time axis of a chart.

use weir_wire::stats::{Event, EventKind};

use crate::model::subject::label;

/// An event at a point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    pub at_ms: i64,
    /// The end of an outage.
    pub until_ms: Option<i64>,
    pub kind: MarkerKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerKind {
    /// A rule, an override or a setting changed.
    Change,
    /// An alert fired.
    Alert,
    /// Redis was unavailable or slow.
    Outage,
}

/// Markers that are too close to each other to be drawn apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerGroup {
    /// The position of the first.
    pub place: u64,
    pub kind: MarkerKind,
    pub markers: Vec<Marker>,
}

impl MarkerGroup {
    /// The text of the flag.
    pub fn label(&self) -> String {
        match self.markers.as_slice() {
            [only] => only.text.clone(),
            several => format!("{} events: {}", several.len(), texts(several)),
        }
    }
}

impl Marker {
    /// The marker of an event of the API.
    pub fn of(event: &Event) -> Self {
        let at_ms = event.at.0.as_millis();
        let title = match event.kind {
            EventKind::Alert => format!("Alert {}", event.alert.as_deref().unwrap_or_default()),
            EventKind::RedisSlow => "Redis slow".to_owned(),
            EventKind::RedisOutage if event.step_ms > Some(STEP_MS) => "Without Redis".to_owned(),
            EventKind::RedisOutage => "Redis unavailable".to_owned(),
            EventKind::RuleChange | EventKind::OverrideChange | EventKind::Enforcement => {
                change_title(event)
            }
        };
        let kind = match event.kind {
            EventKind::Alert => MarkerKind::Alert,
            EventKind::RedisOutage | EventKind::RedisSlow => MarkerKind::Outage,
            _ => MarkerKind::Change,
        };
        let part = |start: &str, text: Option<&String>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(|text| format!("{start}{text}")).unwrap_or_default()
        };
        let (summary, actor) = (event.summary.as_ref(), event.actor.as_ref());
        let text = title + &part(": ", summary) + &part(", by ", actor);
        let until = event.until.filter(|_| event.kind == EventKind::RedisOutage);
        Self { at_ms, until_ms: until.map(|until| until.0.as_millis()), kind, text }
    }
}

/// The steps in which the API looks for outages.
const STEP_MS: u64 = 10_000;

/// The events to list: outages and changes of rules before others, each in the order of the API.
pub fn pinned_first(events: &[Event]) -> Vec<&Event> {
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_key(|event| {
        matches!(event.kind, EventKind::Alert | EventKind::OverrideChange | EventKind::RedisSlow)
    });
    events
}

/// `Changed rule login`.
pub fn change_title(event: &Event) -> String {
    let rule = event.rule.as_deref();
    let verb = match event.action.as_deref().and_then(|action| action.split('.').nth(1)) {
        Some("create") => "Created",
        Some("delete") => "Deleted",
        Some("revert") => "Reverted",
        Some("bulk") => "Imported",
        _ => "Changed",
    };
    let of = |rule: &str| match &event.subject {
        Some(subject) => format!("{verb} override of {rule} for {}", label(subject)),
        None => format!("{verb} overrides of {rule}"),
    };
    match (event.kind, rule) {
        (EventKind::RuleChange, rule) => format!("{verb} rule {}", rule.unwrap_or_default()),
        (EventKind::OverrideChange, Some(rule)) => of(rule),
        (EventKind::OverrideChange, None) => format!("{verb} overrides"),
        _ => "Turned limits on or off".to_owned(),
    }
}

/// Joins markers of a kind whose positions differ by less than `apart`. Markers without a position are left out.
pub fn grouped(
    markers: &[Marker],
    apart: u64,
    place: impl Fn(i64) -> Option<u64>,
) -> Vec<MarkerGroup> {
    let mut markers: Vec<_> = markers.iter().collect();
    markers.sort_by_key(|marker| marker.at_ms);
    let mut groups: Vec<MarkerGroup> = Vec::new();
    for marker in markers {
        let Some(place) = place(marker.at_ms) else { continue };
        match groups.iter_mut().rfind(|group| group.kind == marker.kind) {
            Some(group) if place - group.place < apart => group.markers.push(marker.clone()),
            _ => {
                groups.push(MarkerGroup {
                    place,
                    kind: marker.kind,
                    markers: vec![marker.clone()],
                });
            }
        }
    }
    groups
}

fn texts(markers: &[Marker]) -> String {
    let shown = markers.iter().take(SHOWN_MAX).map(|marker| marker.text.as_str());
    let more = markers.len().saturating_sub(SHOWN_MAX);
    let shown = shown.collect::<Vec<_>>().join("; ");
    if more == 0 { shown } else { format!("{shown}; and {more} more") }
}

/// The most events that a flag names.
const SHOWN_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn marker(at_ms: i64, kind: MarkerKind) -> Marker {
        Marker { at_ms, until_ms: None, kind, text: format!("event {at_ms}") }
    }

    #[test]
    fn close_markers_of_a_kind_share_a_flag() {
        let markers = [30, 10, 12, 99].map(|at| marker(at, MarkerKind::Change));
        let alert = marker(13, MarkerKind::Alert);
        let all = markers.into_iter().chain([alert]).collect();
        let place = |at_ms: i64| u64::try_from(at_ms).ok().filter(|at| *at < 90);
        let all: Vec<_> = all;
        let groups = grouped(&all, 10, place);
        let shown: Vec<_> =
            groups.iter().map(|group| (group.place, group.kind, group.markers.len())).collect();
        let (change, alert) = (MarkerKind::Change, MarkerKind::Alert);
        assert_eq!(
            shown,
            [(10, change, 2), (13, alert, 1), (30, change, 1)],
            "a lane for each kind"
        );
        assert_eq!(groups[0].label(), "2 events: event 10; event 12");
        assert_eq!(groups[1].label(), "event 13");
    }

    fn event(kind: &str, fields: serde_json::Value) -> Event {
        let mut event = json!({ "kind": kind, "at": "1970-01-01T00:00:02Z" });
        let serde_json::Value::Object(fields) = fields else { panic!("fields") };
        event.as_object_mut().expect("an object").extend(fields);
        serde_json::from_value(event).expect("an event")
    }

    #[test]
    fn events_become_markers() {
        let of = |kind: &str, fields: serde_json::Value| {
            let marker = Marker::of(&event(kind, fields));
            assert_eq!(marker.at_ms, 2_000);
            (marker.kind, marker.text)
        };
        let change = |text: &str| (MarkerKind::Change, text.to_owned());
        let rule = json!({
            "action": "rule.update", "rule": "login", "actor": "ada@example.com", "summary": "burst 40 → 15",
        });
        let text = "Changed rule login: burst 40 → 15, by ada@example.com";
        assert_eq!(of("rule_change", rule), change(text));
        let revert = json!({"action": "rule.revert", "rule": "login"});
        assert_eq!(of("rule_change", revert), change("Reverted rule login"));
        let exception = json!({
            "action": "override.create", "rule": "login", "subject": {"user": "u-1"}, "summary": "always allowed",
        });
        let text = "Created override of login for user u-1: always allowed";
        assert_eq!(of("override_change", exception), change(text));
        let many = json!({"action": "override.bulk", "actor": "key deploys"});
        assert_eq!(of("override_change", many), change("Imported overrides, by key deploys"));
        let switch = json!({"action": "tenant.enforcement"});
        assert_eq!(of("enforcement", switch), change("Turned limits on or off"));
        let fired =
            json!({"alert": "night", "summary": "7 subjects, last customer globex at 100%"});
        let text = "Alert night: 7 subjects, last customer globex at 100%".to_owned();
        assert_eq!(of("alert", fired), (MarkerKind::Alert, text));
    }

    #[test]
    fn only_an_outage_is_called_one_and_has_an_end() {
        let of = |kind: &str, step_ms: u64| {
            let fields =
                json!({ "until": "1970-01-01T00:00:09Z", "step_ms": step_ms, "summary": "…" });
            let marker = Marker::of(&event(kind, fields));
            (marker.until_ms, marker.text)
        };
        assert_eq!(of("redis_outage", 10_000), (Some(9_000), "Redis unavailable: …".to_owned()));
        assert_eq!(of("redis_outage", 60_000), (Some(9_000), "Without Redis: …".to_owned()));
        assert_eq!(of("redis_slow", 10_000), (None, "Redis slow: …".to_owned()));
    }

    #[test]
    fn outages_and_changes_of_rules_are_listed_before_any_number_of_alerts() {
        let mut events: Vec<Event> = (0..300).map(|_| event("alert", json!({}))).collect();
        events.push(event("redis_outage", json!({})));
        events.push(event("override_change", json!({})));
        events.push(event("rule_change", json!({})));
        let first: Vec<_> = pinned_first(&events)[..3].iter().map(|event| event.kind).collect();
        assert_eq!(first, [EventKind::RedisOutage, EventKind::RuleChange, EventKind::Alert]);
    }
}
