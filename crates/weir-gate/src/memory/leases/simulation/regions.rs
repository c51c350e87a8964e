//! Random histories of a rule that holds in three regions, each with a gate and a Redis of its own: checks, edits, refunds,
//! stops, kills and promotions, while calls between regions get lost, arrive late or twice, ways are cut, clocks differ, and
//! a Redis loses its data or is replaced by a replica that lacks the last changes. With the real script, the real link and
//! listener, and supplied time. `traffic` measures how much is admitted, and how many checks wait for the home.
//!
//! Each history must satisfy these statements of the documentation:
//! - In a window, each home admits at most the limit, and once more for each time that its Redis lost data.
//! - Ten seconds after all faults, every unit that no check used can be used in each region, except for those of killed gates
//!   and of calls whose effect the caller does not know; and what is left and what was used are together the limit.

mod installation;
mod traffic;
mod ways;

use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::OptionFuture;
use weir_domain::approximation::lease_units_max;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::rulebook::Rulebook;
use weir_redis::placement::Buckets;
use weir_wire::check::CheckAnswer;

use self::installation::{Installation, world_book};
use self::ways::REGIONS;
use super::fixture::{Random, answer, charges, index};
use super::{STEPS, WINDOW_MS, histories};
use crate::memory::lease_keeper::{settle, settle_all, take_early};
use crate::state::GateState;

/// The number of histories without `WEIR_TEST_HISTORIES`.
const HISTORIES: u64 = 40;
const KEEP_EVERY_US: u64 = 250_000;
/// The time after which every unit can be used again.
const HEALED_US: u64 = 10_000_000;

/// The numbers of events in all histories.
#[derive(Debug, Default)]
struct Counts {
    checks: u64,
    admitted: u64,
    by_lease: u64,
    degraded: u64,
    edits: u64,
    refunds: u64,
    cuts: u64,
    late_calls: u64,
    stops: u64,
    kills: u64,
    promotions: u64,
    lost_redis: u64,
    failovers: u64,
    /// Histories in which what is left and what was used were exactly the limit.
    exact_ends: u64,
}

/// The units of a home in its present window.
#[derive(Debug, Default, Clone, Copy)]
struct Window {
    index: u64,
    /// Units admitted, less units refunded.
    consumed: u64,
    limit_max: u64,
    /// The number of times that Redis lost data.
    losses: u64,
    /// The most units that are counted and that no check used: those that killed gates held, and those of unanswered calls.
    unused: u64,
}

struct History<'a> {
    random: Random,
    on: &'a Installation,
    tenant: TenantId,
    seed: u64,
    /// The gate of each region, and the limit in its rulebook.
    gates: Vec<(GateState, u64)>,
    /// The newest rule, without regions.
    book: Rulebook,
    limit: u64,
    home: usize,
    windows: [Window; REGIONS],
    counts: &'a mut Counts,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_three_regions_never_exceed_the_limit_and_heal_within_ten_seconds() {
    let on = Installation::start().await;
    let mut counts = Counts::default();
    let histories = histories(HISTORIES);
    for seed in 1..=histories {
        if let Err(broken) = History::new(seed, &on, &mut counts).run().await {
            panic!("history {seed}: {broken}; {counts:?}");
        }
    }
    on.stop.cancel();
    println!("{histories} histories: {counts:?} {:?}", on.ways.parts().faults);
    let Counts { by_lease, kills, promotions, exact_ends, .. } = counts;
    let enough = by_lease > 10 * histories && kills > histories / 2 && promotions > histories / 4;
    assert!(enough && exact_ends > histories / 25, "{counts:?}");
}

/// Sends the requests for units that a gate made early, as its lease keeper does. `None` if there are none.
fn send_early(state: &GateState) -> Option<impl Future<Output = ()> + Send + use<>> {
    let requests = state.leases.early_requests().now_or_never()?;
    Some(take_early(state.clone(), requests))
}

/// The consistency of a history's rule.
fn consistency(seed: u64) -> &'static str {
    if seed.is_multiple_of(5) { "exact" } else { "leased" }
}

impl<'a> History<'a> {
    fn new(seed: u64, on: &'a Installation, counts: &'a mut Counts) -> Self {
        let mut random = Random(seed ^ 0x7265_6769_6F6E);
        on.time.pass(2 * WINDOW_MS * 1_000 + random.between(0, WINDOW_MS * 1_000));
        for (time, redis) in on.times.iter().zip(&on.redis) {
            // Gates accept calls whose clocks differ by at most 30 seconds.
            let ahead = i64::try_from(random.between(0, 28_000_000)).expect("seconds");
            time.set_ahead(ahead - 14_000_000);
            redis.command("FLUSHALL").expect("redis answers");
        }
        let limit = random.between(200, 3_000);
        let tenant = TenantId::from_u128(u128::from(seed) | (0x52u128 << 100));
        let book = world_book(tenant, (seed, 1), consistency(seed), limit);
        let gates = (0..REGIONS).map(|region| (on.gate(&book, region, 0), limit)).collect();
        let windows = [Window::default(); REGIONS];
        {
            let mut parts = on.ways.parts();
            parts.random = Random(seed);
            (parts.faults_one_in, parts.is_cut) = (8, [false; REGIONS]);
        }
        let mut history =
            Self { random, on, tenant, seed, gates, book, limit, home: 0, windows, counts };
        history.pass(0);
        history
    }

