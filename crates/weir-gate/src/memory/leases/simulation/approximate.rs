//! Random histories of approximate rules, with the real script and supplied time: checks, edits, refunds, leases, lost
//! answers, steps of Redis' clock, stops and kills.
//!
//! Each history must satisfy the bound of [`weir_domain::approximation`], which a model of the algorithm in Rust asserts:
//! - The admissions of a token bucket are those of an exact bucket with a capacity that is larger by the units that the gates
//!   can hold.
//! - The formula of a sliding window counter holds whenever a unit is used, except for as many units as the gates held when
//!   Redis' clock was set, or when more was refunded than had been consumed.
//! - Both except for units that a gate held when the limit was lowered.
//! - Units are lost only by a kill, and no more than the killed gates held.

mod model;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::LeaseId;
use weir_domain::approximation::lease_units_max;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Micros;
use weir_redis::limiter::{Limiter, ScriptCheck};
use weir_redis::placement::Buckets;

use self::model::{Kind, Model};
use super::fixture::{Random, Time, ask, book_of, charges, gate_state, index, limiter};
use super::{GATES, Gate, STEPS, WINDOW_MS};
use crate::memory::lease_keeper::{settle_all, settle_idle};
use crate::memory::leases::LeaseOutcome;

const HISTORIES: u64 = 400;

#[derive(Debug, Default)]
struct Counts {
    checks: u64,
    by_lease: u64,
    edits: u64,
    refunds: u64,
    clock_steps: u64,
    lost_subscriptions: u64,
    lost_answers: u64,
    stops: u64,
    kills: u64,
    killed_units: u64,
    settled_histories: u64,
    lost_units: u64,
    /// Admissions that an exact limit without leases would have denied.
    beyond_exact: u64,
}

