//! The state that handlers and tasks share. It is cheap to clone and passed as axum's state.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use weir_domain::time::Clock;
use weir_redis::Client;
use weir_redis::eviction::{self, Eviction};
use weir_redis::limiter::Limiter;
use weir_region::Link;

use crate::decide::heavy_matching::HeavyMatching;
use crate::decide::open_holds::OpenHolds;
use crate::decide::tenant_rates::TenantRates;
use crate::memory::denial_cache::DenialCache;
use crate::memory::leases::Leases;
use crate::memory::monotonic::Monotonic;
use crate::memory::usage_cache::UsageCache;
use crate::metrics::meters::Meters;
use crate::metrics::round_trip::RoundTrip;
use crate::metrics::stock_meters::Stock;
use crate::metrics::traffic::Traffic;
use crate::outage::charge_buffer::ChargeBuffer;
use crate::outage::eviction::EvictionPolicy;
use crate::outage::local::Local;
use crate::outage::unreadable::UnreadableKeys;
use crate::requests::deferred::Deferral;
use crate::rulebook::CurrentRulebook;
use crate::rulebook::clock::GateClock;
use crate::tally::Tally;
use crate::tally::decision_export::{DecisionExport, DecisionExportSettings, DecisionLines};

/// The shared state of one gate.
#[derive(Debug, Clone)]
pub struct GateState(Arc<GateParts>);

/// The parts of a [`GateState`].
#[derive(Debug)]
pub struct GateParts {
    /// The rulebook in force.
    pub(crate) held: CurrentRulebook,
    /// Decides checks by Redis.
    pub(crate) limiter: Limiter,
    /// Decides checks in memory while Redis is away, for rules with `on_store_failure: local`.
    pub(crate) local: Local,
    /// Denials that cannot change yet.
    pub(crate) denial_cache: DenialCache,
    /// Units that were taken from Redis in advance.
    pub(crate) leases: Leases,
    /// Records and commits that Redis did not run.
    pub(crate) charge_buffer: ChargeBuffer,
    /// The leases of concurrency limits that callers hold, for the metrics.
    pub(crate) open_leases: OpenHolds,
    /// The reservations that callers hold, for the metrics.
    pub(crate) open_reservations: OpenHolds,
    /// The rates of tenants that have a ceiling of checks a second.
    pub(crate) tenant_rates: TenantRates,
    /// Bounds the processors that match regular expressions.
    pub(crate) heavy_matching: HeavyMatching,
    /// The metrics.
    pub(crate) meters: Meters,
    /// The duration of the calls of Redis.
    pub(crate) round_trip: RoundTrip,
    /// The duration of the calls of the home region.
    pub(crate) home_round_trip: RoundTrip,
    /// The checks of the last heartbeats.
    pub(crate) traffic: Traffic,
    /// The answers of the last second to customers.
    pub(crate) usage_cache: UsageCache,
    /// Whether Redis evicts counters.
    pub(crate) eviction: EvictionPolicy,
    /// Reports keys in Redis that cannot be read.
    pub(crate) unreadable: UnreadableKeys,
    /// Counts decisions for the statistics.
    pub(crate) tally: Tally,
    /// Exports decisions, if that was started.
    pub(crate) decision_export: OnceLock<DecisionExport>,
    /// The clock for the expiry of keys and overrides, never of counters.
    pub(crate) clock: GateClock,
    /// The clock for leases and cached denials.
    pub(crate) monotonic: Monotonic,
    /// The randomness of the ids of reservations.
    pub(crate) random: Random,
    /// The link to the home region, if this gate is in a region.
    pub(crate) home: OnceLock<Link>,
    /// Deferred jobs, if the gate can sign them.
    pub(crate) deferral: OnceLock<Arc<Deferral>>,
}

/// A source of randomness that is suitable for secrets.
#[derive(Clone)]
pub struct Random(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) + Send + Sync;

impl GateState {
    /// A gate that has not loaded a rulebook yet.
    pub fn new(limiter: Limiter, clock: Clock, random: Random) -> Self {
        Self::with(limiter, clock, Monotonic::default(), Tally::per_thread(), random)
    }

