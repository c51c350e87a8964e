//! Events on the time axis of a chart.

use weir_wire::stats::{Event, EventKind};

use crate::model::number::grouped as digits;

/// An event at a point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    pub at_ms: i64,
    pub kind: MarkerKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkerKind {
    /// A rule, an override or a setting changed.
    Change,
    /// An alert fired.
    Alert,
    /// Redis was unavailable.
    Outage,
}

/// Markers that are too close to each other to be drawn apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerGroup {
    /// The position of the first.
    pub place: u64,
    /// The most urgent kind.
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
        let (kind, text) = match event.kind {
            EventKind::Alert => (MarkerKind::Alert, alert_text(event)),
            EventKind::RedisOutage => (MarkerKind::Outage, outage_text(event)),
            EventKind::RuleChange | EventKind::OverrideChange | EventKind::Enforcement => {
                (MarkerKind::Change, change_text(event))
            }
        };
        Self { at_ms, kind, text }
    }
}

fn alert_text(event: &Event) -> String {
    format!("Alert {} fired", event.alert.as_deref().unwrap_or_default())
}

fn outage_text(event: &Event) -> String {
    let checks = event.checks.unwrap_or(0);
    format!("Redis unavailable: {} checks decided without it", digits(checks))
}

/// `Changed rule login, by ada@example.com`.
fn change_text(event: &Event) -> String {
    let rule = event.rule.as_deref();
    let verb = match event.action.as_deref().and_then(|action| action.split('.').nth(1)) {
        Some("create") => "Created",
        Some("delete") => "Deleted",
        Some("revert") => "Reverted",
        Some("bulk") => "Imported",
        _ => "Changed",
    };
    let what = match (event.kind, rule) {
        (EventKind::RuleChange, rule) => format!("{verb} rule {}", rule.unwrap_or_default()),
        (EventKind::OverrideChange, Some(rule)) => format!("{verb} override of {rule}"),
        (EventKind::OverrideChange, None) => format!("{verb} overrides"),
        _ => "Turned limits on or off".to_owned(),
    };
    match event.actor.as_deref() {
        Some(actor) if !actor.is_empty() => format!("{what}, by {actor}"),
        _ => what,
    }
}

/// Joins markers whose positions differ by less than `apart`. Markers without a position are left out.
pub fn grouped(
    mut markers: Vec<Marker>,
    apart: u64,
    place: impl Fn(i64) -> Option<u64>,
) -> Vec<MarkerGroup> {
    markers.sort_by_key(|marker| marker.at_ms);
    let mut groups: Vec<MarkerGroup> = Vec::new();
    for marker in markers {
        let Some(place) = place(marker.at_ms) else { continue };
        match groups.last_mut() {
            Some(group) if place - group.place < apart => {
                group.kind = group.kind.max(marker.kind);
                group.markers.push(marker);
            }
            _ => groups.push(MarkerGroup { place, kind: marker.kind, markers: vec![marker] }),
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
        Marker { at_ms, kind, text: format!("event {at_ms}") }
    }

    #[test]
    fn close_markers_share_a_flag() {
        let markers = [30, 10, 12, 99].map(|at| marker(at, MarkerKind::Change));
        let alert = marker(13, MarkerKind::Alert);
        let all = markers.into_iter().chain([alert]).collect();
        let place = |at_ms: i64| u64::try_from(at_ms).ok().filter(|at| *at < 90);
        let groups = grouped(all, 10, place);
        let shown: Vec<_> =
            groups.iter().map(|group| (group.place, group.kind, group.markers.len())).collect();
        assert_eq!(shown, [(10, MarkerKind::Alert, 3), (30, MarkerKind::Change, 1)]);
        assert_eq!(groups[0].label(), "3 events: event 10; event 12; event 13");
        assert_eq!(groups[1].label(), "event 30");
    }

    #[test]
    fn events_become_markers() {
        let of = |kind: &str, fields: serde_json::Value| {
            let mut event = json!({
                "kind": kind, "at": "1970-01-01T00:00:02Z", "until": null, "action": null, "actor": null,
                "rule_id": null, "rule": null, "namespace": null, "alert": null, "checks": null
            });
            for (name, value) in fields.as_object().expect("fields") {
                event[name] = value.clone();
            }
            let event: Event = serde_json::from_value(event).expect("an event");
            let marker = Marker::of(&event);
            assert_eq!(marker.at_ms, 2_000);
            (marker.kind, marker.text)
        };
        let change = |text: &str| (MarkerKind::Change, text.to_owned());
        let rule = json!({"action": "rule.update", "rule": "login", "actor": "ada@example.com"});
        assert_eq!(of("rule_change", rule), change("Changed rule login, by ada@example.com"));
        let revert = json!({"action": "rule.revert", "rule": "login"});
        assert_eq!(of("rule_change", revert), change("Reverted rule login"));
        let exception = json!({"action": "override.create", "rule": "login"});
        assert_eq!(of("override_change", exception), change("Created override of login"));
        let many = json!({"action": "override.bulk", "actor": "key deploys"});
        assert_eq!(of("override_change", many), change("Imported overrides, by key deploys"));
        let switch = json!({"action": "tenant.enforcement"});
        assert_eq!(of("enforcement", switch), change("Turned limits on or off"));
        let fired = (MarkerKind::Alert, "Alert night fired".to_owned());
        assert_eq!(of("alert", json!({"alert": "night"})), fired);
        let away = "Redis unavailable: 1,204 checks decided without it".to_owned();
        assert_eq!(of("redis_outage", json!({"checks": 1204})), (MarkerKind::Outage, away));
    }
}
