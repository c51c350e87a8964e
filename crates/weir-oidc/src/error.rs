//! The reason why a sign-in at the provider failed.

/// The reason why a sign-in failed. It contains no token and no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// The provider's document or keys could not be read.
    #[error("the provider's configuration could not be read: {0}")]
    Discovery(String),
    /// The provider refused the code, or did not answer.
    #[error("the provider did not exchange the code: {0}")]
    Exchange(String),
    /// The ID token is missing, or its signature or a claim is wrong.
    #[error("the ID token is not valid: {0}")]
    Token(String),
    /// The claims about the person could not be read.
    #[error("the claims about the person could not be read: {0}")]
    UserInfo(String),
    /// The deadline of the whole exchange passed.
    #[error("the provider did not answer in time")]
    TimedOut,
}

/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 200;

/// The texts of an error and its sources, bounded. Some errors contain what a provider sent, so control characters are
/// replaced.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    visible.take(REASON_CHARS_MAX).collect()
}
