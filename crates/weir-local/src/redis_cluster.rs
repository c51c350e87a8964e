//! A Redis Cluster: primaries that share the slots, and replicas that take over when a primary fails.

use std::net::Ipv4Addr;
use std::path::Path;
use std::thread;

use crate::random::random_name;
use crate::redis::{Host, Member};
use crate::redis_sentinel::{await_that, tls_settings};
use crate::{Engine, LocalError, Redis, RedisOptions, Side, TlsFiles, free_port};

/// Running servers. Dropping them stops all of them and discards their data.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    /// The ports that the nodes announce.
    ports: Vec<u16>,
    primaries: usize,
    tls: bool,
    named: bool,
}

/// Properties of a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    pub primaries: usize,
    /// The number of replicas of each primary.
    pub replicas: usize,
    /// The difference of the replicas' clocks from that of the machine. The cluster then consists of Valkey 9, because other
    /// engines do not start with another clock.
    pub replica_clock_s: i64,
    /// The certificate with which all nodes speak TLS to clients and to each other.
    pub tls: Option<TlsFiles>,
    /// Whether the nodes announce the host name `localhost` instead of their addresses.
    pub named: bool,
    /// The sides of a network: the first node is alone on the first side.
    pub sides: Option<[Side; 2]>,
}

const SLOTS: usize = 16_384;
/// The time after which the nodes count a silent node as down. A busy machine stops all of them for a second now and then.
const NODE_TIMEOUT_MS: u32 = 5_000;
/// The number of keys that one command moves to another node.
const KEYS_AT_ONCE: usize = 20;

impl RedisCluster {
    /// Starts `primaries` × (1 + `replicas`) servers, each in a folder of its own inside `data_dir`. The primaries come first
    /// and have equal ranges of slots. Returns when every node reports that the cluster serves.
    pub fn start(data_dir: &Path, primaries: usize, replicas: usize) -> Result<Self, LocalError> {
        let options = ClusterOptions { primaries, replicas, ..ClusterOptions::default() };
        Self::start_with(data_dir, &options)
    }

