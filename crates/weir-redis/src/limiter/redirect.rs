//! Redirections of a cluster: refusals after which a call can be sent again, because nothing of it ran.

use std::time::Duration;

use redis::{Cmd, RedisResult, Value};

use crate::client::ServerAddress;
use crate::error::RedisError;

/// The demand of a cluster to the sender of a call that it refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The slot belongs to another node. `None` if the node is not named.
    Moved(Option<ServerAddress>),
    /// The slot moves, and this key is already at the other node, or new.
    Ask(Option<ServerAddress>),
    /// The slot moves, and only some keys of the call are at this node.
    TryAgain,
    /// This node knows no node that serves the slot.
    Unserved,
}

/// The pause before a call is sent again whose keys are divided while their slot moves. It doubles up to the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(8);

impl Redirect {
    /// Reads a refusal. `host` is the host of the node that refused: a redirection without a host means it.
    pub(super) fn of(error: &RedisError, host: Option<&str>) -> Option<Self> {
        let unserved = error.is_of_unserved_slot();
        let RedisError::Refused(error) = error else { return None };
        let node = error.redirect_node().and_then(|(address, _)| address_of(address, host));
        match error.code()? {
            "MOVED" => Some(Self::Moved(node)),
            "ASK" => Some(Self::Ask(node)),
            "TRYAGAIN" => Some(Self::TryAgain),
            _ => unserved.then_some(Self::Unserved),
        }
    }

    /// Whether the error is a redirection.
    pub(super) fn is(error: &RedisError) -> bool {
        Self::of(error, None).is_some()
    }
}

fn address_of(text: &str, host: Option<&str>) -> Option<ServerAddress> {
    let (named, port) = text.rsplit_once(':')?;
    let host = if named.is_empty() { host? } else { named };
    let port = port.parse().ok()?;
    (host != "?").then(|| ServerAddress { host: host.to_owned(), port })
}

/// The pause before the `attempt`th repetition, from 0.
pub(super) fn pause(attempt: u32) -> Duration {
    PAUSE_FIRST.saturating_mul(1 << attempt.min(8)).min(PAUSE_MAX)
}

/// Sends a call to the node to which its slot moves.
pub(super) async fn query_asking(
    call: Cmd,
    connection: &mut impl redis::aio::ConnectionLike,
) -> RedisResult<Value> {
    let mut both = redis::pipe();
    both.ignore_errors().cmd("ASKING").add_command(call);
    let results: Vec<RedisResult<Value>> = both.query_async(connection).await?;
    results.into_iter().last().unwrap_or_else(|| Ok(Value::Nil))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::from_redis;

    fn of(reply: &str) -> Option<Redirect> {
        Redirect::of(&from_redis(reply), Some("near"))
    }

    fn at(host: &str, port: u16) -> ServerAddress {
        ServerAddress { host: host.to_owned(), port }
    }

    #[test]
    fn redirections_name_a_node() {
        let expected = Some(Redirect::Moved(Some(at("10.0.0.1", 7000))));
        assert_eq!(of("-MOVED 12182 10.0.0.1:7000\r\n"), expected);
        assert_eq!(
            of("-ASK 12182 node.internal:1\r\n"),
            Some(Redirect::Ask(Some(at("node.internal", 1))))
        );
        assert_eq!(
            of("-MOVED 1 2001:db8::1:7000\r\n"),
            Some(Redirect::Moved(Some(at("2001:db8::1", 7000))))
        );
        assert_eq!(of("-MOVED 1 :7000\r\n"), Some(Redirect::Moved(Some(at("near", 7000)))));
        assert_eq!(of("-MOVED 1 ?:7000\r\n"), Some(Redirect::Moved(None)));
        assert_eq!(of("-TRYAGAIN Multiple keys\r\n"), Some(Redirect::TryAgain));
        assert_eq!(of("-CLUSTERDOWN Hash slot not served\r\n"), Some(Redirect::Unserved));
    }

    #[test]
    fn other_refusals_are_no_redirections() {
        for reply in ["-CLUSTERDOWN The cluster is down\r\n", "-OOM full\r\n", "-CROSSSLOT x\r\n"] {
            assert_eq!(of(reply), None, "{reply}");
        }
        assert!(!Redirect::is(&RedisError::Timeout));
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let pauses: Vec<_> = [0, 1, 2, 3, 100].map(|at| pause(at).as_millis()).into();
        assert_eq!(pauses, [2, 4, 8, 8, 8]);
    }
}
