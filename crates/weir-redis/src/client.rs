//! The way to Redis: one server, the primary that Sentinels name, or the primaries of a cluster.
//!
//! Every part of Weir that calls Redis connects through a [`Client`], so all of them follow a failover.

mod access;
mod address;
mod cluster;
mod queried;
mod sentinel_events;
mod sentinels;
mod server_address;
mod unsuitable;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, PushKind, Role};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use self::access::Transport;
use self::address::Address;
pub use self::address::AddressError;
use self::cluster::Cluster;
pub(crate) use self::cluster::SlotMap;
use self::sentinels::Sentinels;
pub(crate) use self::server_address::ServerAddress;
pub use self::unsuitable::Unsuitable;
use crate::error::RedisError;
use crate::slots;

/// Connects to Redis. Clones share their knowledge of the primaries.
#[derive(Debug, Clone)]
pub struct Client {
    target: Arc<Target>,
    /// The primary of a cluster to which connections lead.
    scope: Scope,
}

#[derive(Debug)]
enum Target {
    Server(redis::Client),
    Sentinels(Box<Sentinels>),
    Cluster(Cluster),
}

/// The primary of a cluster to which connections lead. If Redis is no cluster, there is one primary.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    Any,
    Slot(u16),
    Node(ServerAddress),
}

/// The server that a connection leads to. `None` if there is no other.
#[derive(Debug, Clone)]
pub(crate) struct Server(Option<ServerAddress>);

/// The interval in which a connection's server is compared with the primaries that Sentinels or the cluster name.
const COMPARE_EVERY: Duration = Duration::from_secs(1);
/// The age up to which their answer is used for that comparison.
const COMPARED_AGE: Duration = Duration::from_millis(900);
/// The same interval while Sentinels replace the primary: what the old one still admits, the new one does not count.
const COMPARE_EVERY_WHILE_MOVING: Duration = Duration::from_millis(20);
/// The age up to which it is used for a new connection.
const CONNECT_AGE: Duration = Duration::from_millis(100);

impl Client {
    /// Returns a client for `url`; nothing is connected yet. `authority` is the certificate (PEM) of the only authority that
    /// a client over TLS trusts; `None` means those that the operating system trusts.
    pub(crate) fn new(url: &str, authority: Option<Vec<u8>>) -> Result<Self, AddressError> {
        let transport = Transport { authority };
        let target = match Address::parse(url)? {
            Address::Server(info) => Target::Server(transport.client(*info)?),
            Address::Sentinels(address) => {
                Target::Sentinels(Box::new(Sentinels::new(*address, transport)?))
            }
            Address::Cluster(address) => Target::Cluster(Cluster::new(*address, transport)),
        };
        Ok(Self { target: Arc::new(target), scope: Scope::Any })
    }

