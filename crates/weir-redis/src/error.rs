//! The errors of Redis calls, distinguished by the reactions that they permit.

use std::error::Error as _;

use redis::ErrorKind;
use redis::ServerErrorKind as Server;

/// The reason why Redis did not decide a check. One failed call answers many callers, hence `Clone`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RedisError {
    /// There is no connection. Nothing was sent.
    #[error("redis is unreachable")]
    Away,
    /// No answer arrived within the budget. The check was possibly decided, unless its call was never sent.
    #[error("redis did not answer in time")]
    Timeout,
    /// The connection broke. The check was possibly decided.
    #[error("lost the connection to redis")]
    Broken(#[source] redis::RedisError),
    /// The server is a replica, or the Sentinels name another primary. Nothing was sent.
    #[error("this redis server is not the primary")]
    NotPrimary,
    /// Redis answered with an error: out of memory, busy, read-only, not permitted, bad address.
    #[error("redis returned an error ({})", refusal(.0))]
    Refused(#[source] redis::RedisError),
    /// The answer has a shape that the script never makes.
    #[error("redis sent a malformed reply: {0}")]
    BadReply(&'static str),
    /// The tenant's part of the queue is full. Nothing was sent.
    #[error("the tenant's share of the redis queue is full")]
    Overloaded,
    /// The window of the returned units is over, or the periods of a quota hold at no time. Nothing changed.
    #[error("the window has ended")]
    WindowOver,
}

/// The labels of refusals in metrics, by the code at the beginning of Redis' error.
const REFUSALS: [(&str, &str); 15] = [
    ("OOM", "oom"),
    ("READONLY", "readonly"),
    ("BUSY", "busy"),
    ("MOVED", "moved"),
    ("ASK", "ask"),
    ("TRYAGAIN", "tryagain"),
    ("CROSSSLOT", "crossslot"),
    ("CLUSTERDOWN", "clusterdown"),
    ("MASTERDOWN", "masterdown"),
    ("LOADING", "loading"),
    ("MISCONF", "misconf"),
    ("NOREPLICAS", "noreplicas"),
    ("NOPERM", "noperm"),
    ("NOAUTH", "noauth"),
    ("WRONGTYPE", "wrongtype"),
];

impl RedisError {
    /// The labels of the errors that a check can have. Checks that wait while the primary is sought are `away`, so
    /// `not_primary` stands in logs alone.
    pub fn labels() -> impl Iterator<Item = &'static str> {
        const OTHERS: [&str; 7] =
            ["away", "timeout", "broken", "refused", "bad_reply", "overloaded", "window_over"];
        OTHERS.into_iter().chain(REFUSALS.map(|(_, label)| label))
    }

    /// The label in metrics and logs. A refusal is labelled by its reason, or `refused` if the reason is unknown.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::NotPrimary => "not_primary",
            Self::Timeout => "timeout",
            Self::Broken(_) => "broken",
            Self::Refused(error) => refusal(error),
            Self::BadReply(_) => "bad_reply",
            Self::Overloaded => "overloaded",
            Self::WindowOver => "window_over",
        }
    }

    /// The message of the library or of Redis, for logs.
    pub(crate) fn cause(&self) -> String {
        self.source().map_or_else(|| self.to_string(), ToString::to_string)
    }

    /// Whether Redis certainly did not run the check: it was not sent, or this server runs no check at present.
    pub fn was_not_run(&self) -> bool {
        const RUNS_NONE: [&str; 6] =
            ["loading", "masterdown", "clusterdown", "noauth", "readonly", "noreplicas"];
        match self {
            Self::Away | Self::NotPrimary | Self::Overloaded | Self::WindowOver => true,
            Self::Refused(error) => RUNS_NONE.contains(&refusal(error)),
            Self::Timeout | Self::Broken(_) | Self::BadReply(_) => false,
        }
    }

    /// Whether a node of a cluster serves, but knows no node that serves the slot of the keys.
    pub(crate) fn is_of_unserved_slot(&self) -> bool {
        let Self::Refused(error) = self else { return false };
        error.code() == Some("CLUSTERDOWN") && error.detail() == Some("Hash slot not served")
    }

    /// Whether only a new connection, perhaps to another server, can help.
    pub(crate) fn wants_reconnection(&self) -> bool {
        let Self::Refused(error) = self else {
            return matches!(self, Self::Broken(_) | Self::NotPrimary);
        };
        !self.is_of_unserved_slot()
            && matches!(
                error.kind(),
                ErrorKind::Server(
                    Server::ReadOnly
                        | Server::MasterDown
                        | Server::ClusterDown
                        | Server::BusyLoading
                ) | ErrorKind::AuthenticationFailed
            )
    }
}

fn refusal(error: &redis::RedisError) -> &'static str {
    if error.kind() == ErrorKind::AuthenticationFailed {
        return "noauth";
    }
    let code = error.code().unwrap_or_default();
    REFUSALS.iter().find(|(known, _)| *known == code).map_or("refused", |(_, label)| label)
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The error of a reply in Redis' protocol.
    pub(crate) fn from_redis(reply: &str) -> RedisError {
        let parsed =
            redis::parse_redis_value(reply.as_bytes()).and_then(redis::Value::extract_error);
        parsed.expect_err("an error").into()
    }

    #[test]
    fn refusal_is_named_by_its_reason() {
        for (code, label) in REFUSALS {
            let error = from_redis(&format!("-{code} some reason\r\n"));
            assert!(matches!(error, RedisError::Refused(_)), "{code}: {error:?}");
            assert_eq!(error.label(), label);
            assert!(error.to_string().contains(label), "{error}");
        }
        assert_eq!(from_redis("-ERR unknown command\r\n").label(), "refused");
        assert_eq!(from_redis("-SOMETHING else\r\n").label(), "refused");
    }

    #[test]
    fn check_was_certainly_not_run_by_a_server_that_runs_none() {
        for code in ["LOADING", "READONLY", "CLUSTERDOWN", "NOREPLICAS"] {
            assert!(from_redis(&format!("-{code} some reason\r\n")).was_not_run(), "{code}");
        }
        assert!(RedisError::Away.was_not_run());
        assert!(!from_redis("-ERR some reason\r\n").was_not_run());
        assert!(!RedisError::Timeout.was_not_run());
    }

    #[test]
    fn every_label_is_listed_once() {
        let labels: Vec<_> = RedisError::labels().collect();
        let distinct: std::collections::BTreeSet<_> = labels.iter().collect();
        assert_eq!(labels.len(), distinct.len());
        assert!(distinct.contains(&"refused") && distinct.contains(&"oom"));
        assert!(!distinct.contains(&"not_primary"), "no check ever has it");
    }
}
