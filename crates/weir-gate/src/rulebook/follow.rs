//! The follower: keeps the rulebook fresh, and says which version this gate serves.
//!
//! Wakes on a signal, on a timer and on each new subscription; takes no input from the signal beyond
//! "perhaps newer"; on any failure keeps the rulebook it has and tries again at the next wake.
//! Signals during a load cause one more load.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weir_domain::id::{GateId, TenantId};
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Timestamp;
use weir_redis::Client;
use weir_redis::signal::{self, Wake};
use weir_store::{GateBeat, Store, StoreError};
use weir_wire::stored::StoredTenant;

use super::disk::{Copy, Disk};
use super::load::stored;
use super::saver::Saver;
use crate::state::GateState;

/// Keeps one gate's rulebook fresh.
#[derive(Debug)]
pub struct Follower {
    state: GateState,
    store: Store,
    saver: Saver,
    copy: Copy,
    left_out: usize,
    beat: GateBeat,
}

/// How a gate follows and reports.
#[derive(Debug, Clone)]
pub struct FollowerSettings {
    /// Which gate this is.
    pub id: GateId,
    /// Which run of it.
    pub boot_id: u128,
    /// Where clients reach it.
    pub address: String,
    /// Where the disk copy lies; none: no copy.
    pub state_dir: Option<PathBuf>,
}

/// The net under lost signals: also the longest that a revoked key works when the signal is lost.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Postgres gets this long before a gate that has nothing starts from its disk copy.
const FIRST_LOAD_DEADLINE: Duration = Duration::from_secs(3);
/// A gate that has not been seen for so long does not count as live.
const LIVE_WITHIN: Duration = Duration::from_secs(10);

impl Follower {
    /// A follower that has loaded nothing yet.
    pub fn new(state: GateState, store: Store, settings: FollowerSettings) -> Self {
        let disk = settings.state_dir.and_then(|folder| match Disk::new(&folder) {
            Ok(disk) => Some(disk),
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "no disk copy can be kept");
                None
            }
        });
        let now = state.clock.now();
        let beat = GateBeat {
            id: settings.id,
            boot_id: settings.boot_id,
            address: settings.address,
            rulebook_version: 0,
            applied_at: now,
            applied_after_ms: 0,
            started_at: now,
        };
        let (saver, copy, left_out) = (Saver::new(disk), Copy::default(), 0);
        Self { state, store, saver, copy, left_out, beat }
    }

    /// Follows until `stop`.
    pub async fn run(mut self, redis: Client, stop: CancellationToken) {
        let wake = Arc::new(Notify::new());
        let listening = {
            let (wake, state) = (Arc::clone(&wake), self.state.clone());
            signal::follow(redis, stop.clone(), move |why| match why {
                Wake::GivenBack(subject) => state.remembered.forget(subject),
                Wake::Reset(subject) => {
                    state.remembered.forget(subject);
                    state.leases.forget(subject);
                }
                Wake::Deaf => {
                    state.remembered.hears(false);
                    state.leases.hears(false);
                }
                Wake::Announced(version) if Some(version) <= state.rulebook_version() => {}
                Wake::Subscribed => {
                    state.remembered.hears(true);
                    state.leases.hears(true);
                    wake.notify_one();
                }
                Wake::Announced(_) | Wake::Unreadable => wake.notify_one(),
            })
        };
        let following = stop.run_until_cancelled(self.follow(&wake));
        tokio::join!(listening, following);
        self.saver.save_last(&self.copy, self.state.clock.now().as_millis()).await;
    }

    async fn follow(&mut self, wake: &Notify) {
        let first = tokio::time::timeout(FIRST_LOAD_DEADLINE, self.look()).await;
        if !matches!(first, Ok(Ok(()))) {
            self.start_from_disk().await;
        }
        loop {
            self.saver.save(&self.copy, self.state.clock.now().as_millis()).await;
            self.state.meters.upkeep();
            // The timer drifts a little from gate to gate, so they do not look all at once.
            let spread_ms = u64::try_from(self.beat.boot_id % 256).unwrap_or(0);
            let pause = LOOK_EVERY.saturating_sub(Duration::from_millis(spread_ms));
            drop(tokio::time::timeout(pause, wake.notified()).await);
            if let Err(error) = self.look().await {
                self.state.meters.rulebook_failed();
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "keep the last rulebook: postgres cannot be read");
            }
        }
    }

    /// Loads what is newer, if anything is, and reports the version served.
    async fn look(&mut self) -> Result<(), StoreError> {
        let began = std::time::Instant::now();
        let newest = self.store.rulebook_version().await?;
        let held = self.state.rulebook_version();
        if held.is_none_or(|held| held < newest) {
            let (version, changed, gone) = load(&self.store, held).await?;
            self.apply(version, changed, gone).await;
            self.beat.applied_after_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(0);
        }
        self.state.held.confirm(self.state.clock.now());
        self.report().await
    }

    async fn report(&mut self) -> Result<(), StoreError> {
        self.beat.rulebook_version = self.state.rulebook_version().unwrap_or(0);
        let live = self.store.beat(&self.beat, LIVE_WITHIN).await?;
        self.state.local.set_live_gates(live);
        Ok(())
    }

    /// Compiles tenants and puts them in force; what cannot be read is left out and named. A large tenant takes long to
    /// compile, and requests need the threads meanwhile.
    async fn apply(&mut self, version: u64, changed: Vec<StoredTenant>, gone: Vec<TenantId>) {
        let mut copy = std::mem::take(&mut self.copy);
        let state = self.state.clone();
        let compiling = move || {
            let none = Rulebook::default();
            let held = state.held.current();
            let changed: Vec<_> = changed.into_iter().map(Arc::new).collect();
            let (book, left_out) =
                compile(held.as_deref().unwrap_or(&none), version, &changed, &gone);
            for gone in &gone {
                copy.tenants.remove(&gone.to_string());
            }
            for tenant in changed {
                copy.tenants.insert(tenant.id.clone(), tenant);
            }
            copy.version = version;
            state.held.apply(book);
            (copy, left_out)
        };
        let Ok((copy, left_out)) = tokio::task::spawn_blocking(compiling).await else {
            tracing::error!("the rulebook could not be compiled");
            return;
        };
        self.copy = copy;
        self.left_out += left_out;
        self.beat.applied_at = self.state.clock.now();
        self.state.meters.rulebook_applied(version, self.left_out);
        tracing::info!(rulebook.version = version, "rulebook applied");
    }

    async fn start_from_disk(&mut self) {
        let Some(read) = self.saver.read() else { return };
        match read {
            Ok(Some(copy)) => {
                let version = copy.version;
                self.state.held.confirm(Timestamp::from_millis(copy.saved_at_ms));
                let tenants = copy.tenants.into_values().map(Arc::unwrap_or_clone);
                self.apply(version, tenants.collect(), Vec::new()).await;
                tracing::warn!(rulebook.version = version, "started from the disk copy");
            }
            Ok(None) => tracing::warn!("postgres is away and there is no disk copy: not ready"),
            Err(error) => {
                self.state.meters.rulebook_failed();
                tracing::error!(%error, "the disk copy is damaged: not ready");
            }
        }
    }
}