    /// The same, without statistics, so that their cost can be measured.
    pub fn without_statistics(limiter: Limiter, clock: Clock, random: Random) -> Self {
        Self::with(limiter, clock, Monotonic::default(), Tally::new(0), random)
    }

    /// Without statistics, and with supplied time.
    #[cfg(test)]
    pub(crate) fn supplied(limiter: Limiter, clock: Clock, monotonic: Monotonic) -> Self {
        Self::with(limiter, clock, monotonic, Tally::new(0), Random::new(|_| {}))
    }

    fn with(
        limiter: Limiter,
        clock: Clock,
        monotonic: Monotonic,
        tally: Tally,
        random: Random,
    ) -> Self {
        Self(Arc::new(GateParts {
            held: CurrentRulebook::default(),
            limiter,
            local: Local::new(clock.clone()),
            denial_cache: DenialCache::new(),
            leases: Leases::new(),
            charge_buffer: ChargeBuffer::default(),
            open_leases: OpenHolds::default(),
            open_reservations: OpenHolds::default(),
            tenant_rates: TenantRates::new(),
            heavy_matching: HeavyMatching::new(),
            meters: Meters::new(),
            round_trip: RoundTrip::default(),
            home_round_trip: RoundTrip::default(),
            traffic: Traffic::default(),
            usage_cache: UsageCache::default(),
            eviction: EvictionPolicy::default(),
            unreadable: UnreadableKeys::default(),
            tally,
            decision_export: OnceLock::new(),
            clock: GateClock::new(clock, monotonic.clone()),
            monotonic,
            random,
            home: OnceLock::new(),
            deferral: OnceLock::new(),
        }))
    }

    /// Watches until `stop` whether Redis evicts keys.
    pub async fn watch_eviction(self, redis: Client, stop: CancellationToken) {
        let note = |found: Eviction| {
            self.meters.redis_evicted.increment(found.evicted);
            self.eviction.note(found.policy);
        };
        eviction::watch(redis, stop, note).await;
    }

    /// Lets checks of rules that hold in all regions be decided over this link. Only the first call has an effect.
    pub fn link_home(&self, link: Link) {
        self.home.get_or_init(|| link);
    }

    /// Starts the export of decisions. Returns their lines, or `None` if it was started before.
    pub fn export_decisions(&self, settings: DecisionExportSettings) -> Option<DecisionLines> {
        let (exported, dropped) = self.meters.decision_export();
        let (export, lines) = DecisionExport::new(settings, exported, dropped);
        self.decision_export.set(export).is_ok().then_some(lines)
    }

    /// The metrics in Prometheus' text format.
    pub(crate) fn metrics(&self) -> String {
        let now = self.monotonic.now();
        let stock = Stock {
            buffered: self.charge_buffer.len() as u64,
            leases: self.open_leases.count(now),
            reservations: self.open_reservations.count(now),
        };
        self.meters.clock_ahead(self.clock.ahead_ms());
        self.meters.render(&self.limiter.health(), stock)
    }

    /// The version in force, or why load balancers and proxies must not send requests to this gate.
    pub(crate) fn ready(&self) -> Result<u64, &'static str> {
        let version = self.rulebook_version().ok_or("the rulebook has not been loaded yet")?;
        if self.held.refuses() {
            return Err("the rulebook is older than WEIR_RULEBOOK_MAX_AGE_S");
        }
        // Checks that came before the first connections would be decided without them.
        if self.held.is_first_second() {
            if !self.limiter.up() {
                return Err("Redis has not answered yet");
            }
            if self.home.get().is_some_and(Link::is_away) {
                return Err("the home region has not answered yet");
            }
        }
        Ok(version)
    }

    /// The version in force, if any.
    pub fn rulebook_version(&self) -> Option<u64> {
        self.held.current().map(|book| book.version())
    }
}

impl Random {
    /// A source that fills slices with `fill`.
    pub fn new(fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// `N` random bytes.
    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.0)(&mut bytes);
        bytes
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

impl Deref for GateState {
    type Target = GateParts;

    fn deref(&self) -> &GateParts {
        &self.0
    }
}
