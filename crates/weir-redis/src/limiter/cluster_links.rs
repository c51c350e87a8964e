//! The links to the primaries of a cluster, and the task that opens and closes them as slots move.
//!
//! Each bucket has the link of its primary. A primary that is away affects only the checks of its own buckets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use weir_domain::id::TenantId;

use super::link::Link;
use super::pending::PendingCheck;
use super::settings::LimiterSettings;
use super::status::{PrimaryHealth, Status};
use crate::client::{Client, ServerAddress, SlotMap};
use crate::error::RedisError;
use crate::placement::Bucket;

/// The links that callers and the keeper share.
#[derive(Debug, Default)]
pub(super) struct ClusterLinks {
    routes: RwLock<Routes>,
    /// Nodes without a link that a redirection named.
    wanted: Mutex<Vec<ServerAddress>>,
    /// Wakes the keeper.
    changed: Notify,
    script_loads: Arc<AtomicU64>,
}

/// The links, which are open until the last handle is dropped.
#[derive(Debug)]
pub(super) struct OpenLinks(pub(super) Arc<ClusterLinks>);

#[derive(Debug, Default)]
struct Routes {
    links: HashMap<ServerAddress, Link>,
    /// The primary of each bucket, by the position of the bucket.
    buckets: Vec<Option<Link>>,
    map: Arc<SlotMap>,
    closed: bool,
}

/// The link of a part of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// The link of its bucket.
    Bucket,
    /// The link of a node that a redirection named.
    Node(ServerAddress),
}

/// The task that opens and closes links.
#[derive(Debug)]
pub(super) struct LinkKeeper {
    client: Client,
    settings: LimiterSettings,
    shared: Arc<ClusterLinks>,
    batchers: JoinSet<()>,
    /// The nodes that a redirection named, with the time of the last one.
    redirected: HashMap<ServerAddress, Instant>,
    /// Whether the slot map could not be read.
    failing: bool,
}

/// The interval in which the slot map is read, and the one while a primary is away.
const REFRESH_EVERY: Duration = Duration::from_secs(1);
const REFRESH_EVERY_WHILE_AWAY: Duration = Duration::from_millis(200);
/// The shortest time between two reads, however many redirections arrive.
const REFRESH_PAUSE: Duration = Duration::from_millis(50);
/// The time for which a link to a node without slots remains open after a redirection.
const REDIRECTED_FOR: Duration = Duration::from_secs(30);
/// The most nodes that redirections can name at a time.
const WANTED_MAX: usize = 64;

impl Drop for OpenLinks {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl ClusterLinks {
    pub(super) fn push(
        &self,
        route: &Route,
        tenant: TenantId,
        pending: PendingCheck,
    ) -> Result<(), RedisError> {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let link = match route {
            Route::Bucket => routes.of_bucket(pending.encoded.bucket),
            Route::Node(node) => routes.links.get(node),
        };
        if let Some(link) = link {
            return link.push(tenant, pending);
        }
        drop(routes);
        if let Route::Node(node) = route {
            self.want(node);
        }
        Err(RedisError::Away)
    }

    /// The host of a bucket's primary.
    pub(super) fn host_of(&self, bucket: Bucket) -> Option<String> {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.map.primary_of(bucket.slot()).map(|primary| primary.host.clone())
    }

    /// Whether the primary of a bucket decides checks.
    pub(super) fn is_up(&self, bucket: Bucket) -> bool {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.of_bucket(bucket).is_some_and(|link| link.status().up())
    }

    /// Reads the slot map soon, because it is out of date.
    pub(super) fn refresh(&self) {
        self.changed.notify_one();
    }

    pub(super) fn up(&self) -> bool {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.up()
    }

    pub(super) fn script_loads(&self) -> u64 {
        self.script_loads.load(Ordering::Relaxed)
    }

    /// The state of each primary that serves buckets, in the order of their slots.
    pub(super) fn primaries(&self) -> Vec<PrimaryHealth> {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let health = |address: ServerAddress| {
            let status = routes.links.get(&address).map(Link::status);
            PrimaryHealth {
                up: status.is_some_and(Status::up),
                buckets: routes.map.bucket_count(&address),
                calls: status.map(Status::calls).unwrap_or_default(),
                address: address.to_string(),
            }
        };
        routes.map.primaries().into_iter().map(health).collect()
    }

    /// Asks for a link to this node.
    fn want(&self, node: &ServerAddress) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.len() < WANTED_MAX && !wanted.contains(node) {
            wanted.push(node.clone());
        }
        self.changed.notify_one();
    }

    /// Closes all links, for ever.
    fn close(&self) {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        *routes = Routes { closed: true, ..Routes::default() };
        self.changed.notify_one();
    }
}

impl Routes {
    fn of_bucket(&self, bucket: Bucket) -> Option<&Link> {
        self.buckets.get(bucket.index())?.as_ref()
    }

    /// Whether every bucket has a primary that decides checks.
    fn up(&self) -> bool {
        let is_up = |link: &Option<Link>| link.as_ref().is_some_and(|link| link.status().up());
        !self.buckets.is_empty() && self.buckets.iter().all(is_up)
    }
}

impl LinkKeeper {
    pub(super) fn new(
        client: Client,
        settings: LimiterSettings,
        shared: Arc<ClusterLinks>,
    ) -> Self {
        let (batchers, redirected) = (JoinSet::new(), HashMap::new());
        Self { client, settings, shared, batchers, redirected, failing: false }
    }