struct History<'a> {
    kind: Kind,
    seed: u64,
    random: Random,
    time: &'a Time,
    limiter: &'a Limiter,
    tenant: TenantId,
    gates: Vec<Gate>,
    book: Arc<Rulebook>,
    limit: u64,
    model: Model,
    /// The units that a gate could hold under the largest limit so far.
    gate_units: u64,
    /// The units admitted in the present window, less units refunded.
    consumed: u64,
    window: u64,
    has_stepped: bool,
    counts: &'a mut Counts,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_token_buckets_keep_their_bound_and_lose_no_more_than_kills_held() {
    let counts = run(Kind::TokenBucket, 0x7b).await;
    assert!(
        counts.beyond_exact > 0,
        "no lease was used after its tokens were refilled: {counts:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_sliding_window_counters_keep_their_formula_and_lose_no_more_than_kills_held()
{
    run(Kind::SlidingWindowCounter, 0x5c).await;
}

async fn run(kind: Kind, salt: u128) -> Counts {
    let time = Time::begin();
    let stop = CancellationToken::new();
    let limiter = limiter(weir_local::shared::redis(), &time, stop.clone()).await;
    let mut counts = Counts::default();
    for seed in 1..=HISTORIES {
        let history = History::new(kind, (seed, salt), &time, &limiter, &mut counts);
        if let Err(broken) = history.run().await {
            panic!("history {seed} of {kind:?}: {broken}; {counts:?}");
        }
    }
    stop.cancel();
    println!("{HISTORIES} histories of {kind:?}: {counts:?}");
    let Counts { by_lease, kills, settled_histories, clock_steps, .. } = counts;
    let happened = by_lease > 4_000 && kills > 200 && settled_histories > 100 && clock_steps > 100;
    assert!(happened, "{counts:?}");
    counts
}

impl<'a> History<'a> {
    fn new(
        kind: Kind,
        (seed, salt): (u64, u128),
        time: &'a Time,
        limiter: &'a Limiter,
        counts: &'a mut Counts,
    ) -> Self {
        let mut random = Random(seed);
        // Histories begin at different times of a window.
        time.pass(random.between(0, WINDOW_MS) * 1_000);
        let limit = random.between(200, 3_000);
        let process = u128::from(std::process::id()) << 64;
        let tenant = TenantId::from_u128((process | u128::from(seed)) ^ (salt << 100));
        let book = book_of(tenant, (seed, 1), "approximate", &kind.json(limit));
        let mut history = Self {
            kind,
            seed,
            random,
            time,
            limiter,
            tenant,
            gates: Vec::new(),
            book,
            limit,
            gate_units: lease_units_max(limit),
            model: Model::new(kind),
            consumed: 0,
            window: index(time.micros()),
            has_stepped: false,
            counts,
        };
        history.gates = (0..GATES).map(|_| history.fresh_gate()).collect();
        history
    }

    async fn run(mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            self.step().await?;
            self.keep().await;
            for at in 0..GATES {
                let held = self.gates[at].state.leases.held();
                if held > self.gate_units {
                    return Err(format!("gate {at} holds {held} of {}", self.gate_units));
                }
            }
        }
        self.end().await
    }

    async fn step(&mut self) -> Result<(), String> {
        let at = usize::try_from(self.random.between(0, GATES as u64 - 1)).expect("few gates");
        match self.random.between(0, 20) {
            0..=9 => return self.checks(at).await,
            10..=11 => {
                for _ in 0..self.random.between(1, 16) {
                    self.pass(250_000);
                    self.keep().await;
                }
            }
            12..=13 => self.refund(at).await,
            14 => self.edit(),
            15 => self.follow(at),
            16 => {
                self.counts.lost_subscriptions += 1;
                let leases = &self.gates[at].state.leases;
                leases.set_connected(Buckets::NONE, self.time.instant());
                leases.set_connected(Buckets::ALL, self.time.instant());
            }
            17 => return self.lose_answer(at).await,
            18 => self.stop(at).await,
            19 => self.kill(at),
            _ if self.random.one_in(2) => self.set_clock(),
            _ => {}
        }
        Ok(())
    }

    /// Each gate settles what it does not use.
    async fn keep(&mut self) {
        for gate in &self.gates {
            settle_idle(&gate.state, self.time.instant()).await;
        }
        // The models see the time at which counters possibly changed.
        self.model.observe(self.time.micros());
    }

    async fn checks(&mut self, at: usize) -> Result<(), String> {
        let costs = if self.random.one_in(8) { self.limit / 6 } else { 1 + self.limit / 300 };
        for _ in 0..self.random.between(1, 24) {
            let cost = self.random.between(1, costs);
            let us = self.random.between(0, 15_000);
            self.pass(us);
            self.model.hold(self.held());
            let Gate { state, book, .. } = &self.gates[at];
            let (answer, by_lease) =
                ask((state, book), (self.tenant, self.time), Operation::Consume, cost).await;
            self.counts.checks += 1;
            self.counts.by_lease += u64::from(by_lease);
            if answer.allowed {
                self.admit(cost, by_lease)?;
            }
        }
        Ok(())
    }

    /// Compares an admission with the model.
    fn admit(&mut self, cost: u64, by_lease: bool) -> Result<(), String> {
        let limit = self.limit_in_force();
        let beside = GATES as u64 * self.gate_units;
        let beyond = self.model.admit(cost, by_lease, (limit, beside), self.time.micros())?;
        self.counts.beyond_exact += u64::from(beyond);
        self.consumed += cost;
        Ok(())
    }

    async fn refund(&mut self, at: usize) {
        let too_much = self.random.one_in(5);
        let most = if too_much { 2 * self.limit } else { self.consumed };
        if most == 0 {
            return;
        }
        let units = self.random.between(1, most);
        let Gate { state, book, .. } = &self.gates[at];
        ask((state, book), (self.tenant, self.time), Operation::Refund, units).await;
        self.counts.refunds += 1;
        self.model.refund(units, self.time.micros());
        self.model.release(units.saturating_sub(self.consumed).min(self.held()));
        self.consumed -= units.min(self.consumed);
        let subject = charges(&self.book, self.tenant, self.time)[0].subject;
        for gate in &self.gates {
            if !self.random.one_in(3) {
                gate.state.denial_cache.invalidate(subject);
            }
        }
    }

    /// Edits the rule; gates follow later.
    fn edit(&mut self) {
        self.counts.edits += 1;
        self.limit = self.random.between(200, 3_000);
        self.gate_units = self.gate_units.max(lease_units_max(self.limit));
        let (version, limit) = (self.book.version() + 1, self.kind.json(self.limit));
        self.book = book_of(self.tenant, (self.seed, version), "approximate", &limit);
    }

    fn follow(&mut self, at: usize) {
        let before = self.limit_in_force();
        self.gates[at].book = Arc::clone(&self.book);
        self.gates[at].limit = self.limit;
        self.lowered_from(before);
    }

    /// Redis can give units, and the gate receives no answer.
    async fn lose_answer(&mut self, at: usize) -> Result<(), String> {
        let charges = charges(&self.gates[at].book, self.tenant, self.time);
        let (cost, now) = (1, self.time.instant());
        let state = self.gates[at].state.clone();
        match state.leases.spend(self.tenant, &charges, cost, now) {
            LeaseOutcome::NotLeased => {}
            LeaseOutcome::Admitted(..) => self.admit(cost, true)?,
            LeaseOutcome::Take(request) => {
                self.counts.lost_answers += 1;
                if self.random.one_in(3) {
                    return Ok(());
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
                if let [Ok(weir_redis::limiter::Answer::Decided(_, decisions))] = answers.as_slice()
                    && decisions[0].allowed
                {
                    self.admit(cost, false)?;
                }
            }
        }
        Ok(())
    }

    async fn stop(&mut self, at: usize) {
        self.counts.stops += 1;
        let before = self.limit_in_force();
        settle_all(&self.gates[at].state).await;
        self.gates[at] = self.fresh_gate();
        self.lowered_from(before);
    }

    fn kill(&mut self, at: usize) {
        self.counts.kills += 1;
        let (held, before) = (self.gates[at].state.leases.held(), self.limit_in_force());
        self.counts.killed_units += held;
        self.model.lose(held, self.time.micros());
        self.gates[at] = self.fresh_gate();
        self.lowered_from(before);
    }

    /// Sets Redis' clock back or forward by minutes.
    fn set_clock(&mut self) {
        self.counts.clock_steps += 1;
        self.has_stepped = true;
        let (now, us) = (self.time.micros().0, self.random.between(1, 400) * 1_000_000);
        let back = us + 3 * WINDOW_MS * 1_000;
        self.time.step_to(Micros(if self.random.one_in(2) { now - back } else { now + us }));
        self.model.release(self.held());
        self.pass(0);
    }

    /// Stops all gates. Units that Redis counted and no check used are lost.
    async fn end(mut self) -> Result<(), String> {
        for gate in &self.gates {
            settle_all(&gate.state).await;
        }
        let left_us = WINDOW_MS * 1_000 - self.time.micros().0 % (WINDOW_MS * 1_000);
        // A step of the clock ends windows, and in the last second of a window no units can be returned.
        let may_lose = self.kind == Kind::SlidingWindowCounter && left_us <= 1_000_000;
        if self.has_stepped || may_lose {
            return Ok(());
        }
        self.counts.settled_histories += 1;
        let most = 1_000_000_000;
        let (version, limit) = (self.book.version() + 1, self.kind.json(most));
        self.book = book_of(self.tenant, (self.seed, version), "approximate", &limit);
        self.gates[0] = self.fresh_gate();
        let Gate { state, book, .. } = &self.gates[0];
        let (answer, _) = ask((state, book), (self.tenant, self.time), Operation::Peek, 1).await;
        let taken = most - answer.limits[0].remaining.expect("redis answers") - 1;
        let lost = taken.saturating_sub(self.model.used(most, self.time.micros()));
        self.counts.lost_units += lost;
        // A part of a unit counts as one.
        if lost > 1 {
            return Err(format!("{lost} units lost: {taken} taken, {:?}", self.model));
        }
        Ok(())
    }

    fn fresh_gate(&self) -> Gate {
        let state = gate_state(self.time, self.limiter);
        Gate { state, book: Arc::clone(&self.book), limit: self.limit }
    }

    fn pass(&mut self, us: u64) {
        self.time.pass(us);
        let window = index(self.time.micros());
        if window != self.window {
            (self.window, self.consumed) = (window, 0);
        }
    }

    /// The largest limit by which a gate decides.
    fn limit_in_force(&self) -> u64 {
        self.gates.iter().map(|gate| gate.limit).max().unwrap_or(0)
    }

    fn lowered_from(&mut self, before: u64) {
        if self.limit_in_force() < before {
            self.model.free += self.held();
        }
    }

    fn held(&self) -> u64 {
        self.gates.iter().map(|gate| gate.state.leases.held()).sum()
    }
}
