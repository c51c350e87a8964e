//! The links to Redis: one, or in a cluster one for each primary.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_domain::id::TenantId;

use super::batcher::Batcher;
use super::cluster_links::{ClusterLinks, LinkKeeper, OpenLinks, Route};
use super::link::Link;
use super::pending::PendingCheck;
use super::settings::LimiterSettings;
use super::status::PrimaryHealth;
use crate::client::Client;
use crate::error::RedisError;
use crate::placement::Bucket;

/// The links to Redis.
#[derive(Debug, Clone)]
pub(super) enum Links {
    One(Link),
    Cluster(Arc<OpenLinks>),
}

/// The task that calls Redis.
#[derive(Debug)]
pub(super) enum Task {
    One(Batcher),
    Cluster(LinkKeeper),
}

impl Links {
    /// Creates the links, and the task that calls Redis.
    pub(super) fn new(client: Client, settings: LimiterSettings) -> (Self, Task) {
        if client.is_cluster() {
            let links = Arc::<ClusterLinks>::default();
            let keeper = LinkKeeper::new(client, settings, Arc::clone(&links));
            return (Self::Cluster(Arc::new(OpenLinks(links))), Task::Cluster(keeper));
        }
        let (link, batcher) = Link::new(client, settings, Arc::default());
        (Self::One(link), Task::One(batcher))
    }

    /// Queues a part of a batch for a link.
    pub(super) fn push(
        &self,
        route: &Route,
        tenant: TenantId,
        pending: PendingCheck,
    ) -> Result<(), RedisError> {
        match self {
            Self::One(link) => link.push(tenant, pending),
            Self::Cluster(links) => links.0.push(route, tenant, pending),
        }
    }

    /// The links of a cluster.
    pub(super) fn of_cluster(&self) -> Option<&ClusterLinks> {
        match self {
            Self::One(_) => None,
            Self::Cluster(links) => Some(&links.0),
        }
    }

    /// Whether Redis decides checks: in a cluster, the checks of all buckets.
    pub(super) fn up(&self) -> bool {
        match self {
            Self::One(link) => link.status().up(),
            Self::Cluster(links) => links.0.up(),
        }
    }

    pub(super) fn script_loads(&self) -> u64 {
        match self {
            Self::One(link) => link.status().script_loads(),
            Self::Cluster(links) => links.0.script_loads(),
        }
    }

    /// The state of each primary that serves buckets.
    pub(super) fn primaries(&self) -> Vec<PrimaryHealth> {
        match self {
            Self::One(link) => {
                let (status, buckets) = (link.status(), Bucket::all().count());
                let (up, calls) = (status.up(), status.calls());
                vec![PrimaryHealth { address: String::new(), up, buckets, calls }]
            }
            Self::Cluster(links) => links.0.primaries(),
        }
    }
}

impl Task {
    /// Calls Redis until `stop`, or until the last handle of the links is dropped.
    pub(super) async fn run(self, stop: CancellationToken) {
        match self {
            Self::One(batcher) => batcher.run(stop).await,
            Self::Cluster(keeper) => keeper.run(stop).await,
        }
    }
}
