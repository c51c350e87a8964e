//! E-mail about alerts. The outbox stores a message as JSON: the recipient, the subject and the text.

use serde_json::{Value, json};
use weir_domain::time::Timestamp;
use weir_mail::Mail;

use crate::alerting::notice::{Event, Notice};

/// The message of a notice to one recipient.
pub(super) fn body(notice: &Notice, to: &str) -> Value {
    let prefix = match notice.event {
        Event::Test => "Weir test",
        Event::Warning | Event::Error => "Weir alert",
        Event::Resolved => "Weir resolved",
    };
    let mut text = match &notice.alert {
        Some(alert) => format!("Weir sends you the messages of the alert {alert}.\r\n\r\n"),
        None => "Weir sends you a message.\r\n\r\n".to_owned(),
    };
    text.extend([&notice.headline, ".\r\n"]);
    if !notice.lines.is_empty() {
        text += "\r\n";
    }
    for line in &notice.lines {
        text.extend(["  ", line, "\r\n"]);
    }
    if let Some(link) = &notice.link {
        text.extend(["\r\nOpen it in Weir: ", link, "\r\n"]);
    }
    text += "\r\nAdmins of the tenant choose who gets these messages, on the page Alerts.\r\n";
    json!({ "to": to, "subject": format!("{prefix}: {}", notice.headline), "text": text })
}

/// The message of a stored delivery.
pub(in crate::alerting) fn mail_of(id: String, payload: &str, at: Timestamp) -> Option<Mail> {
    let stored: Value = serde_json::from_str(payload).ok()?;
    let text = |field: &str| stored[field].as_str().map(str::to_owned);
    Some(Mail { id, at, to: text("to")?, subject: text("subject")?, text: text("text")? })
}
