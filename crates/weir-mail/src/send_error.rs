//! The reason why an attempt to send a message failed.

/// The reason why an attempt failed. It contains no text of the server, which could repeat what was sent to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The server refused the message or the credentials for good. It is not sent again.
    #[error("the server refused it with {0}")]
    Refused(String),
    /// The server cannot take the message now.
    #[error("the server cannot take it now: {0}")]
    Deferred(String),
    /// The server could not be reached, or does not offer what is needed.
    #[error("{0}")]
    Connection(String),
    /// The deadline of the attempt passed.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The address cannot be written in a message.
    #[error("the address of the recipient cannot be used in e-mail")]
    Address,
}

/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 200;

impl SendError {
    pub(crate) fn of(error: &lettre::transport::smtp::Error) -> Self {
        match error.status() {
            Some(code) if error.is_permanent() => Self::Refused(code.to_string()),
            Some(code) => Self::Deferred(code.to_string()),
            // The text of a malformed answer comes from the server.
            None if error.is_response() => {
                Self::Connection("the server does not speak SMTP".to_owned())
            }
            None => Self::Connection(error.to_string().chars().take(REASON_CHARS_MAX).collect()),
        }
    }

    /// Whether a later attempt can succeed.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Deferred(_) | Self::Connection(_) | Self::TimedOut)
    }
}
