//! The way to Redis: one server, or the primary that Sentinels name.
//!
//! Every part of Weir that calls Redis connects through a [`Client`], so all of them follow a failover.

mod address;
mod sentinels;

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, Role};
use tokio::time::sleep;

pub use self::address::AddressError;
use self::address::{Address, Transport};
use self::sentinels::{Primary, Sentinels};
use crate::error::RedisError;

/// Connects to Redis. Clones share their knowledge of the primary.
#[derive(Debug, Clone)]
pub struct Client(Arc<Target>);

#[derive(Debug)]
enum Target {
    Server(redis::Client),
    Sentinels(Sentinels),
}

/// The server that a connection leads to.
#[derive(Debug, Clone)]
pub(crate) struct Server(Option<Primary>);

/// The reason why Weir cannot use an address, although Redis answers there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    #[error(
        "it is the address of a replica, which takes no writes; it must be that of the primary"
    )]
    Replica,
    #[error("it is the address of a Sentinel; use redis-sentinel://HOST,HOST,HOST/NAME")]
    Sentinel,
    #[error("it is the address of a node of a Redis Cluster, which this release cannot use")]
    ClusterNode,
    #[error("the Sentinels know no primary with the name `{0}`")]
    UnknownName(String),
}

/// The interval in which a connection's server is compared with the primary that the Sentinels name.
const COMPARE_EVERY: Duration = Duration::from_secs(1);
/// The age up to which an answer of the Sentinels is used for that comparison.
const COMPARED_AGE: Duration = Duration::from_millis(900);
/// The age up to which it is used for a new connection.
const CONNECT_AGE: Duration = Duration::from_millis(100);

impl Client {
    /// Returns a client for `url`; nothing is connected yet. `authority` is the certificate (PEM) of the only authority that
    /// a client over TLS trusts; `None` means those that the operating system trusts.
    pub(crate) fn new(url: &str, authority: Option<Vec<u8>>) -> Result<Self, AddressError> {
        let transport = Transport { authority };
        let target = match Address::parse(url)? {
            Address::Server(info) => Target::Server(transport.client(*info)?),
            Address::Sentinels(address) => Target::Sentinels(Sentinels::new(*address, transport)?),
        };
        Ok(Self(Arc::new(target)))
    }

    /// Connects to the server or to the present primary. Both the connection and each reply have this deadline.
    pub(crate) async fn connect(
        &self,
        timeout: Duration,
    ) -> Result<(MultiplexedConnection, Server), RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout));
        let (client, server) = self.server().await?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if server.0.is_some() && !is_primary(&mut connection).await? {
            return Err(RedisError::NotPrimary);
        }
        Ok((connection, server))
    }

    /// Connects for a subscription.
    pub(crate) async fn subscribe(&self) -> Result<(PubSub, Server), RedisError> {
        let (client, server) = self.server().await?;
        Ok((client.get_async_pubsub().await?, server))
    }

    /// Whether this server is still the primary. The Sentinels are queried at most about once per second; a single server
    /// is always the primary.
    pub(crate) async fn is_current(&self, server: &Server) -> bool {
        match (&*self.0, &server.0) {
            (Target::Sentinels(sentinels), Some(primary)) => {
                let present = sentinels.primary(COMPARED_AGE).await;
                // Without an answer there is no reason to leave a server that answers.
                present.map_or(true, |present| present == *primary)
            }
            _ => true,
        }
    }

    /// Waits until this server is no longer the primary: for ever, if there is only one server.
    pub(crate) async fn moved(&self, server: &Server) {
        if server.0.is_none() {
            return std::future::pending().await;
        }
        while self.is_current(server).await {
            sleep(COMPARE_EVERY).await;
        }
    }

    /// The reason why Weir cannot use this address, or `None` if it can. An error means that Redis is away.
    pub async fn unsuitable(&self, timeout: Duration) -> Result<Option<Unsuitable>, RedisError> {
        let unsuitable = async {
            let mut connection = match &*self.0 {
                Target::Sentinels(sentinels) => {
                    if !sentinels.know_the_name().await? {
                        return Ok(Some(Unsuitable::UnknownName(sentinels.name().to_owned())));
                    }
                    self.connect(timeout).await?.0
                }
                Target::Server(client) => client.get_multiplexed_async_connection().await?,
            };
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
        };
        tokio::time::timeout(timeout, unsuitable).await.unwrap_or(Err(RedisError::Timeout))
    }

    /// The servers, for a person.
    pub(crate) async fn describe(&self) -> String {
        match &*self.0 {
            Target::Server(client) => {
                format!("one server, {}", client.get_connection_info().addr())
            }
            Target::Sentinels(sentinels) => sentinels.describe().await,
        }
    }

    async fn server(&self) -> Result<(redis::Client, Server), RedisError> {
        match &*self.0 {
            Target::Server(client) => Ok((client.clone(), Server(None))),
            Target::Sentinels(sentinels) => {
                let primary = sentinels.primary(CONNECT_AGE).await?;
                Ok((sentinels.client_of(&primary)?, Server(Some(primary))))
            }
        }
    }
}

/// Whether the server considers itself a primary. A server that does not permit the question counts as one.
async fn is_primary(connection: &mut MultiplexedConnection) -> Result<bool, RedisError> {
    match redis::cmd("ROLE").query_async(connection).await {
        Ok(role) => Ok(matches!(role, Role::Primary { .. })),
        Err(error) => unless_not_permitted(error).map(|()| true),
    }
}

fn unless_not_permitted(error: redis::RedisError) -> Result<(), RedisError> {
    if error.code() == Some("NOPERM") { Ok(()) } else { Err(error.into()) }
}

#[cfg(test)]
mod tests;
