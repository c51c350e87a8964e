//! The watchers of each tenant. The stream of a watcher without the right to it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;
use weir_domain::id::{KeyId, TenantId, UserId};
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{Actor, StoreError, Tx};

const WATCHERS_MAX: usize = 1_000;
const WATCHERS_OF_TENANT_MAX: usize = 50;

/// The watchers of each tenant.
#[derive(Debug, Default)]
pub(crate) struct Live(Mutex<HashMap<TenantId, Watched>>);

#[derive(Debug)]
struct Watched {
    turns: Turns,
    /// The open streams of each watcher.
    streams: HashMap<Watcher, usize>,
}

pub(super) type Turns = broadcast::Sender<Arc<Turn>>;

/// The message of one turn to all streams of a tenant.
#[derive(Debug)]
pub(super) struct Turn {
    /// The tick as JSON, if there is one.
    pub(super) tick: Option<String>,
    /// The watchers whose streams end, because a member was removed or a key was revoked.
    pub(super) gone: Vec<Watcher>,
}

/// A person or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Watcher {
    Person(UserId),
    Key(KeyId),
    System,
}

/// One open stream, closed when dropped.
#[derive(Debug)]
pub(super) struct Stream {
    live: Arc<Live>,
    tenant_id: TenantId,
    watcher: Watcher,
    turns: broadcast::Receiver<Arc<Turn>>,
}

impl Watcher {
    pub(super) fn of(actor: &Actor) -> Self {
        match actor {
            Actor::Person { id, .. } => Self::Person(*id),
            Actor::Key { id, .. } => Self::Key(*id),
            Actor::System | Actor::Anonymous => Self::System,
        }
    }
}

impl Live {
    /// Opens a stream. `start` begins the turns of a tenant without other watchers.
    pub(super) fn watch(
        self: &Arc<Self>,
        tenant_id: TenantId,
        watcher: Watcher,
        start: impl FnOnce(Turns),
    ) -> Result<Stream, Problem> {
        let mut tenants = self.lock();
        let of_tenant = tenants.get(&tenant_id).map_or(0, |watched| watched.turns.receiver_count());
        if count(&tenants) >= WATCHERS_MAX || of_tenant >= WATCHERS_OF_TENANT_MAX {
            return Err(Problem::unavailable("too many open live streams; try again later"));
        }
        let watched = tenants.entry(tenant_id).or_insert_with(|| {
            let (turns, _) = broadcast::channel(16);
            start(turns.clone());
            Watched { turns, streams: HashMap::new() }
        });
        *watched.streams.entry(watcher).or_default() += 1;
        let turns = watched.turns.subscribe();
        Ok(Stream { live: Arc::clone(self), tenant_id, watcher, turns })
    }

    /// The number of open streams.
    pub(crate) fn watchers(&self) -> usize {
        count(&self.lock())
    }

    /// Drops a tenant without watchers. Returns whether it was dropped.
    pub(super) fn leave(&self, tenant_id: TenantId, turns: &Turns) -> bool {
        let mut tenants = self.lock();
        let lonely = turns.receiver_count() == 0;
        if lonely {
            tenants.remove(&tenant_id);
        }
        lonely
    }

    /// The watchers of a tenant that are no longer active members or keys of it.
    pub(super) async fn gone(
        &self,
        tx: &mut Tx,
        tenant_id: TenantId,
        now: Timestamp,
    ) -> Result<Vec<Watcher>, StoreError> {
        let mut watchers: Vec<Watcher> = match self.lock().get(&tenant_id) {
            Some(watched) => watched.streams.keys().copied().collect(),
            None => return Ok(Vec::new()),
        };
        let mut users = Vec::new();
        let mut keys = Vec::new();
        for watcher in &watchers {
            match watcher {
                Watcher::Person(id) => users.push(*id),
                Watcher::Key(id) => keys.push(*id),
                Watcher::System => {}
            }
        }
        if !users.is_empty() {
            users = tx.members().active_of(tenant_id, &users).await?;
        }
        if !keys.is_empty() {
            keys = tx.keys().working_of(tenant_id, &keys, now).await?;
        }
        watchers.retain(|watcher| match watcher {
            Watcher::Person(id) => !users.contains(id),
            Watcher::Key(id) => !keys.contains(id),
            Watcher::System => false,
        });
        Ok(watchers)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// The next tick as JSON, or `None` when the stream is over. A stream that was too slow for some ticks continues with the
    /// oldest that remains.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            match self.turns.recv().await {
                Ok(turn) if turn.gone.contains(&self.watcher) => return None,
                Ok(turn) => {
                    if let Some(tick) = &turn.tick {
                        return Some(tick.clone());
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut tenants = self.live.lock();
        let Some(watched) = tenants.get_mut(&self.tenant_id) else { return };
        if let Some(streams) = watched.streams.get_mut(&self.watcher) {
            *streams = streams.saturating_sub(1);
            if *streams == 0 {
                watched.streams.remove(&self.watcher);
            }
        }
    }
}

fn count(tenants: &HashMap<TenantId, Watched>) -> usize {
    tenants.values().map(|watched| watched.turns.receiver_count()).sum()
}
