//! What can go wrong with Redis, told apart by what the caller can do about it.

use redis::ErrorKind;
use redis::ServerErrorKind as Server;

/// Redis could not be asked, or not understood. One failed call answers many callers: hence `Clone`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RedisError {
    /// No connection: it is away, or was a moment ago and has not been found again.
    #[error("redis is away")]
    Away,
    /// No answer within the budget; the script may have run all the same.
    #[error("redis did not answer within the budget")]
    Timeout,
    /// The connection broke.
    #[error("the connection to redis broke")]
    Broken(#[source] redis::RedisError),
    /// Redis answered with an error: out of memory, busy, read-only, not permitted, bad address.
    #[error("redis refused")]
    Refused(#[source] redis::RedisError),
    /// An answer of a shape the script never makes.
    #[error("redis answered something the script does not say: {0}")]
    BadReply(&'static str),
    /// More checks wait than may wait.
    #[error("too many checks wait for redis")]
    Overloaded,
}

impl RedisError {
    /// What metrics call it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::Timeout => "timeout",
            Self::Broken(_) => "broken",
            Self::Refused(_) => "refused",
            Self::BadReply(_) => "bad_reply",
            Self::Overloaded => "overloaded",
        }
    }

    /// Whether only a new connection, perhaps to another server, can help.
    pub(crate) fn wants_reconnection(&self) -> bool {
        let Self::Refused(error) = self else {
            return matches!(self, Self::Broken(_));
        };
        matches!(
            error.kind(),
            ErrorKind::Server(
                Server::ReadOnly | Server::MasterDown | Server::ClusterDown | Server::BusyLoading
            ) | ErrorKind::AuthenticationFailed
        )
    }
}

impl From<redis::RedisError> for RedisError {
    fn from(error: redis::RedisError) -> Self {
        if error.is_timeout() {
            Self::Timeout
        } else if error.is_io_error() || error.is_connection_dropped() {
            Self::Broken(error)
        } else {
            Self::Refused(error)
        }
    }
}
