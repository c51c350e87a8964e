//! The follower: keeps the rulebook in force up to date, and reports the version that this gate serves.
//!
//! The follower polls Postgres when a version is announced, when its timer ends and after each new subscription. An
//! announcement is only a reason to poll: its content decides nothing. On any failure the rulebook in force remains, and
//! the follower tries again at the next poll. Announcements during a load cause one more poll.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weir_domain::id::GateId;
use weir_domain::rulebook::Rulebook;
use weir_redis::Client;
use weir_redis::signal::{self, Wake};
use weir_store::{GateBeat, LiveGates, RulebookPoll, RulebookVersion, Store, StoreError};

use super::Staleness;
use super::apart;
use super::cache::{RulebookCache, SharedCache};
use super::load;
use super::snapshot::{CompiledTenants, Snapshot, SnapshotFile, WholeTenants};
use super::snapshot_writer::{SavedState, SnapshotWriter};
use super::whole_load::{self, WholeRulebook};
use crate::regions;
use crate::rulebook::clock::ClockSource;
use crate::state::GateState;

/// Keeps the rulebook of one gate up to date.
#[derive(Debug)]
pub struct Follower {
    state: GateState,
    store: Store,
    snapshots: SnapshotWriter,
    cache: SharedCache,
    /// The region of this gate.
    region: Option<String>,
    beat: GateBeat,
    /// The reason for which the last poll failed. The same reason is logged once.
    failing: Option<String>,
}

/// Settings of a follower.
#[derive(Debug, Clone)]
pub struct FollowerSettings {
    /// The gate's id.
    pub id: GateId,
    /// The id of this run of the gate.
    pub boot_id: u128,
    /// The address at which clients reach the gate.
    pub address: String,
    /// The folder of the snapshot. Without it no snapshots are written.
    pub state_dir: Option<PathBuf>,
    /// The region of the gate, if the installation has regions.
    pub region: Option<String>,
    /// The age at which the rulebook counts as stale, and the reaction to that.
    pub staleness: Staleness,
}

/// The interval of polls without announcements. When announcements are lost, a revoked key is accepted for at most this
/// time.
const POLL_EVERY: Duration = Duration::from_secs(2);
/// The shortest time between two polls, however many versions are announced: a poll is a transaction in Postgres.
const POLL_PAUSE: Duration = Duration::from_millis(50);
/// The time for which a gate with a snapshot waits for Postgres before it starts from the snapshot.
const FIRST_LOAD_DEADLINE: Duration = Duration::from_secs(1);
/// The greatest age of a snapshot that is used: Postgres no longer knows which tenants were deleted since an older one.
const SNAPSHOT_AGE_MAX_MS: i64 = 300 * 24 * 60 * 60 * 1000;
/// The time without a report after which a gate does not count as live.
const LIVE_WITHIN: Duration = Duration::from_secs(10);

