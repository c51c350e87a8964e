//! How Redis runs the program of the limiter: as a function, which is cheaper, or as a script where Redis does not permit
//! functions or does not have them.

use redis::aio::ConnectionLike;
use redis::{Cmd, RedisResult, Value};
use weir_domain::time::Micros;

use super::redirect::query_asking;
use super::script::{self, Encoded};
use super::source::{FUNCTION, LIBRARY, SCRIPT};
use crate::error::RedisError;

/// The way in which Redis runs the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Program {
    #[default]
    Function,
    Script,
}

/// A call, with what is sent before it.
#[derive(Debug)]
pub(super) struct Request {
    /// Loads the function.
    load: Option<Cmd>,
    /// Whether the node to which a slot moves is to serve the call already.
    asking: bool,
    call: Cmd,
}

impl Program {
    /// Builds the call for these callers' checks. Redis possibly does not have the program.
    pub(super) fn call(self, all: &[&Encoded], clock: Option<Micros>, grace_ms: u64) -> Cmd {
        match self {
            Self::Function => script::command("FCALL", &FUNCTION, all, clock, grace_ms),
            Self::Script => script::command("EVALSHA", &script::HASH, all, clock, grace_ms),
        }
    }

    /// Builds the call with the program, for Redis that does not have it.
    pub(super) fn load_and_call(
        self,
        all: &[&Encoded],
        clock: Option<Micros>,
        grace_ms: u64,
    ) -> Request {
        match self {
            Self::Function => {
                let mut load = redis::cmd("FUNCTION");
                load.arg("LOAD").arg(LIBRARY.as_str());
                Request { load: Some(load), ..Request::from(self.call(all, clock, grace_ms)) }
            }
            Self::Script => {
                // Redis caches the script.
                let call = script::command("EVAL", &SCRIPT, all, clock, grace_ms);
                Request::from(call)
            }
        }
    }

    /// The other way.
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Function => Self::Script,
            Self::Script => Self::Function,
        }
    }
}

impl From<Cmd> for Request {
    fn from(call: Cmd) -> Self {
        Self { load: None, asking: false, call }
    }
}

impl Request {
    /// The same, for the node to which the slot of its keys moves.
    pub(super) fn asking(self) -> Self {
        Self { asking: true, ..self }
    }

    /// Sends all of it. The reply is that of the call.
    pub(super) async fn query_async(
        self,
        connection: &mut impl ConnectionLike,
    ) -> RedisResult<Value> {
        if let Some(load) = self.load
            && let Err(error) = load.query_async::<Value>(connection).await
            && !was_loaded_meanwhile(&error)
        {
            return Err(error);
        }
        if self.asking {
            return query_asking(self.call, connection).await;
        }
        self.call.query_async(connection).await
    }
}

/// Whether Redis does not have the program. It then ran nothing.
pub(super) fn is_unknown(error: &RedisError) -> bool {
    let RedisError::Refused(error) = error else { return false };
    error.code() == Some("NOSCRIPT") || error.detail() == Some("Function not found")
}

/// Whether Redis would refuse the program each time, so that the other way is worth an attempt.
pub(super) fn is_not_permitted(error: &RedisError) -> bool {
    matches!(error, RedisError::Refused(_)) && matches!(error.label(), "noperm" | "refused")
}

/// Another gate can load the same library at the same time.
fn was_loaded_meanwhile(error: &redis::RedisError) -> bool {
    error.detail().is_some_and(|detail| detail.ends_with("already exists"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::from_redis;

    #[test]
    fn errors_without_the_program_are_distinguished_from_refusals() {
        for reply in ["-NOSCRIPT No matching script.\r\n", "-ERR Function not found\r\n"] {
            assert!(is_unknown(&from_redis(reply)), "{reply}");
        }
        for reply in ["-ERR unknown command 'FCALL'\r\n", "-NOPERM no permissions\r\n"] {
            let error = from_redis(reply);
            assert!(!is_unknown(&error) && is_not_permitted(&error), "{reply}");
        }
        for reply in ["-OOM full\r\n", "-READONLY a replica\r\n", "-LOADING wait\r\n"] {
            let error = from_redis(reply);
            assert!(!is_unknown(&error) && !is_not_permitted(&error), "{reply}");
        }
    }
}
