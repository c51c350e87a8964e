//! The server: engine, memory, persistence, replicas, and what a failover can lose.

use std::collections::HashMap;

use redis::aio::MultiplexedConnection;

use super::report::{Judgement, Report};
use crate::error::RedisError;

/// The oldest version of the Redis interface that has what the limiter needs.
const VERSION_MIN: (u32, u32) = (7, 0);

pub(super) async fn inspect(
    connection: &mut MultiplexedConnection,
    report: &mut Report,
) -> Result<(), RedisError> {
    engine(&info(connection, "server").await?, report);
    memory(&info(connection, "memory").await?, report);
    persistence(&info(connection, "persistence").await?, report);
    replicas(&info(connection, "replication").await?, report);
    Ok(())
}

fn engine(server: &HashMap<String, String>, report: &mut Report) {
    let Some(version) = server.get("redis_version") else {
        return report.add(Judgement::Notice, "engine", "unknown, because INFO is not permitted");
    };
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let number = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let name = match server.get("valkey_version") {
        Some(valkey) => format!("Valkey {valkey} (compatible with Redis {version})"),
        None => format!("Redis {version}"),
    };
    if number < VERSION_MIN {
        let (major, minor) = VERSION_MIN;
        report.add(
            Judgement::Bad,
            "engine",
            format!("{name}; {major}.{minor} is the oldest usable"),
        );
    } else {
        report.add(Judgement::Good, "engine", name);
    }
}

fn memory(memory: &HashMap<String, String>, report: &mut Report) {
    let Some(policy) = memory.get("maxmemory_policy") else { return };
    if policy == "noeviction" {
        report.add(Judgement::Good, "eviction", "noeviction");
    } else {
        let text = format!(
            "maxmemory-policy {policy} drops counters, so more is admitted than the limits; \
             set noeviction"
        );
        report.add(Judgement::Bad, "eviction", text);
    }
}

fn persistence(persistence: &HashMap<String, String>, report: &mut Report) {
    let is = |name: &str, value: &str| persistence.get(name).is_some_and(|found| found == value);
    let text = if is("aof_enabled", "1") {
        "append-only file: a restart loses what was not yet synced"
    } else if persistence.is_empty() {
        return;
    } else {
        "no append-only file: counters start from zero after a restart, or from the last snapshot"
    };
    report.add(Judgement::Good, "persistence", text);
}

fn replicas(replication: &HashMap<String, String>, report: &mut Report) {
    let number = |name: &str| replication.get(name).and_then(|text| text.parse::<u32>().ok());
    let Some(replicas) = number("connected_slaves") else { return };
    if replicas == 0 {
        let text = "none: after the loss of this server, counters start from zero, so each limit \
                    is admitted once more at most";
        return report.add(Judgement::Notice, "replicas", text);
    }
    let lag = (0..replicas)
        .filter_map(|at| replication.get(&format!("slave{at}")))
        .filter_map(|state| state.split(',').find_map(|part| part.strip_prefix("lag=")))
        .filter_map(|lag| lag.parse::<u32>().ok())
        .max();
    let lag = lag.map_or(String::new(), |lag| format!(", the last acknowledgement {lag} s ago"));
    report.add(Judgement::Good, "replicas", format!("{replicas}{lag}"));
    // INFO has this field only if min-replicas-to-write is set.
    let requires_replicas = number("min_slaves_good_slaves").is_some();
    let cut_off = if requires_replicas {
        "for min-replicas-max-lag + 2 s at most (min-replicas-to-write is set)"
    } else {
        "until the gates find the new one, in a cluster for about 1.5 times cluster-node-timeout \
         (min-replicas-to-write is not set)"
    };
    let (judgement, advice) = if requires_replicas && replicas == 1 {
        (Judgement::Notice, ". The loss of the only replica stops this primary: add a replica")
    } else {
        (Judgement::Good, "")
    };
    let text = format!(
        "loses the writes of the replication lag; a primary that is cut off takes writes {cut_off}. \
         In any case each limit is admitted once more at most{advice}"
    );
    report.add(judgement, "failover", text);
}

/// The fields of `INFO` in a section. Empty if Redis does not permit it.
pub(crate) async fn info(
    connection: &mut MultiplexedConnection,
    section: &str,
) -> Result<HashMap<String, String>, RedisError> {
    let info = redis::cmd("INFO").arg(section).query_async::<String>(connection).await;
    let text = match info {
        Err(error) if error.code() == Some("NOPERM") => String::new(),
        other => other?,
    };
    let field = |line: &str| {
        let (name, value) = line.trim().split_once(':')?;
        Some((name.to_owned(), value.to_owned()))
    };
    Ok(text.lines().filter_map(field).collect())
}
