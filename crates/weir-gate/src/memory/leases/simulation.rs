//! Random histories of leased rules: checks, edits, refunds, leases, lost notifications and kills, with the real
//! script and supplied time. `approximate` has those of approximate rules, `regions` those of rules that hold in
//! three regions.
//!
//! Each history must satisfy these statements of the documentation:
//! - Admissions never exceed the limit in force, except by units that were leased when the limit was lowered, or when more
//!   was refunded than had been consumed: at most 1 % of the limit for each gate.
//! - Units are lost only by a kill, and no more than the killed gates held.

mod approximate;
mod fixture;
mod regions;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::rulebook::Rulebook;
use weir_redis::limiter::{Answer, Limiter, ScriptCheck};
use weir_wire::check::CheckAnswer;

use self::fixture::{Random, Time, WINDOW_MS, book, gate_state, index, limiter};
use super::LeaseOutcome;
use crate::memory::lease_keeper::{settle_all, settle_idle};
use crate::state::GateState;

/// The number of histories without `WEIR_TEST_HISTORIES`.
const HISTORIES: u64 = 200;
const STEPS: u64 = 30;
const GATES: usize = 3;

/// The numbers of events in all histories.
#[derive(Debug, Default)]
struct Counts {
    checks: u64,
    admitted: u64,
    by_lease: u64,
    edits: u64,
    refunds: u64,
    refunds_of_too_much: u64,
    lost_notifications: u64,
    lost_subscriptions: u64,
    lost_answers: u64,
    stops: u64,
    kills: u64,
    windows: u64,
    settled_histories: u64,
    units_held_by_killed: u64,
    units_lost: u64,
}

struct Gate {
    state: GateState,
    /// The rulebook that the gate serves.
    book: Arc<Rulebook>,
    /// The limit of its rule.
    limit: u64,
}

/// The units of the present window.
#[derive(Debug, Default)]
struct Window {
    index: u64,
    /// Units admitted, less units refunded.
    consumed: u64,
    /// Leased units that excessive refunds released.
    refunded_leases: u64,
    /// Units consumed and leased when a limit was last lowered.
    before_edit: u64,
    /// Units that killed gates held.
    killed: u64,
}

struct History<'a> {
    random: Random,
    time: &'a Time,
    limiter: &'a Limiter,
    tenant: TenantId,
    gates: Vec<Gate>,
    /// The newest rule.
    book: Arc<Rulebook>,
    limit: u64,
    window: Window,
    counts: &'a mut Counts,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_never_admit_more_than_the_limit_and_lose_no_more_than_kills_held() {
    let time = Time::begin();
    let stop = CancellationToken::new();
    let limiter = limiter(weir_local::shared::redis(), &time, stop.clone()).await;
    let mut counts = Counts::default();
    let histories = histories(HISTORIES);
    for seed in 1..=histories {
        let history = History::new(seed, &time, &limiter, &mut counts);
        if let Err(broken) = history.run().await {
            panic!("history {seed}: {broken}; {counts:?}");
        }
    }
    stop.cancel();
    println!("{histories} histories: {counts:?}");
    let Counts { by_lease, kills, settled_histories, .. } = counts;
    let enough = by_lease > 10 * histories && kills > histories / 2;
    assert!(enough && settled_histories > histories * 9 / 10, "{counts:?}");
}

/// The number of histories that `WEIR_TEST_HISTORIES` asks for.
fn histories(default: u64) -> u64 {
    let chosen = std::env::var_os("WEIR_TEST_HISTORIES");
    let chosen = chosen.map(|text| text.to_str().and_then(|text| text.parse().ok()));
    chosen.map_or(default, |count| count.expect("a number of histories"))
}

impl<'a> History<'a> {
    fn new(seed: u64, time: &'a Time, limiter: &'a Limiter, counts: &'a mut Counts) -> Self {
        let mut random = Random(seed);
        // Histories begin at different times of a window of their own.
        let begins_ms = random.between(0, WINDOW_MS - 1);
        let next_window = WINDOW_MS * 1000 - time.micros().0 % (WINDOW_MS * 1000);
        time.pass(next_window + begins_ms * 1000);
        let limit = random.between(200, 3_000);
        let process = u128::from(std::process::id()) << 64;
        let tenant = TenantId::from_u128((process | u128::from(seed)) ^ (0x51u128 << 100));
        let book = book(tenant, seed, 1, limit);
        let window = Window { index: index(time.micros()), ..Window::default() };
        let mut history =
            Self { random, time, limiter, tenant, gates: Vec::new(), book, limit, window, counts };
        history.gates = (0..GATES).map(|_| history.fresh_gate()).collect();
        history
    }

