//! Connections to the primaries that hold the queues. While a primary is away, calls fail at once, and a connection is tried
//! once per second.

use std::collections::HashMap;
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
    /// By primary of a cluster; any other Redis has one entry.
    links: Mutex<HashMap<Option<ServerAddress>, Link>>,
}

#[derive(Debug)]
enum Link {
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
        let mut links = self.links.lock().await;
        match links.get(&node) {
            Some(Link::Connected(connection, server)) if client.is_current(server).await => {
                return Ok(connection.clone());
            }
            Some(Link::Away(until)) if Instant::now() < *until => return Err(RedisError::Away),
            _ => {}
        }
        match client.connect(TIMEOUT).await {
            Ok((connection, server)) => {
                links.insert(node, Link::Connected(connection.clone(), server));
                Ok(connection)
            }
            Err(error) => {
                links.insert(node, Link::Away(Instant::now() + RETRY_AFTER));
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
