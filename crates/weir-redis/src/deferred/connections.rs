//! Connections to the primaries that hold the queues. While a primary is away, calls fail at once, and a connection is tried
//! once per second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::client::{Client, Server, ServerAddress};
use crate::error::RedisError;
use crate::placement::Bucket;

/// A connection to each primary that was used.
#[derive(Debug)]
pub(super) struct Connections {
    client: Client,
    /// By primary of a cluster; any other Redis has one entry. Each has a lock of its own, so that no primary waits for a
    /// connection to another one.
    links: Mutex<HashMap<Option<ServerAddress>, Arc<Mutex<Link>>>>,
}

#[derive(Debug, Default)]
enum Link {
    #[default]
    New,
    Connected(MultiplexedConnection, Server),
    /// No connection is tried before this time.
    Away(Instant),
}

const TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The age up to which a slot map is used.
const MAP_AGE: Duration = Duration::from_millis(900);

impl Connections {
    pub(super) fn new(client: Client) -> Self {
        Self { client, links: Mutex::default() }
    }

    /// A connection to the primary of a bucket.
    pub(super) async fn get(&self, bucket: Bucket) -> Result<MultiplexedConnection, RedisError> {
        let node = self.node(bucket).await?;
        let client = node.clone().map_or_else(|| self.client.clone(), |node| self.client.at(node));
        let link = Arc::clone(self.links.lock().await.entry(node).or_default());
        let mut link = link.lock().await;
        match &*link {
            Link::Connected(connection, server) if client.is_current(server).await => {
                return Ok(connection.clone());
            }
            Link::Away(until) if Instant::now() < *until => return Err(RedisError::Away),
            _ => {}
        }
        match client.connect(TIMEOUT).await {
            Ok((connection, server)) => {
                *link = Link::Connected(connection.clone(), server);
                Ok(connection)
            }
            Err(error) => {
                *link = Link::Away(Instant::now() + RETRY_AFTER);
                Err(error)
            }
        }
    }

    /// The reply. After an error the next call connects anew.
    pub(super) async fn checked<T>(
        &self,
        bucket: Bucket,
        reply: redis::RedisResult<T>,
    ) -> Result<T, RedisError> {
        if reply.is_err()
            && let Ok(node) = self.node(bucket).await
        {
            self.links.lock().await.remove(&node);
        }
        Ok(reply?)
    }

    async fn node(&self, bucket: Bucket) -> Result<Option<ServerAddress>, RedisError> {
        if !self.client.is_cluster() {
            return Ok(None);
        }
        let map = self.client.slot_map(MAP_AGE).await?;
        map.primary_of(bucket.slot()).cloned().map(Some).ok_or(RedisError::Away)
    }
}

#[cfg(test)]
mod tests {
    use weir_local::{RedisCluster, ScratchDir};

    use super::*;

    #[tokio::test]
    async fn primary_that_does_not_answer_delays_no_connection_to_another_one() {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 0).expect("it starts");
        let connections = Connections::new(crate::client(&cluster.url()).expect("an address"));
        let map = connections.client.slot_map(MAP_AGE).await.expect("a map");
        let buckets: Vec<_> =
            map.primaries().iter().filter_map(|primary| map.first_bucket_of(primary)).collect();
        cluster.nodes()[0].pause().expect("it ran");
        tokio::select! {
            biased;
            _ = connections.get(buckets[0]) => panic!("the other primary waited for this one"),
            connected = connections.get(buckets[1]) => assert!(connected.is_ok()),
        }
    }
}