    async fn run(mut self) -> Result<(), String> {
        self.on.linked().await;
        for _ in 0..2 * STEPS {
            self.step().await;
            self.holds()?;
        }
        self.heal().await;
        self.end().await
    }

    async fn step(&mut self) {
        let at = self.random_region();
        match self.random.between(0, 27) {
            0..=10 => self.checks(at).await,
            11..=14 => {
                let us = self.random.between(1, 1_500) * 1_000;
                self.pass(us);
                self.keep().await;
            }
            15 => self.refund(at).await,
            16 => self.edit(),
            17..=18 => self.follow(at),
            19 => {
                let (leases, now) = (&self.gates[at].0.leases, self.on.time.instant());
                leases.set_connected(Buckets::NONE, now);
                leases.set_connected(Buckets::ALL, now);
            }
            20 => self.end_gate(at).await,
            21 => {
                self.counts.cuts += 1;
                self.on.ways.parts().is_cut[at] = true;
            }
            22..=24 => self.on.ways.parts().is_cut = [false; REGIONS],
            25 => self.deliver_late().await,
            26 => self.lose_data(at),
            _ => {
                self.counts.promotions += 1;
                self.home = at;
            }
        }
    }

    /// Some checks by one gate, shortly after one another.
    async fn checks(&mut self, at: usize) {
        let costs = if self.random.one_in(8) { self.limit / 6 } else { 1 + self.limit / 300 };
        self.on.ways.parts().can_be_late = true;
        for _ in 0..self.random.between(1, 12) {
            let cost = self.random.between(1, costs);
            let us = self.random.between(0, 30_000);
            self.pass(us);
            let answer = self.ask(at, Operation::Consume, cost).await;
            let window = self.window_of(at);
            if answer.degraded.is_some() {
                // The home possibly counted it.
                window.unused += cost;
                self.counts.degraded += 1;
            } else if answer.allowed {
                window.consumed += cost;
                self.counts.admitted += 1;
            }
            self.counts.checks += 1;
        }
        self.on.ways.parts().can_be_late = false;
    }

    async fn refund(&mut self, at: usize) {
        let most = self.window_of(at).consumed;
        if most == 0 {
            return;
        }
        let units = self.random.between(1, most);
        let degraded = self.ask(at, Operation::Refund, units).await.degraded.is_some();
        let window = self.window_of(at);
        window.consumed -= units;
        // The home possibly took them back.
        window.unused += if degraded { units } else { 0 };
        self.counts.refunds += 1;
        self.announce();
    }

    fn edit(&mut self) {
        self.counts.edits += 1;
        self.limit = self.random.between(200, 3_000);
        let of = (self.seed, self.book.version() + 1);
        self.book = world_book(self.tenant, of, consistency(self.seed), self.limit);
    }

    /// One gate takes over the newest rule and the newest home.
    fn follow(&mut self, at: usize) {
        let before = self.on.ways.parts().homes[at];
        let (state, limit) = &mut self.gates[at];
        *limit = self.limit;
        if before != self.home {
            self.windows[before].unused += state.leases.held();
            state.leases.reset_all();
            state.denial_cache.clear();
        }
        self.on.apply(state, &self.book, at, self.home);
        self.pass(0);
    }

    /// One gate stops in order or is killed, and another takes its place.
    async fn end_gate(&mut self, at: usize) {
        let reaches_home = {
            let parts = self.on.ways.parts();
            let home = parts.homes[at];
            parts.is_cut == [false; REGIONS] && parts.homes[home] == home
        };
        // A gate that does not reach its home tries for some seconds of real time before it ends as if it were killed.
        if !reaches_home || self.random.one_in(2) {
            self.counts.kills += 1;
            self.window_of(at).unused += self.gates[at].0.leases.held();
        } else {
            self.counts.stops += 1;
            settle_all(&self.gates[at].0).await;
        }
        self.gates[at] = (self.on.gate(&self.book, at, self.home), self.limit);
        self.pass(0);
    }

    async fn deliver_late(&mut self) {
        let calls = self.on.ways.deliver_late().await;
        self.counts.late_calls += calls;
        // A call has one check here, and possibly counts it only in the next window.
        let limit = self.windows.iter().map(|window| window.limit_max).max().unwrap_or(0);
        for window in &mut self.windows {
            window.unused += calls * (limit / 6 + lease_units_max(limit));
        }
    }