/// What is newer than `held`, in the stored form. Reading many rows takes long and gives no other task a turn, so it is
/// done on a thread where nobody waits for one; it ends early with whoever asked for it.
async fn load(
    store: &Store,
    held: Option<u64>,
) -> Result<(u64, Vec<StoredTenant>, Vec<TenantId>), StoreError> {
    let (store, runtime) = (store.clone(), Handle::current());
    let given_up = CancellationToken::new();
    let guard = given_up.clone().drop_guard();
    let reading = tokio::task::spawn_blocking(move || {
        let rows = runtime.block_on(given_up.run_until_cancelled(store.load_rulebook(held)))?;
        Some(rows.map(|rows| {
            (rows.version, rows.tenants.into_iter().map(stored).collect(), rows.deleted)
        }))
    });
    let read = reading.await.expect("reading rows does not panic");
    drop(guard);
    read.expect("nobody gave up")
}

/// `held` with these tenants replaced, and how much of them could not be read.
fn compile(
    held: &Rulebook,
    version: u64,
    changed: &[Arc<StoredTenant>],
    gone: &[TenantId],
) -> (Rulebook, usize) {
    let mut changes: Vec<_> = gone.iter().map(|tenant| (*tenant, None)).collect();
    let mut count = 0;
    for tenant in changed {
        let Ok(id) = tenant.id.parse::<TenantId>() else { continue };
        let (rules, left_out) = tenant.compile();
        for it in &left_out {
            tracing::error!(tenant.id = %id, id = it.id, reason = it.reason, "left out of the rulebook");
        }
        count += left_out.len();
        changes.push((id, Some(rules)));
    }
    (held.with_changes(version, changes), count)
}