impl Follower {
    /// A follower that has loaded nothing.
    pub fn new(state: GateState, store: Store, settings: FollowerSettings) -> Self {
        let file = settings.state_dir.and_then(|folder| match SnapshotFile::new(&folder) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "could not write snapshots");
                None
            }
        });
        state.held.set_staleness(settings.staleness);
        let now = state.clock.now();
        let beat = GateBeat {
            id: settings.id,
            boot_id: settings.boot_id,
            address: settings.address,
            rulebook_version: 0,
            applied_at: now,
            applied_after_ms: 0,
            started_at: now,
            weir_version: env!("CARGO_PKG_VERSION").to_owned(),
            region: settings.region.clone(),
            redis_up: false,
            redis_round_trip_us: None,
            load: None,
        };
        Self {
            state,
            store,
            snapshots: SnapshotWriter::new(file),
            cache: SharedCache::new(RulebookCache::of_region(settings.region.clone())),
            region: settings.region,
            beat,
            failing: None,
        }
    }

    /// Follows the rulebook until `stop`.
    pub async fn run(mut self, redis: Client, stop: CancellationToken) {
        let wake = Arc::new(Notify::new());
        let listening = {
            let wake = Arc::clone(&wake);
            let state = self.state.clone();
            signal::follow(redis, stop.clone(), move |why| match why {
                Wake::Refunded(subject) => state.denial_cache.invalidate(subject),
                Wake::Reset(tenant, subject) => {
                    state.denial_cache.invalidate(subject);
                    state.leases.reset(tenant, subject);
                }
                Wake::Disconnected(buckets) => {
                    state.denial_cache.set_connected(buckets);
                    state.leases.set_connected(buckets, state.monotonic.now());
                }
                Wake::Subscribed(buckets) => {
                    state.denial_cache.set_connected(buckets);
                    state.leases.set_connected(buckets, state.monotonic.now());
                    wake.notify_one();
                }
                Wake::Announced(_) => {
                    state.held.announced();
                    wake.notify_one();
                }
                Wake::Malformed => {
                    state.meters.rulebook.signal_malformed();
                    wake.notify_one();
                }
                Wake::DataLost => {
                    state.meters.redis_data_lost();
                    state.denial_cache.clear();
                    state.leases.reset_all();
                }
            })
        };
        let following = stop.run_until_cancelled(self.follow(&wake));
        tokio::join!(listening, following);
        let (present, snapshot) = self.snapshot();
        self.snapshots.save_last(present, snapshot).await;
    }

    async fn follow(&mut self, wake: &Notify) {
        let deadline = if self.snapshots.has_file() { FIRST_LOAD_DEADLINE } else { Duration::MAX };
        let first = tokio::time::timeout(deadline, self.poll()).await;
        if !matches!(first, Ok(Ok(()))) {
            self.start_from_snapshot().await;
            wake.notify_one();
        }
        loop {
            let (present, snapshot) = self.snapshot();
            self.snapshots.save(present, snapshot).await;
            self.state.meters.copy_age(self.snapshots.age());
            self.state.meters.upkeep();
            // The interval differs a little from gate to gate, so that not all poll at once.
            let spread_ms = u64::try_from(self.beat.boot_id % 256).unwrap_or(0);
            let pause = POLL_EVERY.saturating_sub(Duration::from_millis(spread_ms));
            let earliest = tokio::time::Instant::now() + POLL_PAUSE;
            drop(tokio::time::timeout(pause, wake.notified()).await);
            tokio::time::sleep_until(earliest).await;
            let polled = self.poll().await;
            if polled.is_err() && self.failing.is_none() {
                // Only this connection has possibly failed: poll again with another one.
                wake.notify_one();
            }
            self.log(polled);
        }
    }

    /// Counts a failed poll, and logs each reason once.
    fn log(&mut self, polled: Result<(), StoreError>) {
        match polled {
            Ok(()) if self.failing.take().is_some() => {
                tracing::info!("Postgres is reachable again");
            }
            Ok(()) => {}
            Err(error) => {
                self.state.meters.rulebook.failed();
                let reason = Some(error.reason());
                if self.failing != reason {
                    let version = self.version();
                    tracing::warn!(
                        reason,
                        rulebook.version = version,
                        "could not load the rulebook from Postgres"
                    );
                }
                self.failing = reason;
            }
        }
    }

    /// Loads the rulebook if Postgres has another version, and reports the version served.
    async fn poll(&mut self) -> Result<(), StoreError> {
        let began = std::time::Instant::now();
        self.state.meters.rulebook.polled();
        let held = self.cache.lock().version();
        let RulebookPoll { newest, is_known, at } = self.store.poll_rulebook(held).await?;
        self.state.clock.correct(ClockSource::Postgres, at, began.elapsed());
        if held != Some(newest) {
            if !self.catch_up(held, is_known).await? {
                // A thread panicked, which is logged. The rulebook in force is not the newest.
                return self.report().await;
            }
            self.beat.applied_at = self.state.clock.now();
            self.beat.applied_after_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(0);
        }
        self.state.held.confirm(began.elapsed());
        self.report().await
    }

    async fn report(&mut self) -> Result<(), StoreError> {
        self.beat.rulebook_version = self.version();
        self.beat.redis_up = self.state.limiter.up();
        self.beat.redis_round_trip_us = self.state.round_trip.get_us();
        self.beat.load = load::measured(&self.state, std::time::Instant::now());
        let live = self.store.beat(&self.beat, LIVE_WITHIN).await?;
        self.state.local.set_live_gates(live);
        Ok(())
    }

    /// Loads what is new since `held` and puts it in force. Returns whether it is. The whole rulebook is loaded when Postgres
    /// does not know the version held: it was restored, or a failover lost commits.
    async fn catch_up(
        &mut self,
        held: Option<RulebookVersion>,
        is_known: bool,
    ) -> Result<bool, StoreError> {
        let (store, known) = (self.store.clone(), held.filter(|_| is_known));
        let changes = async move {
            match known {
                Some(held) => store.load_changes(held).await,
                None => Ok(None),
            }
        };
        let Some(changes) = apart::read(changes).await else { return Ok(false) };
        if let Some(changes) = changes? {
            let apply = |cache: &mut RulebookCache, before: &Rulebook| cache.apply(before, changes);
            return Ok(self.put_in_force(held, false, apply).await);
        }
        let parts = self.cache.lock().parts();
        let Some(whole) = whole_load::load(self.store.clone(), parts).await? else {
            return Ok(false);
        };
        let WholeRulebook { changes, tenants } = whole;
        Ok(self.put_in_force(held, true, |cache, _| cache.replace(changes, tenants)).await)
    }

    /// Puts the rulebook that `next` returns in force, if the present one is still `held`. Returns `false` if it panics.
    async fn put_in_force(
        &self,
        held: Option<RulebookVersion>,
        whole: bool,
        next: impl FnOnce(&mut RulebookCache, &Rulebook) -> Rulebook + Send + 'static,
    ) -> bool {
        let state = self.state.clone();
        let shared = self.cache.clone();
        apart::run(move || {
            let mut cache = shared.lock();
            // A load that was cancelled was possibly applied all the same.
            if cache.version() == held {
                let before = state.held.current().unwrap_or_default();
                let book = next(&mut cache, &before);
                let version = book.version();
                follow_home(&state, &before, &book);
                state.held.apply(book);
                state.meters.rulebook.applied(version, cache.left_out());
                after_apply(&state, held.filter(|_| whole), version);
                cache.replaced = Some(before);
            }
        })
        .await
        .is_some()
    }

    async fn start_from_snapshot(&mut self) {
        let Some(read) = self.snapshots.read().await else { return };
        match read {
            Ok(Some(snapshot)) if self.age_ms(&snapshot) > SNAPSHOT_AGE_MAX_MS => {
                tracing::error!("the snapshot is older than 300 days: not ready");
            }
            Ok(Some(snapshot)) => self.start_from(snapshot).await,
            Ok(None) => {
                tracing::warn!("no rulebook yet: Postgres is unreachable and there is no snapshot");
            }
            Err(error) => {
                self.state.meters.rulebook.failed();
                tracing::error!(%error, "the snapshot is damaged: not ready");
            }
        }
    }

    async fn start_from(&mut self, snapshot: Snapshot<CompiledTenants>) {
        let state = self.state.clone();
        let shared = self.cache.clone();
        let region = self.region.clone();
        let age_ms = u64::try_from(self.age_ms(&snapshot)).unwrap_or(0);
        let done = tokio::task::spawn_blocking(move || {
            let version = snapshot.version;
            let live_gates = snapshot.live_gates;
            let (read, book) = RulebookCache::from_snapshot(snapshot, region);
            let mut cache = shared.lock();
            // Postgres has possibly answered in the meantime.
            if state.rulebook_version().is_some() {
                return;
            }
            *cache = read;
            // How many of them are in this region is not known yet.
            state.local.set_live_gates(LiveGates { all: live_gates, of_region: live_gates });
            state.held.confirm(Duration::from_millis(age_ms));
            follow_home(&state, &Rulebook::default(), &book);
            state.held.apply(book);
            state.meters.rulebook.applied(version, cache.left_out());
            tracing::warn!(rulebook.version = version, "started from the snapshot");
        });
        if let Err(error) = done.await {
            tracing::error!(%error, "could not compile the snapshot");
        }
        self.beat.applied_at = self.state.clock.now();
    }

    /// The state that a snapshot would hold now, and the function that takes the snapshot.
    fn snapshot(&self) -> (SavedState, impl FnOnce() -> Snapshot<WholeTenants> + Send + 'static) {
        let live_gates = self.state.local.live_gates().all;
        let saved_at_ms = self.state.clock.now().as_millis();
        let present = self.cache.lock().version();
        let cache = self.cache.clone();
        let state = self.state.clone();
        let take = move || {
            // A rulebook is put in force while the cache is locked, so the two belong together.
            let cache = cache.lock();
            let book = state.held.current().unwrap_or_default();
            cache.snapshot(book, saved_at_ms, live_gates)
        };
        ((present, live_gates), take)
    }

    fn age_ms<T>(&self, snapshot: &Snapshot<T>) -> i64 {
        self.state.clock.now().as_millis().saturating_sub(snapshot.saved_at_ms)
    }

    fn version(&self) -> u64 {
        self.state.rulebook_version().unwrap_or(0)
    }
}

/// Lets the link ask the home of a rulebook that comes into force. Units and denials of another home are worth nothing.
fn follow_home(state: &GateState, before: &Rulebook, book: &Rulebook) {
    if let Some(link) = state.home.get() {
        regions::follow_home(link, book);
    }
    let name = |book: &Rulebook| book.regions().home().map(|home| home.name.clone());
    if name(before) != name(book) {
        state.leases.reset_all();
        state.denial_cache.clear();
    }
}

/// Logs a version that is in force. `forgotten` is a version before it that Postgres does not know.
fn after_apply(state: &GateState, forgotten: Option<RulebookVersion>, version: u64) {
    let Some(forgotten) = forgotten else {
        tracing::info!(rulebook.version = version, "rulebook applied");
        return;
    };
    state.leases.reset_all();
    state.meters.rulebook.lineage_changed();
    tracing::warn!(
        rulebook.held = forgotten.number,
        rulebook.version = version,
        "the history in Postgres differs from that of this rulebook: reloaded everything"
    );
}
