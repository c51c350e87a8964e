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
use weir_domain::id::GateId;
use weir_domain::rulebook::Rulebook;
use weir_redis::Client;
use weir_redis::signal::{self, Wake};
use weir_store::{GateBeat, Store, StoreError};

use super::Staleness;
use super::disk::{Copy, Disk};
use super::kept::{Kept, SharedKept};
use super::saver::Saver;
use crate::state::GateState;

/// Keeps one gate's rulebook fresh.
#[derive(Debug)]
pub struct Follower {
    state: GateState,
    store: Store,
    saver: Saver,
    kept: SharedKept,
    beat: GateBeat,
    /// Why the last look failed. The same reason is logged once.
    failing: Option<String>,
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
    /// When its rulebook counts as stale, and what follows from that.
    pub staleness: Staleness,
}

/// The net under lost signals: also the longest that a revoked key works when the signal is lost.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The least time between two looks, whatever is published: a look is a transaction in Postgres.
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// Postgres gets this long before a gate that has nothing starts from its disk copy.
const FIRST_LOAD_DEADLINE: Duration = Duration::from_secs(1);
/// An older disk copy is not used: Postgres no longer knows which tenants were deleted since.
const COPY_AGE_MAX_MS: i64 = 300 * 24 * 60 * 60 * 1000;
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
        };
        Self {
            state,
            store,
            saver: Saver::new(disk),
            kept: SharedKept::default(),
            beat,
            failing: None,
        }
    }

    /// Follows until `stop`.
    pub async fn run(mut self, redis: Client, stop: CancellationToken) {
        let wake = Arc::new(Notify::new());
        let listening = {
            let (wake, state) = (Arc::clone(&wake), self.state.clone());
            signal::follow(redis, stop.clone(), move |why| match why {
                Wake::Refunded(subject) => state.denial_cache.invalidate(subject),
                Wake::Reset(subject) => {
                    state.denial_cache.invalidate(subject);
                    state.leases.reset(subject);
                }
                Wake::Disconnected => {
                    state.denial_cache.set_connected(false);
                    state.leases.set_connected(false, state.monotonic.now());
                }
                Wake::Announced(version) if Some(version) <= state.rulebook_version() => {}
                Wake::Subscribed => {
                    state.denial_cache.set_connected(true);
                    state.leases.set_connected(true, state.monotonic.now());
                    wake.notify_one();
                }
                Wake::Announced(_) => wake.notify_one(),
                Wake::Malformed => {
                    state.meters.signal_malformed();
                    wake.notify_one();
                }
                Wake::DataLost => {
                    state.meters.redis_data_lost();
                    state.denial_cache.set_connected(true);
                    state.leases.reset_all();
                }
            })
        };
        let following = stop.run_until_cancelled(self.follow(&wake));
        tokio::join!(listening, following);
        let (present, now) = (self.present(), self.state.clock.now());
        self.saver.save_last(present, &self.kept, now.as_millis()).await;
    }

    async fn follow(&mut self, wake: &Notify) {
        let first = tokio::time::timeout(FIRST_LOAD_DEADLINE, self.look()).await;
        if !matches!(first, Ok(Ok(()))) {
            self.start_from_disk().await;
            wake.notify_one();
        }
        loop {
            let (present, now) = (self.present(), self.state.clock.now());
            self.saver.save(present, &self.kept, now.as_millis()).await;
            self.state.meters.copy_age(self.saver.age());
            self.state.meters.upkeep();
            // The timer drifts a little from gate to gate, so they do not look all at once.
            let spread_ms = u64::try_from(self.beat.boot_id % 256).unwrap_or(0);
            let pause = LOOK_EVERY.saturating_sub(Duration::from_millis(spread_ms));
            let earliest = tokio::time::Instant::now() + LOOK_PAUSE;
            drop(tokio::time::timeout(pause, wake.notified()).await);
            tokio::time::sleep_until(earliest).await;
            let looked = self.look().await;
            if looked.is_err() && self.failing.is_none() {
                // A connection may have gone silent; the next one may work.
                wake.notify_one();
            }
            self.note(looked);
        }
    }

    /// Counts a failed look, and logs each reason once.
    fn note(&mut self, looked: Result<(), StoreError>) {
        match looked {
            Ok(()) if self.failing.take().is_some() => {
                tracing::info!("postgres answers again");
            }
            Ok(()) => {}
            Err(error) => {
                self.state.meters.rulebook_failed();
                let reason = Some(error.reason());
                if self.failing != reason {
                    let version = self.version();
                    tracing::warn!(
                        reason,
                        rulebook.version = version,
                        "postgres does not do what this gate asks"
                    );
                }
                self.failing = reason;
            }
        }
    }

    /// Loads what is newer, if anything is, and reports the version served.
    async fn look(&mut self) -> Result<(), StoreError> {
        let began = std::time::Instant::now();
        self.state.meters.rulebook_polled();
        let newest = self.store.rulebook_version().await?;
        let held = self.state.rulebook_version();
        if held.is_none_or(|held| held < newest) {
            self.catch_up(held).await?;
            self.beat.applied_at = self.state.clock.now();
            self.beat.applied_after_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(0);
        }
        self.state.held.confirm(began.elapsed());
        self.report().await
    }

    async fn report(&mut self) -> Result<(), StoreError> {
        self.beat.rulebook_version = self.version();
        let live = self.store.beat(&self.beat, LIVE_WITHIN).await?;
        self.state.local.set_live_gates(live);
        Ok(())
    }

    /// Takes in what is newer than `held` and puts it in force. Reading many rows and compiling them takes long and gives
    /// no other task a turn, so it is done on a thread where no request waits for one.
    async fn catch_up(&mut self, held: Option<u64>) -> Result<(), StoreError> {
        let (state, store, kept) = (self.state.clone(), self.store.clone(), self.kept.clone());
        let runtime = Handle::current();
        let given_up = CancellationToken::new();
        let guard = given_up.clone().drop_guard();
        let done = tokio::task::spawn_blocking(move || {
            let loading = given_up.run_until_cancelled(store.load_rulebook(held));
            let Some(changes) = runtime.block_on(loading) else { return Ok(()) };
            let changes = changes?;
            let mut kept = kept.lock();
            // One that was given up may have come first.
            if state.rulebook_version() == held {
                let before = state.held.current().unwrap_or_default();
                apply(&state, kept.take_in(&before, changes), kept.left_out());
                kept.replaced = Some(before);
            }
            Ok(())
        });
        let done = done.await;
        drop(guard);
        done.unwrap_or_else(|error| {
            tracing::error!(%error, "the rulebook could not be compiled");
            Ok(())
        })
    }

    async fn start_from_disk(&mut self) {
        let Some(read) = self.saver.read().await else { return };
        match read {
            Ok(Some(copy)) if self.age_ms(&copy) > COPY_AGE_MAX_MS => {
                tracing::error!("the disk copy is older than 300 days: not ready");
            }
            Ok(Some(copy)) => self.start_from(copy).await,
            Ok(None) => tracing::warn!(
                "no rulebook yet: postgres has not answered, and there is no disk copy"
            ),
            Err(error) => {
                self.state.meters.rulebook_failed();
                tracing::error!(%error, "the disk copy is damaged: not ready");
            }
        }
    }

    async fn start_from(&mut self, copy: Copy) {
        let (state, shared) = (self.state.clone(), self.kept.clone());
        let done = tokio::task::spawn_blocking(move || {
            let age_ms = u64::try_from(state.clock.now().as_millis() - copy.saved_at_ms);
            let (version, age) = (copy.version, Duration::from_millis(age_ms.unwrap_or(0)));
            let live_gates = copy.live_gates;
            let (read, book) = Kept::from_copy(copy);
            let mut kept = shared.lock();
            // Postgres may have answered after all.
            if state.rulebook_version().is_some() {
                return;
            }
            *kept = read;
            state.local.set_live_gates(live_gates);
            state.held.confirm(age);
            apply(&state, book, kept.left_out());
            tracing::warn!(rulebook.version = version, "started from the disk copy");
        });
        if let Err(error) = done.await {
            tracing::error!(%error, "the disk copy could not be compiled");
        }
        self.beat.applied_at = self.state.clock.now();
    }

    /// The version served and the number of live gates.
    fn present(&self) -> (u64, u64) {
        (self.version(), self.state.local.live_gates())
    }

    fn age_ms(&self, copy: &Copy) -> i64 {
        self.state.clock.now().as_millis().saturating_sub(copy.saved_at_ms)
    }

    fn version(&self) -> u64 {
        self.state.rulebook_version().unwrap_or(0)
    }
}

/// Puts a rulebook in force.
fn apply(state: &GateState, book: Rulebook, left_out: usize) {
    let version = book.version();
    state.held.apply(book);
    state.meters.rulebook_applied(version, left_out);
    tracing::info!(rulebook.version = version, "rulebook applied");
}
