//! Redis as one server, behind Sentinels or as a cluster.

use std::path::Path;

use anyhow::{Context as _, Result};
use weir_local::{Redis, RedisCluster, RedisOptions, RedisSentinel};

/// The kinds of Redis that are measured. No replica runs: it would copy every write on the processors that are measured, and
/// one server has none either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// One server.
    Server,
    /// A primary that Sentinels watch.
    Sentinels,
    /// Three primaries.
    Cluster,
}

/// Running servers. Dropping them stops them.
#[derive(Debug)]
pub enum RedisServers {
    Server(Redis),
    Sentinels(Box<RedisSentinel>),
    Cluster(RedisCluster),
}

const PRIMARIES: usize = 3;

impl RedisServers {
    pub fn start(topology: Topology, folder: &Path) -> Result<Self> {
        let data_dir = folder.join("redis");
        Ok(match topology {
            Topology::Server => {
                let options = RedisOptions { data_dir, settings: Vec::new() };
                Self::Server(Redis::start(options).context("start Redis")?)
            }
            Topology::Sentinels => {
                let group = RedisSentinel::start(&data_dir).context("start Sentinels")?;
                let [_, replica] = group.servers();
                replica.stop().context("stop the replica")?;
                Self::Sentinels(Box::new(group))
            }
            Topology::Cluster => {
                let cluster = RedisCluster::start(&data_dir, PRIMARIES, 0);
                Self::Cluster(cluster.context("start a cluster")?)
            }
        })
    }

    /// The address for a gate.
    pub fn url(&self) -> String {
        match self {
            Self::Server(server) => server.url(),
            Self::Sentinels(group) => group.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// The servers that were primaries at the start.
    pub fn primaries(&self) -> &[Redis] {
        match self {
            Self::Server(server) => std::slice::from_ref(server),
            Self::Sentinels(group) => &group.servers()[..1],
            Self::Cluster(cluster) => &cluster.nodes()[..PRIMARIES],
        }
    }
}
