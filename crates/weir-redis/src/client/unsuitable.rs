//! The reasons why Weir cannot use an address, although Redis answers there.

use std::time::Duration;

use redis::Role;
use redis::aio::MultiplexedConnection;

use super::cluster::Cluster;
use super::{Client, Target, unless_not_permitted};
use crate::error::RedisError;
use crate::limiter;

/// The reason why Weir cannot use an address, although Redis answers there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    #[error(
        "it is the address of a replica, which takes no writes; it must be that of the primary"
    )]
    Replica,
    #[error("it is the address of a Sentinel; use redis-sentinel://HOST,HOST,HOST/NAME")]
    Sentinel,
    #[error(
        "it is the address of a node of a Redis Cluster; use redis-cluster://HOST:PORT,HOST:PORT"
    )]
    ClusterNode,
    #[error("the Sentinels know no primary with the name `{0}`")]
    UnknownName(String),
    #[error("its servers are no nodes of a Redis Cluster; use redis:// or redis-sentinel://")]
    NoCluster,
    #[error("its hosts belong to different clusters")]
    SeveralClusters,
    #[error("the cluster covers {0} of 16384 slots; `redis-cli --cluster fix` assigns the others")]
    Uncovered(u16),
    #[error("it does not run functions: {0}")]
    WithoutFunctions(&'static str),
}

/// The error of a server without cluster mode.
const NO_CLUSTER: &str = "cluster support disabled";

impl Client {
    /// The reason why Weir cannot use this address, or `None` if it can. An error means that Redis is away.
    pub async fn unsuitable(&self, timeout: Duration) -> Result<Option<Unsuitable>, RedisError> {
        let unsuitable = async {
            match &*self.target {
                Target::Cluster(cluster) => of_cluster(cluster).await,
                Target::Sentinels(sentinels) => {
                    if !sentinels.know_the_name().await? {
                        return Ok(Some(Unsuitable::UnknownName(sentinels.name().to_owned())));
                    }
                    of_server(self.connect(timeout).await?.0).await
                }
                Target::Server(client) => {
                    of_server(client.get_multiplexed_async_connection().await?).await
                }
            }
        };
        tokio::time::timeout(timeout, unsuitable).await.unwrap_or(Err(RedisError::Timeout))
    }
}

impl Client {
    /// The reason why this Redis does not run the limiter, or `None` if it does. In a cluster, that of the first primary.
    pub async fn without_functions(
        &self,
        timeout: Duration,
    ) -> Result<Option<Unsuitable>, RedisError> {
        let primary = self.primaries().await?.into_iter().next();
        let mut connection = primary.as_ref().unwrap_or(self).connect(timeout).await?.0;
        match limiter::probe_program(&mut connection).await {
            Ok(()) => Ok(None),
            Err(error) => match limiter::missing(&error) {
                Some(needed) => Ok(Some(Unsuitable::WithoutFunctions(needed))),
                None => Err(error),
            },
        }
    }
}

async fn of_server(
    mut connection: MultiplexedConnection,
) -> Result<Option<Unsuitable>, RedisError> {
    match redis::cmd("ROLE").query_async(&mut connection).await {
        Ok(Role::Replica { .. }) => return Ok(Some(Unsuitable::Replica)),
        Ok(Role::Sentinel { .. }) => return Ok(Some(Unsuitable::Sentinel)),
        Ok(_) => {}
        Err(error) => unless_not_permitted(error)?,
    }
    let cluster = redis::cmd("INFO").arg("cluster").query_async(&mut connection).await;
    let cluster: String =
        cluster.or_else(|error| unless_not_permitted(error).map(|()| String::new()))?;
    Ok(cluster.contains("cluster_enabled:1").then_some(Unsuitable::ClusterNode))
}

async fn of_cluster(cluster: &Cluster) -> Result<Option<Unsuitable>, RedisError> {
    match cluster.is_one().await {
        Ok(true) => {}
        Ok(false) => return Ok(Some(Unsuitable::SeveralClusters)),
        Err(error) if error.cause().contains(NO_CLUSTER) => return Ok(Some(Unsuitable::NoCluster)),
        Err(error) => return Err(error),
    }
    let map = cluster.map(Duration::ZERO).await?;
    Ok((!map.covers_all_buckets()).then(|| Unsuitable::Uncovered(map.covered())))
}