    pub fn start_with(data_dir: &Path, options: &ClusterOptions) -> Result<Self, LocalError> {
        let ClusterOptions { primaries, replicas, replica_clock_s, tls, named, sides } = options;
        let password = random_name()?;
        let engine = match (tls, *replica_clock_s) {
            // Only this one is built with TLS.
            (Some(_), _) => Engine::Installed,
            (None, 0) => Engine::of_environment()?,
            (None, _) => Engine::Valkey9,
        };
        let start = |at: usize| {
            let side = sides.as_ref().map(|[alone, others]| if at == 0 { alone } else { others });
            side.map(Side::enter).transpose()?;
            let address = side.map_or(Ipv4Addr::LOCALHOST, Side::address);
            let tls_port = tls.as_ref().map(|_| free_port()).transpose()?;
            let mut settings = vec![
                "cluster-enabled yes".to_owned(),
                "cluster-config-file nodes.conf".to_owned(),
                format!("cluster-node-timeout {NODE_TIMEOUT_MS}"),
                format!("cluster-port {}", free_port()?),
                "cluster-require-full-coverage no".to_owned(),
                "cluster-allow-replica-migration no".to_owned(),
                "repl-diskless-sync-delay 0".to_owned(),
            ];
            if *named {
                settings.push("cluster-announce-hostname localhost".to_owned());
                settings.push("cluster-preferred-endpoint-type hostname".to_owned());
            }
            if let (Some(files), Some(port)) = (tls, tls_port) {
                settings.extend(tls_settings(files, port));
                settings.push("tls-cluster yes".to_owned());
            }
            let options = RedisOptions { data_dir: data_dir.join(format!("node-{at}")), settings };
            let member = Member { password: &password, sentinel: false };
            let clock_s = if at < *primaries { 0 } else { *replica_clock_s };
            let host = Host { engine, clock_s, address };
            let node = Redis::start_on(host, options, Some(&member))?;
            let port = tls_port.unwrap_or(node.port());
            Ok::<_, LocalError>((node, port))
        };
        let count = primaries * (1 + replicas);
        let start = &start;
        let nodes: Result<Vec<_>, LocalError> = thread::scope(|scope| {
            let starting: Vec<_> = (0..count).map(|at| scope.spawn(move || start(at))).collect();
            let joined = starting.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|started| started.map_err(|_| LocalError::NotRunning)?).collect()
        });
        let (nodes, ports) = nodes?.into_iter().unzip();
        let (primaries, tls, named) = (*primaries, tls.is_some(), *named);
        let cluster = Self { nodes, ports, primaries, tls, named };
        cluster.assemble()?;
        Ok(cluster)
    }

    /// The address of the cluster: all nodes, with their password.
    pub fn url(&self) -> String {
        let hosts = self.nodes.iter().zip(&self.ports).map(|(node, port)| {
            if self.named { format!("localhost:{port}") } else { format!("{}:{port}", node.host()) }
        });
        let hosts: Vec<_> = hosts.collect();
        let password = self.nodes.first().map_or("", Redis::password);
        let scheme = if self.tls { "rediss-cluster" } else { "redis-cluster" };
        format!("{scheme}://:{password}@{}", hosts.join(","))
    }

    /// All nodes. The first ones were the primaries at the start.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The index of the node that owns this slot, according to the first node that runs.
    pub fn owner(&self, slot: usize) -> Option<usize> {
        let view = self.view()?;
        let id = view.iter().find(|node| node.owns(slot)).map(|node| node.id.clone())?;
        self.nodes.iter().position(|node| reply(node, "CLUSTER MYID").contains(&id))
    }

    /// Lets a replica take over from the primary at this index, without an error of the primary. Returns when it owns the
    /// slots.
    pub fn fail_over(&self, primary: usize) -> Result<(), LocalError> {
        let id = self.id(primary)?;
        let replica = || self.view()?.into_iter().find(|node| node.follows == id);
        // Nodes learn from each other which one is a replica of which.
        await_that("replica", || replica().is_some())?;
        let replica = replica().ok_or(LocalError::NotRunning)?;
        let replica =
            self.nodes.iter().find(|node| reply(node, "CLUSTER MYID").contains(&replica.id));
        let replica = replica.ok_or(LocalError::NotRunning)?;
        await_that("failover", || {
            let promoted = reply(replica, "ROLE").contains("master");
            if !promoted {
                // The replica refuses this while a failover is under way.
                reply(replica, "CLUSTER FAILOVER");
            }
            promoted
        })
    }

    /// Moves one slot with its keys to the node at this index, which is a primary.
    pub fn move_slot(&self, slot: usize, to: usize) -> Result<(), LocalError> {
        let from = self.owner(slot).ok_or(LocalError::NotRunning)?;
        if from == to {
            return Ok(());
        }
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let (source_id, target_id) = (self.id(from)?, self.id(to)?);
        ok(target, &format!("CLUSTER SETSLOT {slot} IMPORTING {source_id}"))?;
        ok(source, &format!("CLUSTER SETSLOT {slot} MIGRATING {target_id}"))?;
        loop {
            let keys = source.command(&format!("CLUSTER GETKEYSINSLOT {slot} {KEYS_AT_ONCE}"))?;
            let keys: Vec<_> =
                keys.split("\r\n").filter(|line| !line.starts_with(['$', '*'])).collect();
            let keys = keys.join(" ");
            if keys.trim().is_empty() {
                break;
            }
            let (host, port, password) = (target.host(), target.port(), target.password());
            // A key that expired meanwhile is no error.
            source.command(&format!(
                "MIGRATE {host} {port} \"\" 0 5000 AUTH {password} KEYS {keys}"
            ))?;
        }
        for node in [target, source] {
            ok(node, &format!("CLUSTER SETSLOT {slot} NODE {target_id}"))?;
        }
        await_that("slot", || self.owner(slot) == Some(to))
    }

    /// Gives the primaries their slots, introduces the nodes to each other, and attaches the replicas.
    fn assemble(&self) -> Result<(), LocalError> {
        for (at, node) in self.nodes.iter().enumerate() {
            ok(node, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1))?;
            if at < self.primaries {
                let first = SLOTS * at / self.primaries;
                let last = SLOTS * (at + 1) / self.primaries - 1;
                ok(node, &format!("CLUSTER ADDSLOTSRANGE {first} {last}"))?;
            }
        }
        let first = self.nodes.first().ok_or(LocalError::NotRunning)?;
        for (node, port) in self.nodes.iter().zip(&self.ports).skip(1) {
            let bus = reply(node, "CONFIG GET cluster-port");
            let bus = bus.split("\r\n").nth(4).unwrap_or_default().to_owned();
            ok(first, &format!("CLUSTER MEET {} {port} {bus}", node.host()))?;
        }
        let known = format!("cluster_known_nodes:{}\r", self.nodes.len());
        await_that("nodes", || self.every(|node| reply(node, "CLUSTER INFO").contains(&known)))?;
        for (at, node) in self.nodes.iter().enumerate().skip(self.primaries) {
            let id = self.id(at % self.primaries)?;
            // The node refuses while it does not know its primary as one.
            await_that("replica", || {
                reply(node, &format!("CLUSTER REPLICATE {id}")).starts_with("+OK")
            })?;
        }
        await_that("cluster", || {
            self.every(|node| reply(node, "CLUSTER INFO").contains("cluster_state:ok"))
                && self.nodes[self.primaries..]
                    .iter()
                    .all(|node| reply(node, "INFO replication").contains("master_link_status:up"))
        })
    }

    fn every(&self, holds: impl Fn(&Redis) -> bool) -> bool {
        self.nodes.iter().all(holds)
    }

    fn id(&self, at: usize) -> Result<String, LocalError> {
        let id = self.nodes.get(at).ok_or(LocalError::NotRunning)?.command("CLUSTER MYID")?;
        Ok(id.split("\r\n").nth(1).unwrap_or_default().to_owned())
    }

    /// The nodes as the first running one sees them.
    fn view(&self) -> Option<Vec<NodeView>> {
        let running = self.nodes.iter().filter(|node| node.pid().is_some());
        let mut views = running.filter_map(|node| node.command("CLUSTER NODES").ok());
        Some(views.next()?.lines().filter_map(NodeView::parse).collect())
    }
}

