//! The JSON of Slack's incoming webhooks. `text` says everything, for receivers that ignore `blocks`.

use serde_json::{Value, json};

use crate::alerting::notice::{Event, Notice};

/// The body of a notice whose texts are mark-up of Slack.
pub(super) fn body(notice: &Notice) -> Value {
    let title = match notice.event {
        Event::Test => "Test",
        Event::Warning | Event::Error => "Alert",
        Event::Resolved => "Resolved",
    };
    let title = match &notice.alert {
        Some(alert) => format!("{title} {alert}"),
        None => title.to_owned(),
    };
    let link = notice.link.as_ref().map(|link| format!("<{link}|Open in Weir>"));
    let headline = format!("*{title}*: {}", notice.headline);
    let all: Vec<_> = [&headline].into_iter().chain(&notice.lines).chain(&link).cloned().collect();
    let mut blocks = vec![section(&headline)];
    if !notice.lines.is_empty() {
        blocks.push(section(&notice.lines.join("\n")));
    }
    if let Some(link) = &link {
        let element = json!({ "type": "mrkdwn", "text": link });
        blocks.push(json!({ "type": "context", "elements": [element] }));
    }
    json!({ "text": all.join("\n"), "blocks": blocks })
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}