    /// Works until `stop`, or until the links are closed.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.work(&stop)).await;
        self.shared.close();
        while let Some(ended) = self.batchers.join_next().await {
            pass_panic_on(ended);
        }
    }

    async fn work(&mut self, stop: &CancellationToken) {
        let mut earliest = Instant::now();
        loop {
            sleep_until(earliest).await;
            earliest = Instant::now() + REFRESH_PAUSE;
            match self.client.slot_map(REFRESH_PAUSE).await {
                Ok(map) => {
                    self.failing = false;
                    self.follow(map, stop);
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.failing, true) {
                        let (reason, cause) = (error.label(), error.cause());
                        tracing::warn!(reason, cause, "no Redis node returned its slot map");
                    }
                }
            }
            let up = self.shared.up();
            let pause = if up { REFRESH_EVERY } else { REFRESH_EVERY_WHILE_AWAY };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.shared.changed.notified() => {}
                Some(ended) = self.batchers.join_next() => pass_panic_on(ended),
            }
            if !self.open_wanted(stop) {
                return;
            }
        }
    }

    /// Opens links to the nodes that redirections named. Returns false if the links were closed.
    fn open_wanted(&mut self, stop: &CancellationToken) -> bool {
        let wanted = {
            let mut wanted = self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *wanted)
        };
        let shared = Arc::clone(&self.shared);
        let mut routes = shared.routes.write().unwrap_or_else(PoisonError::into_inner);
        if routes.closed {
            return false;
        }
        for node in wanted {
            self.redirected.insert(node.clone(), Instant::now());
            self.open(&mut routes.links, node, stop);
        }
        true
    }

    /// Opens links to new primaries, closes those that lead to former ones, and gives each bucket its link.
    fn follow(&mut self, map: Arc<SlotMap>, stop: &CancellationToken) {
        self.redirected.retain(|_, at| at.elapsed() < REDIRECTED_FOR);
        let shared = Arc::clone(&self.shared);
        let mut routes = shared.routes.write().unwrap_or_else(PoisonError::into_inner);
        if routes.closed {
            return;
        }
        let primaries = map.primaries();
        routes.links.retain(|node, _| {
            let stays = primaries.contains(node) || self.redirected.contains_key(node);
            if !stays {
                tracing::info!(%node, "a Redis node no longer has any slots");
            }
            stays
        });
        let before = routes.map.primaries();
        for primary in primaries {
            // A link that a redirection had opened, or left open, was refused by the node as long as that was a replica.
            if let Some(link) = routes.links.get(&primary).filter(|_| !before.contains(&primary)) {
                link.status().retry_soon();
            }
            self.open(&mut routes.links, primary, stop);
        }
        let link_of = |bucket: Bucket| {
            let primary = map.primary_of(bucket.slot())?;
            routes.links.get(primary).cloned()
        };
        routes.buckets = Bucket::all().map(link_of).collect();
        routes.map = map;
    }

    /// Opens a link to a node, unless there is one.
    fn open(
        &mut self,
        links: &mut HashMap<ServerAddress, Link>,
        node: ServerAddress,
        stop: &CancellationToken,
    ) {
        let Entry::Vacant(vacant) = links.entry(node) else { return };
        let (client, settings) = (self.client.at(vacant.key().clone()), self.settings.clone());
        let (link, batcher) = Link::new(client, settings, Arc::clone(&self.shared.script_loads));
        self.batchers.spawn(batcher.run(stop.clone()));
        vacant.insert(link);
    }
}

fn pass_panic_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use weir_local::{RedisCluster, ScratchDir};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn link_to_a_node_that_becomes_a_primary_tries_again_at_once() {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 1).expect("it starts");
        let client = crate::client(&cluster.url()).expect("an address");
        let map = async || client.slot_map(Duration::ZERO).await.expect("a node answers");
        let (stop, shared) = (CancellationToken::new(), Arc::<ClusterLinks>::default());
        let settings = LimiterSettings::default();
        let mut keeper = LinkKeeper::new(client.clone(), settings.clone(), Arc::clone(&shared));
        let before = map().await;
        keeper.follow(Arc::clone(&before), &stop);

        let failing_over =
            tokio::task::spawn_blocking(move || cluster.fail_over(0).map(|()| cluster));
        let _cluster = failing_over.await.expect("it runs").expect("the replica takes over");
        let deadline = Instant::now() + Duration::from_mins(2);
        let (after, promoted) = loop {
            let after = map().await;
            let is_new = |node: &ServerAddress| !before.primaries().contains(node);
            if let Some(promoted) = after.primaries().into_iter().find(is_new) {
                break (after, promoted);
            }
            assert!(Instant::now() < deadline, "no node names the new primary");
        };
        // A redirection named the node while it was a replica. No batcher runs, so nothing else takes what it is asked for.
        let (link, _batcher) = Link::new(client.at(promoted.clone()), settings, Arc::default());
        shared.routes.write().expect("no panic").links.insert(promoted, link.clone());
        keeper.follow(Arc::clone(&after), &stop);
        assert!(link.status().retry_after(Duration::ZERO).await);
        keeper.follow(after, &stop);
        assert!(!link.status().retry_after(Duration::ZERO).await, "it was a primary before");
        stop.cancel();
    }
}
