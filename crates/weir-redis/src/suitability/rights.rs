//! The rights of the user: every command that Weir uses is run once, on keys that expire. `TAG` stands for a hash tag of which
//! the server has the slot.

use std::collections::BTreeSet;

use redis::Value;
use redis::aio::MultiplexedConnection;

use super::report::{Judgement, Report};
use crate::client::Client;
use crate::error::RedisError;

/// The commands, in an order in which each has its key. Those of the planes follow those of checks.
const COMMANDS: &[&str] = &[
    "HSET weir:{TAG}:check-redis:h a 1",
    "HGET weir:{TAG}:check-redis:h a",
    "HMGET weir:{TAG}:check-redis:h a b",
    "HLEN weir:{TAG}:check-redis:h",
    "HRANDFIELD weir:{TAG}:check-redis:h 1",
    "HINCRBY weir:{TAG}:check-redis:h a 1",
    "HDEL weir:{TAG}:check-redis:h b",
    "PEXPIRE weir:{TAG}:check-redis:h 1000",
    "PEXPIREAT weir:{TAG}:check-redis:h 1",
    "RPUSH weir:{TAG}:check-redis:l a b",
    "PEXPIRE weir:{TAG}:check-redis:l 1000",
    "LINDEX weir:{TAG}:check-redis:l 0",
    "LLEN weir:{TAG}:check-redis:l",
    "LRANGE weir:{TAG}:check-redis:l 0 1",
    "LSET weir:{TAG}:check-redis:l 0 c",
    "LTRIM weir:{TAG}:check-redis:l 0 0",
    "ZADD weir:{TAG}:check-redis:z 1 a",
    "ZSCORE weir:{TAG}:check-redis:z a",
    "PEXPIRE weir:{TAG}:check-redis:z 1000",
    "ZCOUNT weir:{TAG}:check-redis:z 0 1",
    "ZRANGEBYSCORE weir:{TAG}:check-redis:z 0 1",
    "ZRANGE weir:{TAG}:check-redis:z 0 1",
    "ZCARD weir:{TAG}:check-redis:z",
    "ZLEXCOUNT weir:{TAG}:check-redis:z - +",
    "ZREVRANK weir:{TAG}:check-redis:z a",
    "ZREM weir:{TAG}:check-redis:z a",
    "ZREMRANGEBYSCORE weir:{TAG}:check-redis:z 0 1",
    "SET weir:{TAG}:check-redis:s 1 PX 1000",
    "GET weir:{TAG}:check-redis:s",
    "PTTL weir:{TAG}:check-redis:s",
    "PUBLISH weir:signal:check 1",
    "MEMORY USAGE weir:{TAG}:check-redis:l",
    "DEL weir:{TAG}:check-redis:s",
    "UNLINK weir:{TAG}:check-redis:l weir:{TAG}:check-redis:h",
    "EVAL return(1) 0",
    "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
    "DBSIZE",
    "RANDOMKEY",
];

/// Those that only a cluster needs.
const CLUSTER_COMMANDS: &[&str] = &["ROLE", "CLUSTER SLOTS", "CLUSTER INFO", "ASKING"];

pub(super) async fn inspect(
    client: &Client,
    connection: &mut MultiplexedConnection,
    tag: &str,
    report: &mut Report,
) -> Result<(), RedisError> {
    let mut missing = BTreeSet::new();
    let of_cluster = if client.is_cluster() { CLUSTER_COMMANDS } else { &[] };
    for text in COMMANDS.iter().chain(of_cluster) {
        let text = &text.replace("TAG", tag);
        let mut words = text.split(' ');
        let mut command = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| _ = command.arg(word));
        if let Err(error) = command.query_async::<Value>(connection).await {
            match right(&error, text) {
                Some(right) => _ = missing.insert(right),
                // A replica, or a key that has just expired.
                None if error.is_io_error() || error.is_timeout() => return Err(error.into()),
                None => {}
            }
        }
    }
    if let Err(RedisError::Refused(error)) = subscribe(client).await
        && let Some(right) = right(&error, "SUBSCRIBE")
    {
        missing.insert(right);
    }
    if missing.is_empty() {
        report.add(Judgement::Good, "permissions", "all that Weir needs");
    } else {
        let rights: Vec<_> = missing.into_iter().collect();
        report.add(Judgement::Bad, "permissions", format!("missing: {}", rights.join(" ")));
    }
    Ok(())
}

async fn subscribe(client: &Client) -> Result<(), RedisError> {
    let mut subscription = client.subscribe().await?.0;
    subscription.subscribe("weir:signal:check").await?;
    Ok(())
}

/// The right that is missing, as `ACL SETUSER` takes it.
fn right(error: &redis::RedisError, command: &str) -> Option<String> {
    if error.code() != Some("NOPERM") {
        return None;
    }
    let detail = error.detail().unwrap_or_default();
    // Redis names the command only if the command itself is the reason.
    if !detail.contains("run the") {
        let channel = detail.contains("channel");
        return Some(if channel { "&weir:signal:*" } else { "~weir:*" }.to_owned());
    }
    let mut words = command.split(' ').map(str::to_ascii_lowercase);
    let name = words.next().unwrap_or_default();
    let sub = words
        .next()
        .filter(|_| matches!(name.as_str(), "memory" | "cluster"))
        .map(|sub| format!("|{sub}"));
    Some(format!("+{name}{}", sub.unwrap_or_default()))
}
