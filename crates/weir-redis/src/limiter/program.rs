//! How Redis runs the program of the limiter: as a function, which is cheaper, or as a script where Redis does not permit
//! functions or does not have them.

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisResult, Value};
use smallvec::{SmallVec, smallvec};
use weir_domain::time::Micros;

use super::in_flight::CallResults;
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

/// Calls that are sent together, with what is sent before them.
#[derive(Debug)]
pub(super) struct Request {
    program: Program,
    /// Whether the request contains the program, because Redis does not have it.
    with_program: bool,
    calls: SmallVec<[Call; 1]>,
}

#[derive(Debug)]
struct Call {
    command: Cmd,
    /// Whether the node to which a slot moves is to serve the call already.
    asking: bool,
}

impl Program {
    /// Builds the call for these callers' checks. Redis possibly does not have the program.
    pub(super) fn call(self, all: &[&Encoded], clock: Option<Micros>, grace_ms: u64) -> Cmd {
        match self {
            Self::Function => script::command("FCALL", &FUNCTION, all, clock, grace_ms),
            Self::Script => script::command("EVALSHA", &script::HASH, all, clock, grace_ms),
        }
    }

    /// The command that loads the program, if it is not a part of the call.
    fn load(self) -> Option<Cmd> {
        match self {
            Self::Function => {
                let mut load = redis::cmd("FUNCTION");
                load.arg("LOAD").arg(LIBRARY.as_str());
                Some(load)
            }
            Self::Script => None,
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

impl Request {
    /// A request without calls. `with_program` is for Redis that does not have the program.
    pub(super) fn new(program: Program, with_program: bool) -> Self {
        Self { program, with_program, calls: SmallVec::new() }
    }

    /// Adds the call for these callers' checks. `asking` means that the node to which the slot of their keys moves is to serve
    /// it already.
    pub(super) fn add(
        &mut self,
        all: &[&Encoded],
        (clock, grace_ms): (Option<Micros>, u64),
        asking: bool,
    ) {
        let command = match self.program {
            // Redis caches the script.
            Program::Script if self.with_program => {
                script::command("EVAL", &SCRIPT, all, clock, grace_ms)
            }
            program => program.call(all, clock, grace_ms),
        };
        self.calls.push(Call { command, asking });
    }

    /// Sends all of it at once. Returns the result of each call.
    pub(super) async fn query_async(self, connection: &mut impl ConnectionLike) -> CallResults {
        let count = self.calls.len();
        if self.with_program
            && let Some(load) = self.program.load()
            && let Err(error) = load.query_async::<Value>(connection).await
            && !was_loaded_meanwhile(&error)
        {
            return smallvec![Err(error); count];
        }
        if let [Call { command, asking: false }] = self.calls.as_slice() {
            return smallvec![command.query_async(connection).await];
        }
        let mut all = Pipeline::with_capacity(count);
        all.ignore_errors();
        for Call { command, asking } in self.calls {
            if asking {
                all.cmd("ASKING").ignore();
            }
            all.add_command(command);
        }
        match all.query_async::<Vec<RedisResult<Value>>>(connection).await {
            Ok(results) => results.into(),
            Err(error) => smallvec![Err(error); count],
        }
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
