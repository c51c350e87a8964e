//! A message in plain text.

use std::fmt;
use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::Mailbox;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use weir_domain::time::Timestamp;

use crate::send_error::SendError;

/// A message to one person. `Debug` shows its id alone.
#[derive(Clone)]
pub struct Mail {
    /// The id, unique in this installation: letters, digits and `_`. It is the same for every attempt, so that a
    /// receiver recognises a repeat.
    pub id: String,
    /// The time at which the message was written.
    pub at: Timestamp,
    /// The address of the recipient.
    pub to: String,
    /// The subject, one line.
    pub subject: String,
    /// The text.
    pub text: String,
}

impl Mail {
    /// The message as it is sent, in MIME.
    pub(crate) fn message(&self, from: &Mailbox) -> Result<Message, SendError> {
        let to = self.to.parse().map_err(|_| SendError::Address)?;
        let written = SystemTime::UNIX_EPOCH + Duration::from_millis(self.at.as_millis_u64());
        Message::builder()
            .from(from.clone())
            .to(Mailbox::new(None, to))
            .subject(self.subject.as_str())
            .date(written)
            .message_id(Some(format!("<{}@{}>", self.id, from.email.domain())))
            // Auto-responders do not answer such a message (RFC 3834).
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .header(ContentType::TEXT_PLAIN)
            .body(self.text.clone())
            .map_err(|_| SendError::Address)
    }
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mail").field("id", &self.id).finish_non_exhaustive()
    }
}
