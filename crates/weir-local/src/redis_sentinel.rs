//! A primary, a replica and three Sentinels that promote the replica when the primary fails.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::postgres::pause_between_polls;
use crate::redis::Member;
use crate::{LocalError, Redis, RedisOptions, secret};

/// Running servers. Dropping them stops all of them and discards their data.
#[derive(Debug)]
pub struct RedisSentinel {
    /// Stopped first, so that they start no failover while the servers stop.
    sentinels: Vec<Redis>,
    servers: [Redis; 2],
}

const SENTINELS: usize = 3;
/// The name under which the Sentinels know the primary.
const NAME: &str = "weir";
/// The time after which the Sentinels count a silent primary as down.
const DOWN_AFTER_MS: u32 = 1_000;
const DEADLINE: Duration = Duration::from_mins(1);

impl RedisSentinel {
    /// Starts five servers, each in a folder of its own inside `data_dir`, through which their account must
    /// be able to pass. Returns when the Sentinels know each other and the replica.
    pub fn start(data_dir: &Path) -> Result<Self, LocalError> {
        let password = secret::random_name()?;
        let start = |folder: &str, sentinel, settings| {
            let options = RedisOptions { data_dir: data_dir.join(folder), settings };
            Redis::start_member(options, Some(&Member { password: &password, sentinel }))
        };
        // A primary waits for more replicas by default before it sends its data to the first.
        let first = start("redis-first", false, vec!["repl-diskless-sync-delay 0".to_owned()])?;
        let follow = format!("replicaof 127.0.0.1 {}", first.port());
        let settings = vec!["repl-diskless-sync-delay 0".to_owned(), follow];
        let servers = [first, start("redis-second", false, settings)?];
        // A Sentinel asks the primary for its replicas when it starts, and then only every ten seconds.
        await_that("replica", || reply(&servers[0], "INFO replication").contains("state=online"))?;
        let settings = [
            format!("sentinel monitor {NAME} 127.0.0.1 {} 2", servers[0].port()),
            format!("sentinel auth-pass {NAME} {password}"),
            format!("sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}"),
            format!("sentinel failover-timeout {NAME} 3000"),
        ];
        let sentinels = (0..SENTINELS)
            .map(|at| start(&format!("sentinel-{at}"), true, settings.to_vec()))
            .collect::<Result<_, _>>()?;
        let group = Self { sentinels, servers };
        await_that("Sentinels", || {
            group.sentinels.iter().all(|sentinel| {
                let state = reply(sentinel, &format!("SENTINEL MASTER {NAME}"));
                field(&state, "num-slaves") == Some("1")
                    && field(&state, "num-other-sentinels") == Some("2")
            })
        })?;
        Ok(group)
    }

    /// The address of the primary by way of the Sentinels, with all passwords.
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.sentinels.iter().map(Redis::address).collect();
        let (password, hosts) = (self.servers[0].password(), hosts.join(","));
        format!("redis-sentinel://:{password}@{hosts}/{NAME}?sentinel_password={password}")
    }

    pub fn servers(&self) -> &[Redis; 2] {
        &self.servers
    }

    pub fn sentinels(&self) -> &[Redis] {
        &self.sentinels
    }

    /// The index of the server that the Sentinels hold for the primary. `None` while they disagree.
    pub fn primary(&self) -> Option<usize> {
        let mut ports =
            self.sentinels.iter().filter(|sentinel| sentinel.pid().is_some()).map(|sentinel| {
                let state = reply(sentinel, &format!("SENTINEL MASTER {NAME}"));
                field(&state, "port").and_then(|port| port.parse::<u16>().ok())
            });
        let first = ports.next()??;
        if !ports.all(|port| port == Some(first)) {
            return None;
        }
        self.servers.iter().position(|server| server.port() == first)
    }

    /// Lets the Sentinels promote the replica without an error of the primary. Returns when the replica is the primary.
    pub fn fail_over(&self) -> Result<(), LocalError> {
        let before = self.primary();
        let sentinel = self.sentinels.first().ok_or(LocalError::NotRunning)?;
        await_that("failover", || {
            // The Sentinels refuse a failover for a time after the previous one.
            reply(sentinel, &format!("SENTINEL FAILOVER {NAME}")).starts_with("+OK")
        })?;
        await_that("new primary", || {
            let after = self.primary();
            after.is_some() && after != before
        })
    }
}

fn reply(server: &Redis, command: &str) -> String {
    server.command(command).unwrap_or_default()
}

/// The value of a field in a reply of names and values.
fn field<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = reply.split("\r\n").filter(|line| !line.starts_with(['$', '*', '%']));
    lines.find(|line| *line == name)?;
    lines.next()
}

/// Waits until `holds` returns true.
pub(crate) fn await_that(
    name: &'static str,
    mut holds: impl FnMut() -> bool,
) -> Result<(), LocalError> {
    let until = Instant::now() + DEADLINE;
    while !holds() {
        if Instant::now() >= until {
            return Err(LocalError::NotReady {
                program: name,
                waited: DEADLINE,
                log: String::new(),
            });
        }
        pause_between_polls();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScratchDir;

    fn start() -> (RedisSentinel, ScratchDir) {
        let scratch = ScratchDir::create().expect("a scratch folder");
        (RedisSentinel::start(&scratch.path().join("redis")).expect("it starts"), scratch)
    }

    #[test]
    fn replica_is_promoted_on_request_and_after_a_crash_and_nothing_stays_behind() {
        let (group, scratch) = start();
        let path = scratch.path().to_owned();
        // A stalled machine can cause a failover of its own.
        let mut before = None;
        await_that("agreement", || {
            before = group.primary();
            before.is_some()
        })
        .expect("it is agreed");
        group.fail_over().expect("the replica is promoted");
        let promoted = 1 - before.expect("it was agreed");
        await_that("role", || reply(&group.servers()[promoted], "ROLE").contains("master"))
            .expect("it is a primary");
        let other = &group.servers()[1 - promoted];
        await_that("replica", || reply(other, "INFO replication").contains("link_status:up"))
            .expect("the old primary is a replica");

        group.servers()[promoted].kill().expect("it ran");
        await_that("new primary", || group.primary() == Some(1 - promoted)).expect("promoted");

        let servers = group.servers().iter().chain(group.sentinels());
        let pids: Vec<_> = servers.filter_map(Redis::pid).collect();
        assert_eq!(pids.len(), 4, "one was killed");
        drop(group);
        drop(scratch);
        for pid in pids {
            assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} still runs");
        }
        assert!(!path.exists());
    }
}
