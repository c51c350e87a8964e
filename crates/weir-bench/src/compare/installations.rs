//! The installations whose gates are measured: one for each kind of Redis.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::fixture::Fixture;
use crate::redis_servers::Topology;
use crate::usage::RedisUsage;

/// Running installations.
#[derive(Debug)]
pub(super) struct Installations(Vec<(Topology, Installation)>);

#[derive(Debug)]
pub(super) struct Installation {
    pub(super) fixture: Fixture,
    pub(super) redis_usage: RedisUsage,
}

impl Installations {
    /// Starts those of these variants.
    pub(super) async fn start(weir: &Path, labels: &[&str]) -> Result<Self> {
        let mut started = Vec::new();
        for topology in [Topology::Server, Topology::Sentinels, Topology::Cluster] {
            if labels.iter().any(|label| topology_of(label) == topology) {
                let fixture = Fixture::of(weir, topology).await.context("start Weir")?;
                let redis_usage = RedisUsage::new(fixture.redis_primaries()).await;
                let redis_usage = redis_usage.context("ask Redis")?;
                started.push((topology, Installation { fixture, redis_usage }));
            }
        }
        Ok(Self(started))
    }

    /// The installation of a variant.
    pub(super) fn of(&mut self, label: &str) -> Result<&mut Installation> {
        let wanted = topology_of(label);
        let found = self.0.iter_mut().find(|(topology, _)| *topology == wanted);
        found.map(|(_, installation)| installation).context("the installation was not started")
    }
}

fn topology_of(label: &str) -> Topology {
    match label {
        "j" => Topology::Cluster,
        "k" => Topology::Sentinels,
        _ => Topology::Server,
    }
}
