//! Events of PagerDuty's Events API v2. The outbox stores them without the routing key, which is a secret.

use serde_json::{Value, json};
use weir_wire::time::DateTime;

use crate::alerting::notice::{Event, Notice};

/// The most characters of a summary.
const SUMMARY_CHARS_MAX: usize = 1024;

/// The event of a notice.
pub(super) fn body(notice: &Notice) -> Value {
    let severity = match notice.event {
        Event::Test => "info",
        Event::Warning => "warning",
        Event::Error => "error",
        Event::Resolved => return resolve(&notice.dedup_key),
    };
    let summary: String = notice.headline.chars().take(SUMMARY_CHARS_MAX).collect();
    let mut payload = json!({
        "summary": summary,
        "source": format!("weir/{}", notice.tenant_id),
        "severity": severity,
        "timestamp": DateTime(notice.at),
        "custom_details": { "alert": notice.alert, "details": notice.lines },
    });
    let component = notice.rule.as_ref().map(|rule| ("component", rule));
    let group = notice.namespace.as_ref().map(|namespace| ("group", namespace));
    for (field, value) in component.into_iter().chain(group) {
        payload[field] = Value::String(value.clone());
    }
    let mut event = json!({
        "event_action": "trigger",
        "dedup_key": notice.dedup_key,
        "client": "Weir",
        "payload": payload,
    });
    if let Some(link) = &notice.link {
        event["client_url"] = Value::String(link.clone());
        event["links"] = json!([{ "href": link, "text": "Open in Weir" }]);
    }
    event
}

fn resolve(dedup_key: &str) -> Value {
    json!({ "event_action": "resolve", "dedup_key": dedup_key })
}

/// The event that ends the incident of a test; `None` for the end itself.
pub(in crate::alerting) fn end_of_test(payload: &str) -> Option<String> {
    let event: Value = serde_json::from_str(payload).ok()?;
    let is_begin = event["event_action"] == "trigger";
    is_begin.then(|| event["dedup_key"].as_str().map(|key| resolve(key).to_string()))?
}

/// A stored event with the routing key, as it is sent.
pub(in crate::alerting) fn with_key(payload: &str, key: &str) -> Option<String> {
    let mut event: Value = serde_json::from_str(payload).ok()?;
    event.as_object_mut()?.insert("routing_key".to_owned(), Value::String(key.to_owned()));
    Some(event.to_string())
}