    /// A Redis loses all counters, or those that changed since its replica was complete.
    fn lose_data(&mut self, at: usize) {
        let command = |words: &str| self.on.redis[at].command(words).expect("redis answers");
        let is_failover = self.random.one_in(2);
        if is_failover && self.random.one_in(2) {
            let copied = "EVAL \"redis.call('SELECT', 1) redis.call('FLUSHDB') redis.call('SELECT', 0) \
                for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1) end return 7\" 0";
            assert_eq!(command(copied).trim(), ":7");
            return;
        }
        if is_failover {
            self.counts.failovers += 1;
            command("SWAPDB 0 1");
        } else {
            self.counts.lost_redis += 1;
            command("FLUSHDB");
            let state = &self.gates[at].0;
            self.windows[at].unused += state.leases.held();
            state.denial_cache.clear();
            state.leases.reset_all();
        }
        self.windows[at].losses += 1;
    }

    /// Each gate settles what it does not use.
    async fn keep(&mut self) {
        for at in 0..REGIONS {
            let (state, now) = (self.gates[at].0.clone(), self.on.time.instant());
            OptionFuture::from(send_early(&state)).await;
            settle(&state, state.leases.take_unsettled(false, now), now).await;
            self.window_of(at).unused += state.leases.take_lost();
        }
    }

    fn holds(&self) -> Result<(), String> {
        let fits = |window: &Window| window.consumed <= window.limit_max * (1 + window.losses);
        self.windows
            .iter()
            .all(fits)
            .then_some(())
            .ok_or_else(|| format!("too much: {:?}", self.windows))
    }

    /// Ends all faults, and lets the time pass after which every unit can be used.
    async fn heal(&mut self) {
        {
            let mut parts = self.on.ways.parts();
            (parts.is_cut, parts.faults_one_in) = ([false; REGIONS], 0);
        }
        self.deliver_late().await;
        self.on.linked().await;
        for at in 0..REGIONS {
            self.follow(at);
        }
        for _ in 0..HEALED_US / KEEP_EVERY_US {
            self.pass(KEEP_EVERY_US);
            self.keep().await;
        }
        self.announce();
    }

    /// Uses what is left.
    async fn end(mut self) -> Result<(), String> {
        let window = self.windows[self.home];
        let held: u64 = self.gates.iter().map(|(state, _)| state.leases.held()).sum();
        let possible = self.limit.saturating_sub(window.consumed);
        let at = self.random_region();
        let mut left = 0;
        for region in (0..REGIONS).chain([at]) {
            let peek = self.peek(region).await;
            let remaining = peek.limits[0].remaining.expect("the home decides");
            // A peek states what is left after it.
            left = if peek.allowed { remaining + 1 } else { 0 };
            if held > 0 || left + window.unused < possible {
                return Err(format!("{left} left in {region}, {held} held: {window:?}"));
            }
            if window.losses == 0 && left > possible {
                return Err(format!("{left} left in {region}, more than {possible}: {window:?}"));
            }
        }
        self.counts.exact_ends += u64::from(left == possible && window.consumed > 0);
        if left > 0 && !self.ask(at, Operation::Consume, left).await.allowed {
            return Err(format!("{left} are left in {at}, and denied"));
        }
        let beyond = self.ask(self.home, Operation::Consume, 1).await;
        if beyond.allowed { Err(format!("one more than {left}: {window:?}")) } else { Ok(()) }
    }

    /// Asks until the home decides. A gate that was started anew first tells the caller its run.
    async fn peek(&mut self, at: usize) -> CheckAnswer {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            self.on.linked().await;
            let answer = self.ask(at, Operation::Peek, 1).await;
            if answer.degraded.is_none() {
                return answer;
            }
            assert!(Instant::now() < until, "the home does not answer {at}: {answer:?}");
        }
    }

    async fn ask(&mut self, at: usize, operation: Operation, cost: u64) -> CheckAnswer {
        let state = self.gates[at].0.clone();
        let book = state.held.current().expect("a rulebook");
        let of = (self.tenant, &self.on.times[at]);
        let (answer, by_lease) = answer((&state, &book), of, operation, cost).await;
        self.counts.by_lease += u64::from(by_lease);
        OptionFuture::from(send_early(&state)).await;
        answer
    }

    /// Announces a change of the counter to all gates.
    fn announce(&self) {
        let charges = charges(&self.book, self.tenant, &self.on.time);
        for (state, _) in &self.gates {
            state.denial_cache.invalidate(charges[0].subject);
        }
    }

    fn pass(&mut self, us: u64) {
        self.on.time.pass(us);
        let limit = self.gates.iter().map(|(_, limit)| *limit).max().unwrap_or(0);
        for (window, time) in self.windows.iter_mut().zip(&self.on.times) {
            let index = index(time.micros());
            if index != window.index {
                *window = Window { index, ..Window::default() };
            }
            window.limit_max = window.limit_max.max(limit);
        }
    }

    /// The window of the home that a gate knows.
    fn window_of(&mut self, at: usize) -> &mut Window {
        let home = self.on.ways.parts().homes[at];
        &mut self.windows[home]
    }

    fn random_region(&mut self) -> usize {
        usize::try_from(self.random.between(0, REGIONS as u64 - 1)).expect("few regions")
    }
}
