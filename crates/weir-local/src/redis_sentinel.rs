//! A primary, a replica and three Sentinels that promote the replica when the primary fails.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::postgres::pause_between_polls;
use crate::random::random_name;
use crate::redis::{Host, Member};
use crate::{Engine, LocalError, Redis, RedisOptions, Relay, free_port};

/// Running servers. Dropping them stops all of them and discards their data.
#[derive(Debug)]
pub struct RedisSentinel {
    /// Stopped first, so that they start no failover while the servers stop.
    sentinels: Vec<Redis>,
    servers: [Redis; 2],
    /// The ports that the Sentinels name for the servers, and their own.
    server_ports: [u16; 2],
    sentinel_ports: Vec<u16>,
    relay: Option<Relay>,
    tls: bool,
}

/// Properties of a group that most groups do not have.
#[derive(Debug, Clone, Default)]
pub struct SentinelOptions {
    /// Whether the first primary is reached through a relay, which can cut it off from the other servers. Only on Linux,
    /// where all addresses 127.0.0.0/8 are those of loopback.
    pub relayed: bool,
    /// The difference of the replica's clock from that of the machine. The group then consists of Valkey 9, because other
    /// engines do not start with another clock.
    pub replica_clock_s: i64,
    /// The certificate with which all servers speak TLS to clients and to each other.
    pub tls: Option<TlsFiles>,
}

/// A certificate, its key, and the authority that signed it (PEM). The account of the servers must be able to read them.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
}

const SENTINELS: usize = 3;
/// The name under which the Sentinels know the primary.
const NAME: &str = "weir";
/// The time after which the Sentinels count a silent primary as down.
const DOWN_AFTER_MS: u32 = 1_000;
const DEADLINE: Duration = Duration::from_mins(1);
/// The address from which the replica and the Sentinels connect, so that a relay can distinguish them from clients.
const MAJORITY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

impl RedisSentinel {
    /// Starts five servers, each in a folder of its own inside `data_dir`, through which their account must
    /// be able to pass. Returns when the Sentinels know each other and the replica.
    pub fn start(data_dir: &Path) -> Result<Self, LocalError> {
        Self::start_with(data_dir, &SentinelOptions::default())
    }

    pub fn start_with(data_dir: &Path, options: &SentinelOptions) -> Result<Self, LocalError> {
        let password = random_name()?;
        let SentinelOptions { relayed, replica_clock_s, tls } = options;
        let engine = match (tls, *replica_clock_s) {
            // Only this one is built with TLS.
            (Some(_), _) => Engine::Installed,
            (None, 0) => Engine::of_environment()?,
            (None, _) => Engine::Valkey9,
        };
        // Returns the server and the port that it announces.
        let start = |folder: &str, sentinel, clock_s, mut settings: Vec<String>| {
            let tls_port = tls.as_ref().map(|_| free_port()).transpose()?;
            if let (Some(files), Some(port)) = (tls, tls_port) {
                settings.splice(0..0, tls_settings(files, port));
            }
            let options = RedisOptions { data_dir: data_dir.join(folder), settings };
            let member = Member { password: &password, sentinel };
            let server = Redis::start_on(
                Host { engine, clock_s, address: Ipv4Addr::LOCALHOST },
                options,
                Some(&member),
            )?;
            let port = tls_port.unwrap_or(server.port());
            Ok::<_, LocalError>((server, port))
        };
        // A primary waits for more replicas by default before it sends its data to the first.
        let at_once = "repl-diskless-sync-delay 0".to_owned();
        let (first, mut first_port) = start("redis-first", false, 0, vec![at_once.clone()])?;
        let relay = relayed.then(|| Relay::start(first_port)).transpose()?;
        first_port = relay.as_ref().map_or(first_port, Relay::port);
        let from = |announce: &str| {
            let settings =
                [format!("bind-source-addr {MAJORITY}"), format!("{announce} 127.0.0.1")];
            if *relayed { settings.to_vec() } else { Vec::new() }
        };
        let mut settings = from("replica-announce-ip");
        settings.extend([at_once, format!("replicaof 127.0.0.1 {first_port}")]);
        let (second, second_port) = start("redis-second", false, *replica_clock_s, settings)?;
        // A Sentinel asks the primary for its replicas when it starts, and then only every ten seconds.
        await_that("replica", || reply(&first, "INFO replication").contains("state=online"))?;
        let mut settings = from("sentinel announce-ip");
        settings.extend([
            format!("sentinel monitor {NAME} 127.0.0.1 {first_port} 2"),
            format!("sentinel auth-pass {NAME} {password}"),
            format!("sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}"),
            format!("sentinel failover-timeout {NAME} 3000"),
        ]);
        let sentinels = (0..SENTINELS)
            .map(|at| start(&format!("sentinel-{at}"), true, 0, settings.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        let (sentinels, sentinel_ports) = sentinels.into_iter().unzip();
        let (servers, server_ports) = ([first, second], [first_port, second_port]);
        let tls = tls.is_some();
        let group = Self { sentinels, servers, server_ports, sentinel_ports, relay, tls };
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
        self.url_by(&self.sentinel_ports)
    }

    /// As [`url`](Self::url), with other ports for the Sentinels.
    pub fn url_by(&self, ports: &[u16]) -> String {
        let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let (password, hosts) = (self.servers[0].password(), hosts.join(","));
        let scheme = if self.tls { "rediss-sentinel" } else { "redis-sentinel" };
        format!("{scheme}://:{password}@{hosts}/{NAME}?sentinel_password={password}")
    }

    /// Cuts the first primary off from the replica and the Sentinels, but not from clients. The group must have a relay.
    pub fn cut_off_first(&self) -> Result<(), LocalError> {
        let relay = self.relay.as_ref().ok_or(LocalError::NotRunning)?;
        relay.isolate(MAJORITY);
        Ok(())
    }

    /// Ends what [`cut_off_first`](Self::cut_off_first) began.
    pub fn rejoin_first(&self) {
        if let Some(relay) = &self.relay {
            relay.rejoin();
        }
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
        self.server_ports.iter().position(|port| *port == first)
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

/// The lines of a configuration with which a server speaks TLS at `port` and to other servers.
pub(crate) fn tls_settings(files: &TlsFiles, port: u16) -> [String; 6] {
    [
        format!("tls-port {port}"),
        format!("tls-cert-file {}", files.certificate.display()),
        format!("tls-key-file {}", files.key.display()),
        format!("tls-ca-cert-file {}", files.authority.display()),
        "tls-auth-clients no".to_owned(),
        "tls-replication yes".to_owned(),
    ]
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