    /// Whether Redis is a cluster, which has several primaries.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(*self.target, Target::Cluster(_))
    }

    /// The slot map of the cluster, from an answer that is not older than this.
    pub(crate) async fn slot_map(&self, age_max: Duration) -> Result<Arc<SlotMap>, RedisError> {
        match &*self.target {
            Target::Cluster(cluster) => cluster.map(age_max).await,
            _ => Err(RedisError::BadReply("only a cluster has slots")),
        }
    }

    /// A client for this node of a cluster.
    pub(crate) fn at(&self, node: ServerAddress) -> Self {
        Self { target: Arc::clone(&self.target), scope: Scope::Node(node) }
    }

    /// A client for the primary of the keys with this hash tag.
    pub(crate) fn of_tag(self, tag: &str) -> Self {
        Self { scope: Scope::Slot(slots::of_tag(tag)), ..self }
    }

    /// A client for each primary: for the only one, or for those of a cluster that serve buckets.
    pub(crate) async fn primaries(&self) -> Result<Vec<Self>, RedisError> {
        if !self.is_cluster() {
            return Ok(vec![self.clone()]);
        }
        let map = self.slot_map(COMPARED_AGE).await?;
        Ok(map.primaries().into_iter().map(|primary| self.at(primary)).collect())
    }

    /// The node of a cluster to which connections lead.
    pub(crate) fn node(&self) -> Option<&ServerAddress> {
        match &self.scope {
            Scope::Node(node) => Some(node),
            Scope::Any | Scope::Slot(_) => None,
        }
    }

    /// Connects to the server or to the present primary. Both the connection and each reply have this deadline.
    pub(crate) async fn connect(
        &self,
        timeout: Duration,
    ) -> Result<(MultiplexedConnection, Server), RedisError> {
        let (client, server) = self.server().await?;
        open(&client, server, &config(timeout)).await
    }

    /// The same as [`Client::connect`], for a connection on which Redis tracks the keys that are read, and notifies
    /// `invalidated` as soon as one of them changes or is lost.
    pub(crate) async fn connect_tracking(
        &self,
        timeout: Duration,
        invalidated: Arc<Notify>,
    ) -> Result<(MultiplexedConnection, Server), RedisError> {
        let (client, server) = self.server().await?;
        let info = client.get_connection_info().clone();
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let client = redis::Client::open(info.set_redis_settings(settings))?;
        let config = config(timeout).set_push_sender(move |push: PushInfo| {
            if push.kind == PushKind::Invalidate {
                invalidated.notify_one();
            }
            Ok::<_, Infallible>(())
        });
        let (mut connection, server) = open(&client, server, &config).await?;
        redis::cmd("CLIENT").arg("TRACKING").arg("ON").query_async::<()>(&mut connection).await?;
        Ok((connection, server))
    }

    /// Connects for a subscription.
    pub(crate) async fn subscribe(&self) -> Result<(PubSub, Server), RedisError> {
        let (client, server) = self.server().await?;
        Ok((client.get_async_pubsub().await?, server))
    }

    /// Whether this server is still the primary. The Sentinels or the nodes of the cluster are queried at most about once per
    /// second; a single server is always the primary.
    pub(crate) async fn is_current(&self, server: &Server) -> bool {
        self.is_current_by(server, COMPARED_AGE).await
    }

    /// The same by an answer that is not older than this.
    async fn is_current_by(&self, server: &Server, age_max: Duration) -> bool {
        // Without an answer there is no reason to leave a server that answers.
        match (&*self.target, &server.0) {
            (Target::Sentinels(sentinels), Some(primary)) => {
                let present = sentinels.primary(age_max).await;
                present.map_or(true, |present| present == *primary)
            }
            (Target::Cluster(cluster), Some(primary)) => {
                let map = cluster.map(age_max).await;
                map.map_or(true, |map| self.scope.permits(&map, primary))
            }
            _ => true,
        }
    }

    /// Waits until this server is no longer the primary: for ever, if there is only one server.
    pub(crate) async fn moved(&self, server: &Server) {
        if server.0.is_none() {
            return std::future::pending().await;
        }
        let mut events = self.failover_events();
        let mut age_max = COMPARED_AGE;
        while self.is_current_by(server, age_max).await {
            if self.moving().await {
                sleep(COMPARE_EVERY_WHILE_MOVING).await;
                age_max = COMPARE_EVERY_WHILE_MOVING / 2;
            } else {
                let event = timeout(COMPARE_EVERY, changed(&mut events)).await.is_ok();
                age_max = if event { Duration::ZERO } else { COMPARED_AGE };
            }
        }
    }

    /// A receiver of the Sentinels' events, if Sentinels name the primary.
    fn failover_events(&self) -> Option<watch::Receiver<()>> {
        match &*self.target {
            Target::Sentinels(sentinels) => Some(sentinels.events()),
            Target::Server(_) | Target::Cluster(_) => None,
        }
    }

    /// Whether Sentinels were replacing the primary when they were last queried.
    async fn moving(&self) -> bool {
        match &*self.target {
            Target::Sentinels(sentinels) => sentinels.moving().await,
            Target::Server(_) | Target::Cluster(_) => false,
        }
    }

    /// The servers, for a person.
    pub(crate) async fn describe(&self) -> String {
        match &*self.target {
            Target::Server(client) => {
                format!("one server, {}", client.get_connection_info().addr())
            }
            Target::Sentinels(sentinels) => sentinels.describe().await,
            Target::Cluster(cluster) => cluster.describe().await,
        }
    }

    async fn server(&self) -> Result<(redis::Client, Server), RedisError> {
        match &*self.target {
            Target::Server(client) => Ok((client.clone(), Server(None))),
            Target::Sentinels(sentinels) => {
                let primary = sentinels.primary(CONNECT_AGE).await?;
                Ok((sentinels.client_of(&primary)?, Server(Some(primary))))
            }
            Target::Cluster(cluster) => {
                let primary = match &self.scope {
                    Scope::Any => cluster.any_primary(CONNECT_AGE).await?,
                    Scope::Slot(slot) => {
                        let map = cluster.map(CONNECT_AGE).await?;
                        map.primary_of(*slot).cloned().ok_or(RedisError::Away)?
                    }
                    Scope::Node(node) => node.clone(),
                };
                Ok((cluster.client_of(&primary)?, Server(Some(primary))))
            }
        }
    }
}

impl Server {
    /// The host, if another server named it.
    pub(crate) fn host(&self) -> Option<&str> {
        self.0.as_ref().map(|server| server.host.as_str())
    }
}

impl Scope {
    /// Whether a connection to this primary serves the scope. The user of a node ends when the map no longer has that.
    fn permits(&self, map: &SlotMap, primary: &ServerAddress) -> bool {
        match self {
            Self::Any => map.primaries().contains(primary),
            Self::Slot(slot) => map.primary_of(*slot) == Some(primary),
            Self::Node(node) => node == primary,
        }
    }
}

/// Waits for the next event: for ever, if there are none.
async fn changed(events: &mut Option<watch::Receiver<()>>) {
    let Some(events) = events else { return std::future::pending().await };
    if events.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Connections whose replies have this deadline too.
fn config(timeout: Duration) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout))
}

async fn open(
    client: &redis::Client,
    server: Server,
    config: &AsyncConnectionConfig,
) -> Result<(MultiplexedConnection, Server), RedisError> {
    let mut connection = client.get_multiplexed_async_connection_with_config(config).await?;
    if server.0.is_some() && !is_primary(&mut connection).await? {
        return Err(RedisError::NotPrimary);
    }
    Ok((connection, server))
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
pub(crate) mod tests;