    async fn run(mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            self.step().await;
            self.holds()?;
        }
        self.end().await
    }

    async fn step(&mut self) {
        let at = self.random.between(0, GATES as u64 - 1);
        let at = usize::try_from(at).expect("few gates");
        match self.random.between(0, 19) {
            0..=8 => self.checks(at).await,
            9..=11 => {
                let ms = self.random.between(1, 1_500);
                self.pass(ms * 1000);
                for gate in &self.gates {
                    settle_idle(&gate.state, self.time.instant()).await;
                }
            }
            12..=13 => self.refund(at).await,
            14 => self.edit(),
            15 => self.follow(at),
            16 => {
                self.counts.lost_subscriptions += 1;
                let leases = &self.gates[at].state.leases;
                leases.set_connected(weir_redis::placement::Buckets::NONE, self.time.instant());
                leases.set_connected(weir_redis::placement::Buckets::ALL, self.time.instant());
            }
            17 => self.lose_answer(at).await,
            18 => self.stop(at).await,
            _ => self.kill(at),
        }
    }

    /// Some checks by one gate, shortly after one another.
    async fn checks(&mut self, at: usize) {
        let costs = if self.random.one_in(8) { self.limit / 6 } else { 1 + self.limit / 300 };
        for _ in 0..self.random.between(1, 12) {
            let cost = self.random.between(1, costs);
            let us = self.random.between(0, 30_000);
            self.pass(us);
            let answer = self.ask(at, Operation::Consume, cost).await;
            self.counts.checks += 1;
            if answer.allowed {
                self.counts.admitted += 1;
                self.window.consumed += cost;
            }
        }
    }

    async fn refund(&mut self, at: usize) {
        let too_much = self.random.one_in(5);
        let most = if too_much { 2 * self.limit } else { self.window.consumed };
        if most == 0 {
            return;
        }
        let units = self.random.between(1, most);
        // The gate that refunds returns its own leases before.
        self.ask(at, Operation::Refund, units).await;
        let excess = units.saturating_sub(self.window.consumed);
        self.window.refunded_leases += excess.min(self.held());
        self.window.consumed -= units.min(self.window.consumed);
        self.window.before_edit -= units.min(self.window.before_edit);
        self.counts.refunds += 1;
        self.counts.refunds_of_too_much += u64::from(excess > 0);
        let charges = self.charges(at);
        for gate in &self.gates {
            if self.random.one_in(3) {
                self.counts.lost_notifications += 1;
            } else {
                gate.state.denial_cache.invalidate(charges[0].subject);
            }
        }
    }

    /// Edits the rule; gates follow later.
    fn edit(&mut self) {
        self.counts.edits += 1;
        self.limit = self.random.between(200, 3_000);
        self.book = book(self.tenant, self.seed(), self.book.version() + 1, self.limit);
    }

    /// One gate takes over the newest rule.
    fn follow(&mut self, at: usize) {
        let before = self.limit_in_force();
        self.gates[at].book = Arc::clone(&self.book);
        self.gates[at].limit = self.limit;
        self.lowered_from(before);
    }

    /// Redis can give units, and the gate receives no answer.
    async fn lose_answer(&mut self, at: usize) {
        let (charges, cost, now) = (self.charges(at), 1, self.time.instant());
        let state = self.gates[at].state.clone();
        match state.leases.spend(self.tenant, &charges, cost, now) {
            LeaseOutcome::NotLeased => {}
            LeaseOutcome::Admitted(..) => self.window.consumed += cost,
            LeaseOutcome::Take(request) => {
                self.counts.lost_answers += 1;
                if self.random.one_in(3) {
                    return;
                }
                let asked = ScriptCheck {
                    tenant: self.tenant,
                    namespace: charges[0].active.rule.namespace(),
                    operation: Operation::Consume,
                    cost: request.units(),
                    rules: &charges,
                    lease_id: LeaseId::default(),
                    idempotency: request.idempotency(),
                    charged: None,
                };
                let answers = self.limiter.check(&[asked]).await;
                if let [Ok(Answer::Decided(_, decisions))] = answers.as_slice()
                    && decisions[0].allowed
                {
                    self.window.consumed += cost;
                }
            }
        }
    }

    /// One gate stops in order, and another takes its place.
    async fn stop(&mut self, at: usize) {
        self.counts.stops += 1;
        let before = self.limit_in_force();
        settle_all(&self.gates[at].state).await;
        self.gates[at] = self.fresh_gate();
        self.lowered_from(before);
    }

    /// One gate is killed, and another takes its place.
    fn kill(&mut self, at: usize) {
        self.counts.kills += 1;
        let (held, before) = (self.gates[at].state.leases.held(), self.limit_in_force());
        self.counts.units_held_by_killed += held;
        self.window.killed += held;
        self.gates[at] = self.fresh_gate();
        self.lowered_from(before);
    }

    /// Checks that admissions exceed the limit in force by no more than the documented units.
    fn holds(&self) -> Result<(), String> {
        let Window { consumed, refunded_leases, before_edit, .. } = self.window;
        let most = (self.limit_in_force() + refunded_leases).max(before_edit);
        if consumed <= most {
            return Ok(());
        }
        Err(format!("{consumed} units admitted of {most}: {:?}", self.window))
    }

    /// Stops all gates. Units that Redis counted and no check used are lost.
    async fn end(mut self) -> Result<(), String> {
        for gate in &self.gates {
            settle_all(&gate.state).await;
        }
        self.pass(0);
        let left_us = WINDOW_MS * 1000 - self.time.micros().0 % (WINDOW_MS * 1000);
        // In the last second of a window no units can be returned.
        if left_us <= 1_000_000 {
            return Ok(());
        }
        self.counts.settled_histories += 1;
        let most = 1_000_000_000;
        self.book = book(self.tenant, self.seed(), self.book.version() + 1, most);
        self.gates[0] = self.fresh_gate();
        let answer = self.ask(0, Operation::Peek, 1).await;
        let taken = most - answer.limits[0].remaining.expect("redis answers") - 1;
        let lost = taken.saturating_sub(self.window.consumed);
        self.counts.units_lost += lost;
        if lost > self.window.killed {
            return Err(format!("{lost} units lost: {taken} taken, {:?}", self.window));
        }
        Ok(())
    }

    async fn ask(&mut self, at: usize, operation: Operation, cost: u64) -> CheckAnswer {
        let Gate { state, book, .. } = &self.gates[at];
        let (answer, by_lease) =
            fixture::ask((state, book), (self.tenant, self.time), operation, cost).await;
        self.counts.by_lease += u64::from(by_lease);
        answer
    }

    fn charges(&self, at: usize) -> Vec<RuleCharge> {
        fixture::charges(&self.gates[at].book, self.tenant, self.time)
    }

    fn fresh_gate(&self) -> Gate {
        let state = gate_state(self.time, self.limiter);
        Gate { state, book: Arc::clone(&self.book), limit: self.limit }
    }

    fn pass(&mut self, us: u64) {
        self.time.pass(us);
        let index = index(self.time.micros());
        if index != self.window.index {
            self.counts.windows += 1;
            self.window = Window { index, ..Window::default() };
        }
    }

    /// The largest limit by which a gate decides.
    fn limit_in_force(&self) -> u64 {
        self.gates.iter().map(|gate| gate.limit).max().unwrap_or(0)
    }

    fn lowered_from(&mut self, before: u64) {
        if self.limit_in_force() < before {
            self.window.before_edit =
                self.window.before_edit.max(self.window.consumed + self.held());
        }
    }

    fn held(&self) -> u64 {
        self.gates.iter().map(|gate| gate.state.leases.held()).sum()
    }

    fn seed(&self) -> u64 {
        u64::try_from(self.tenant.to_u128() & u128::from(u64::MAX)).expect("the low half")
    }
}