/// A node in the reply to `CLUSTER NODES`.
#[derive(Debug)]
struct NodeView {
    id: String,
    /// The id of its primary, or `-`.
    follows: String,
    slots: Vec<(usize, usize)>,
}

impl NodeView {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let id = words.next()?.to_owned();
        let follows = words.nth(2)?.to_owned();
        let range = |word: &str| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        Some(Self { id, follows, slots: words.skip(4).filter_map(range).collect() })
    }

    fn owns(&self, slot: usize) -> bool {
        self.slots.iter().any(|(first, last)| (*first..=*last).contains(&slot))
    }
}

fn reply(server: &Redis, command: &str) -> String {
    server.command(command).unwrap_or_default()
}

fn ok(server: &Redis, command: &str) -> Result<(), LocalError> {
    let output = server.command(command)?;
    if output.starts_with("+OK") {
        return Ok(());
    }
    Err(LocalError::Failed { program: format!("redis-server: {command}"), output })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScratchDir;

    #[test]
    fn cluster_moves_slots_and_fails_over_and_leaves_nothing_behind() {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 1).expect("it starts");
        // CLUSTER KEYSLOT a is 15495.
        let slot = 15_495;
        let source = cluster.owner(slot).expect("it is covered");
        assert_eq!(reply(&cluster.nodes()[source], "SET a 1"), "+OK\r\n");

        let target = (source + 1) % 3;
        cluster.move_slot(slot, target).expect("it moves");
        assert_eq!(cluster.owner(slot), Some(target));
        assert_eq!(reply(&cluster.nodes()[target], "GET a"), "$1\r\n1\r\n");
        assert!(reply(&cluster.nodes()[source], "GET a").starts_with("-MOVED"));

        cluster.fail_over(target).expect("the replica takes over");
        await_that("new owner", || cluster.owner(slot) == Some(target + 3)).expect("promoted");

        let killed = cluster.owner(0).expect("it is covered");
        cluster.nodes()[killed].kill().expect("it ran");
        await_that("new owner", || cluster.owner(0).is_some_and(|owner| owner != killed))
            .expect("promoted");

        let pids: Vec<_> = cluster.nodes().iter().filter_map(Redis::pid).collect();
        assert_eq!(pids.len(), 5, "one was killed");
        let path = scratch.path().to_owned();
        drop(cluster);
        drop(scratch);
        for pid in pids {
            assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} still runs");
        }
        assert!(!path.exists());
    }
}
