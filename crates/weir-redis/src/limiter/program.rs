//! The request of calls, which contains the library of the limiter if Redis does not have it.

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisResult, Value};
use smallvec::{SmallVec, smallvec};
use weir_domain::time::Micros;

use super::in_flight::CallResults;
use super::script::{self, Encoded};
use super::source::LIBRARY;
use crate::error::RedisError;

/// Calls that are sent together, with what is sent before them.
#[derive(Debug)]
pub(super) struct Request {
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

impl Request {
    /// A request without calls. `with_program` is for Redis that does not have the program.
    pub(super) fn new(with_program: bool) -> Self {
        Self { with_program, calls: SmallVec::new() }
    }

    /// Adds the call for these callers' checks. `asking` means that the node to which the slot of their keys moves is to serve
    /// it already.
    pub(super) fn add(
        &mut self,
        all: &[&Encoded],
        (clock, grace_ms): (Option<Micros>, u64),
        asking: bool,
    ) {
        self.calls.push(Call { command: script::command(all, clock, grace_ms), asking });
    }

    /// Sends all of it at once. Returns the result of each call.
    pub(super) async fn query_async(self, connection: &mut impl ConnectionLike) -> CallResults {
        let count = self.calls.len();
        if self.with_program
            && let Err(error) = load(connection).await
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

async fn load(connection: &mut impl ConnectionLike) -> RedisResult<()> {
    redis::cmd("FUNCTION").arg("LOAD").arg(LIBRARY.as_str()).query_async(connection).await
}

/// Whether Redis does not have the program. It then ran nothing.
pub(super) fn is_unknown(error: &RedisError) -> bool {
    let RedisError::Refused(error) = error else { return false };
    error.detail() == Some("Function not found")
}

/// The need of the limiter for which Redis would refuse each call: functions, or the rights to use them.
pub(crate) fn missing(error: &RedisError) -> Option<&'static str> {
    let RedisError::Refused(refused) = error else { return None };
    let is_unknown_command =
        refused.detail().is_some_and(|detail| detail.contains("unknown command"));
    if error.label() == "noperm" {
        Some("its user needs the rights +fcall and +function|load")
    } else {
        is_unknown_command.then_some("Weir needs Redis 7.0 or newer, or Valkey")
    }
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
    fn lost_library_is_distinguished_from_refusals_which_name_what_is_needed() {
        let lost = from_redis("-ERR Function not found\r\n");
        assert!(is_unknown(&lost));
        for (reply, needed) in [
            ("-ERR unknown command 'FCALL'\r\n", Some("7.0")),
            ("-NOPERM no permissions\r\n", Some("+fcall and +function|load")),
            ("-ERR max number of clients reached\r\n", None),
            ("-OOM full\r\n", None),
            ("-READONLY a replica\r\n", None),
            ("-LOADING wait\r\n", None),
        ] {
            let error = from_redis(reply);
            assert!(!is_unknown(&error), "{reply}");
            let missing = missing(&error);
            assert_eq!(missing.is_some(), needed.is_some(), "{reply}");
            assert!(missing.unwrap_or_default().contains(needed.unwrap_or_default()), "{reply}");
        }
    }
}
