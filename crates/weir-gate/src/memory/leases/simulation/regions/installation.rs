//! Three regions, each with a Redis and a gate, and the ways between them.

use std::array;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use weir_domain::id::TenantId;
use weir_domain::regions::{Region, Regions};
use weir_domain::rulebook::{InstallationState, Rulebook};
use weir_local::{Redis, RedisOptions, ScratchDir};
use weir_redis::limiter::Limiter;
use weir_redis::signal::Signal;
use weir_region::Link;

use super::super::WINDOW_MS;
use super::super::fixture::{Time, book_with, gate_state, limiter};
use super::ways::{REGIONS, Ways};
use crate::state::GateState;

/// The parts that all histories share.
pub(super) struct Installation {
    pub(super) time: Time,
    /// The time by the clocks of each region.
    pub(super) times: [Time; REGIONS],
    pub(super) redis: [Redis; REGIONS],
    limiters: Vec<Limiter>,
    pub(super) ways: Ways,
    links: Vec<(String, Link)>,
    signal: Signal,
    pub(super) stop: CancellationToken,
    _scratch: ScratchDir,
}

impl Installation {
    pub(super) async fn start() -> Self {
        let (time, stop) = (Time::begin(), CancellationToken::new());
        let times = array::from_fn(|_| time.of_region());
        let scratch = ScratchDir::create().expect("a folder");
        let redis: [Redis; REGIONS] = array::from_fn(|region| {
            let data_dir = scratch.path().join(format!("redis-{region}"));
            Redis::start(RedisOptions { data_dir, settings: Vec::new() }).expect("a Redis")
        });
        let mut limiters = Vec::new();
        for (redis, time) in redis.iter().zip(&times) {
            limiters.push(limiter(redis, time, stop.clone()).await);
        }
        let (ways, links) = Ways::open(&times, &stop).await;
        let client = weir_redis::client(&redis[0].url()).expect("an address");
        let signal = Signal::start(client, stop.clone());
        Self { time, times, redis, limiters, ways, links, signal, stop, _scratch: scratch }
    }

    /// A rulebook as the gate of a region has it.
    fn book_of(&self, book: &Rulebook, region: usize, home: usize) -> Rulebook {
        let gates = vec![self.links[region].0.clone()];
        let regions = (0..REGIONS)
            .map(|region| Region { name: format!("r{region}"), gates: gates.clone() })
            .collect();
        let regions = Regions::parse(Some(&format!("r{home}")), regions).expect("three regions");
        let is_home_elsewhere = regions.is_home_elsewhere(Some(&format!("r{region}")));
        let installation =
            InstallationState { regions, is_home_elsewhere, ..InstallationState::default() };
        book.clone().with_installation(installation)
    }

    /// A new gate of a region, in the place of the one before.
    pub(super) fn gate(&self, book: &Rulebook, region: usize, home: usize) -> GateState {
        let state = gate_state(&self.times[region], &self.limiters[region]);
        state.link_home(self.links[region].1.clone());
        self.apply(&state, book, region, home);
        self.ways.listen(region, &state, &self.signal);
        state
    }

    /// Lets a gate follow the newest rulebook.
    pub(super) fn apply(&self, state: &GateState, book: &Rulebook, region: usize, home: usize) {
        let book = self.book_of(book, region, home);
        state.held.apply(book);
        self.ways.parts().homes[region] = home;
    }

    /// Waits until every link knows that a gate answers: on a machine that stands still it possibly does not.
    pub(super) async fn linked(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        while !self.links.iter().all(|(_, link)| link.up()) {
            assert!(Instant::now() < until, "the home never answered");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A rulebook with one rule of all regions.
pub(super) fn world_book(
    tenant: TenantId,
    of: (u64, u64),
    consistency: &str,
    limit: u64,
) -> Rulebook {
    let limit = json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": WINDOW_MS });
    let body = json!({
        "name": "world", "count_by": ["user"], "reach": "world", "consistency": consistency,
        "on_store_failure": "deny", "limits": [limit],
    });
    book_with(tenant, of, &body)
}
