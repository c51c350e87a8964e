//! A partition of a cluster: a primary and a gate on one side of a network, the other nodes and another gate on the other
//! side.
//!
//! Each side is a network namespace with the threads of its gate, so both sides run at once and notice what they would notice
//! of a real partition: connections stay open, and nothing arrives.

use std::thread;

use tokio::runtime::Runtime;
use tokio::sync::Barrier;
use weir_domain::charge::RuleCharge;
use weir_local::{ClusterOptions, Network, Side};

use super::failover::{BUDGET, one_of_each};
use super::fixture::{DEADLINE, Fixture, until, window};
use crate::limiter::{Answer, Asked, Limiter};

const LIMIT: u64 = 1_000_000;
/// The units that are admitted before the partition.
const BEFORE: u64 = 100;
/// Twice the node timeout of one second. A busy machine adds to it.
const ADMITS_FOR_MAX_US: u64 = 6_000_000;

impl Fixture {
    /// Whether the replica of the first primary has received all of its writes.
    fn is_replicated(&self) -> bool {
        let info = self.cluster.nodes()[0].command("INFO replication").expect("it answers");
        let of = |text: &str| {
            let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse::<u64>().ok()
        };
        let own = info.split_once("master_repl_offset:").and_then(|(_, rest)| of(rest));
        let replica = info.split_once(",offset=").and_then(|(_, rest)| of(rest));
        own.is_some() && own == replica
    }
}

/// The checks of both gates, and the steps that they take together.
struct Shared<'a> {
    fixture: &'a Fixture,
    namespace: String,
    rules: Vec<RuleCharge>,
    /// The gates, and the thread that parts them.
    steps: Barrier,
}

impl Shared<'_> {
    async fn step(&self) {
        let taken = tokio::time::timeout(DEADLINE, self.steps.wait()).await;
        taken.expect("the others take this step too");
    }
}

/// A gate, and the units that it has admitted.
struct Gate<'a> {
    shared: &'a Shared<'a>,
    limiter: Limiter,
    units: u64,
    /// Checks that Redis possibly decided without telling.
    unknown: u64,
}

impl<'a> Gate<'a> {
    async fn start(shared: &'a Shared<'a>) -> Self {
        let limiter = shared.fixture.limiter_with(BUDGET);
        until("it serves", async || limiter.up()).await;
        Self { shared, limiter, units: 0, unknown: 0 }
    }

    /// Sends a check. Returns the time by Redis' clock, and whether the check was admitted, if Redis decided.
    async fn check(&mut self, cost: u64) -> Option<(u64, bool)> {
        let Shared { fixture, namespace, rules, .. } = self.shared;
        let asked = Asked { cost, ..fixture.asked(namespace, rules) };
        match self.limiter.check(&[asked]).await.remove(0) {
            Ok(Answer::Decided(now, decisions)) => {
                self.units += if decisions[0].allowed { cost } else { 0 };
                Some((now.0, decisions[0].allowed))
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => {
                self.unknown += 1;
                None
            }
        }
    }

    /// Takes units, `cost` at a time, until a check is denied.
    async fn exhaust(&mut self, cost: u64) {
        until("the limit is reached", async || matches!(self.check(cost).await, Some((_, false))))
            .await;
    }

    async fn after_the_partition(mut self) {
        self.shared.step().await;
        self.shared.step().await;
        let units = self.units;
        until("it follows the new primary", async || self.check(1).await.is_some()).await;
        assert_eq!(self.units, units, "the new primary's counter is used up");
        self.shared.step().await;
    }
}

/// Admits some units before the partition, and during it what its primary admits.
async fn on_the_side_of_the_primary(shared: &Shared<'_>) {
    let mut gate = Gate::start(shared).await;
    let (mut cut_at, mut last) = (0, 0);
    until("the first units are admitted", async || {
        cut_at = gate.check(1).await.map_or(cut_at, |(now, _)| now);
        gate.units >= BEFORE
    })
    .await;
    assert_eq!((gate.units, gate.unknown), (BEFORE, 0));
    shared.step().await;
    shared.step().await;
    until("the primary that is cut off refuses", async || {
        last = gate.check(1).await.map_or(last, |(now, _)| now);
        gate.limiter.health().primaries.iter().all(|primary| !primary.up)
    })
    .await;
    assert!(gate.units > BEFORE, "the partition was noticed before the next check");
    let admitted_us = last - cut_at;
    assert!(admitted_us <= ADMITS_FOR_MAX_US, "it admitted for {admitted_us} us");
    gate.after_the_partition().await;
}

/// Admits what is left by the counter of the elected replica.
async fn on_the_other_side(shared: &Shared<'_>) {
    let mut gate = Gate::start(shared).await;
    shared.step().await;
    shared.step().await;
    until("a replica was elected", async || gate.check(1).await.is_some()).await;
    gate.unknown = 0;
    gate.exhaust(1_000).await;
    gate.exhaust(1).await;
    // The replica had everything from before, and nothing from after.
    let least = LIMIT - BEFORE - 1_000 * gate.unknown;
    let admitted = gate.units;
    assert!((least..=LIMIT - BEFORE).contains(&admitted), "{admitted}, {} unknown", gate.unknown);
    gate.after_the_partition().await;
}

/// Runs the work of a gate in a thread on this side, whose connections are those of the side.
fn run_on<T>(side: &Side, work: impl Future<Output = T>) -> T {
    side.enter().expect("this process may");
    runtime().block_on(work)
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts")
}

/// Acceptance check 6, counted on both sides.
#[test]
fn partition_admits_beyond_the_limit_only_what_the_cut_off_primary_admits_for_a_moment() {
    const NAME: &str = concat!(
        "limiter::tests::cluster::partition::",
        "partition_admits_beyond_the_limit_only_what_the_cut_off_primary_admits_for_a_moment"
    );
    if !weir_local::has_own_network(NAME) {
        return;
    }
    let network = Network::start().expect("ip permits it");
    let [alone, others] = network.sides();
    let sides = Some(network.sides().clone());
    let options = ClusterOptions { replicas: 1, sides, ..Fixture::options() };
    let fixture = Fixture::with(&options);
    let (namespace, rules) = (one_of_each(&fixture).remove(0), window(1, LIMIT));
    let shared = Shared { fixture: &fixture, namespace, rules, steps: Barrier::new(3) };
    thread::scope(|scope| {
        let gates = [
            scope.spawn(|| run_on(alone, on_the_side_of_the_primary(&shared))),
            scope.spawn(|| run_on(others, on_the_other_side(&shared))),
        ];
        runtime().block_on(part_and_heal(&shared, &network));
        for gate in gates {
            gate.join().expect("its assertions hold");
        }
    });
}

/// Parts the sides once both gates serve, and heals the network once both sides have admitted what they can.
async fn part_and_heal(shared: &Shared<'_>, network: &Network) {
    let fixture = shared.fixture;
    shared.step().await;
    until("the replica has the units", async || fixture.is_replicated()).await;
    network.part().expect("both sides are joined");
    shared.step().await;
    shared.step().await;
    network.heal().expect("both sides are joined");
    until("the old primary is a replica", async || {
        let role = fixture.cluster.nodes()[0].command("ROLE");
        role.is_ok_and(|role| role.contains("slave"))
    })
    .await;
    let calls = fixture.calls(0);
    shared.step().await;
    shared.step().await;
    assert_eq!(fixture.calls(0), calls, "no check went to the old primary");
}
