//! A partition of a cluster: a primary and a gate on one side of a network, the other nodes and another gate on the other
//! side.
//!
//! Each side is a network namespace with the threads of its gate, so both sides run at once and notice what they would notice
//! of a real partition: connections stay open, and nothing arrives.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::Barrier;
use weir_domain::charge::RuleCharge;
use weir_local::{ClusterOptions, Network, Side};

use super::failover::{BUDGET, one_of_each};
use super::fixture::{DEADLINE, Fixture, until, window};
use crate::limiter::{Answer, Limiter, ScriptCheck};

const LIMIT: u64 = 1_000_000;
/// The units that are admitted before the partition.
const BEFORE: u64 = 100;
/// The limit of each bucket from which both gates take after the partition.
const LIMIT_AFTERWARDS: u64 = 10;
/// Three seconds from the end of the partition until each gate decides all checks. A busy machine adds to it.
const HEALED_AFTER_MAX: Duration = Duration::from_secs(6);

/// A cluster of three primaries, and what one of them admits while it is cut off.
struct Setup {
    /// The number of replicas of each primary.
    replicas: usize,
    /// Settings of all nodes, as `CONFIG SET` takes them.
    settings: &'static str,
    /// The longest time by Redis' clock for which the primary admits. A busy machine adds to the documented time.
    admits_for_max_us: u64,
}

impl Fixture {
    /// Whether the replicas of the first primary have received all of its writes.
    fn is_replicated(&self) -> bool {
        let info = self.cluster.nodes()[0].command("INFO replication").expect("it answers");
        let of = |text: &str| {
            let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse::<u64>().ok()
        };
        let own = info.split_once("master_repl_offset:").and_then(|(_, rest)| of(rest));
        let mut replicas = info.split(",offset=").skip(1).map(of).peekable();
        own.is_some() && replicas.peek().is_some() && replicas.all(|replica| replica == own)
    }

    /// The clock of the first primary.
    fn time_us(&self) -> u64 {
        let time = self.cluster.nodes()[0].command("TIME").expect("it answers");
        let numbers: Vec<u64> = time.lines().filter_map(|line| line.parse().ok()).collect();
        let [seconds, us] = numbers[..] else { panic!("no time: {time:?}") };
        seconds * 1_000_000 + us
    }

    fn set_on_all_nodes(&self, settings: &str) {
        if settings.is_empty() {
            return;
        }
        for node in self.cluster.nodes() {
            let reply = node.command(&format!("CONFIG SET {settings}"));
            assert_eq!(reply.expect("it answers"), "+OK\r\n");
        }
    }
}

/// The checks of both gates, and the steps that they take together.
struct Shared<'a> {
    fixture: &'a Fixture,
    setup: &'a Setup,
    /// A namespace of the primary that is cut off, and one of each bucket.
    namespace: String,
    namespaces: Vec<String>,
    rules: Vec<RuleCharge>,
    rules_afterwards: Vec<RuleCharge>,
    /// The gates, and the thread that parts them.
    steps: Barrier,
    /// The time of the partition by the clock of the primary that is cut off, in microseconds.
    cut_at_us: OnceLock<u64>,
    healed: OnceLock<Instant>,
    /// Of both gates after the partition: the units that were admitted, and checks that Redis possibly decided.
    admitted_afterwards: AtomicU64,
    unknown_afterwards: AtomicU64,
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

    /// Sends a check of the primary that is cut off. Returns the time by Redis' clock, and whether the check was admitted, if
    /// Redis decided.
    async fn check(&mut self, cost: u64) -> Option<(u64, bool)> {
        let Shared { namespace, rules, .. } = self.shared;
        self.check_in(namespace, rules, cost).await
    }

    async fn check_in(
        &mut self,
        namespace: &str,
        rules: &[RuleCharge],
        cost: u64,
    ) -> Option<(u64, bool)> {
        let asked = ScriptCheck { cost, ..self.shared.fixture.asked(namespace, rules) };
        match self.limiter.check(&[asked]).await.remove(0) {
            Ok(Answer::Decided(now, decisions)) => {
                self.units += if decisions[0].allowed { cost } else { 0 };
                Some((now.0, decisions[0].allowed))
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                self.unknown += u64::from(!error.was_not_run());
                None
            }
        }
    }

    /// Takes units, `cost` at a time, until a check is denied.
    async fn exhaust(&mut self, cost: u64) {
        until("the limit is reached", async || matches!(self.check(cost).await, Some((_, false))))
            .await;
    }

    /// Takes from each bucket what the other gate leaves. Afterwards each check is denied, by the new primary.
    async fn after_the_partition(mut self, side: &str) {
        let shared = self.shared;
        shared.step().await;
        shared.step().await;
        (self.units, self.unknown) = (0, 0);
        for namespace in &shared.namespaces {
            let rules = &shared.rules_afterwards;
            until("it serves the bucket", async || {
                self.check_in(namespace, rules, 1).await.is_some()
            })
            .await;
        }
        let healed_after = shared.healed.get().expect("it is healed").elapsed();
        println!("the gate on the side of the {side} was healed after {healed_after:?}");
        assert!(healed_after <= HEALED_AFTER_MAX, "it took {healed_after:?}");
        for namespace in &shared.namespaces {
            let rules = &shared.rules_afterwards;
            until("the limit is reached", async || {
                matches!(self.check_in(namespace, rules, 1).await, Some((_, false)))
            })
            .await;
        }
        shared.admitted_afterwards.fetch_add(self.units, Ordering::Relaxed);
        shared.unknown_afterwards.fetch_add(self.unknown, Ordering::Relaxed);
        shared.step().await;
        shared.step().await;
        for namespace in &shared.namespaces {
            let denied = self.check_in(namespace, &shared.rules_afterwards, 1).await;
            assert!(matches!(denied, Some((_, false))), "{namespace}: {denied:?}");
        }
        let denied = self.check(1).await;
        assert!(matches!(denied, Some((_, false))), "the new primary's counter is used up");
        shared.step().await;
    }
}

/// Admits some units before the partition, and during it what its primary admits.
async fn on_the_side_of_the_primary(shared: &Shared<'_>) {
    let mut gate = Gate::start(shared).await;
    until("the first units are admitted", async || {
        gate.check(1).await;
        gate.units >= BEFORE
    })
    .await;
    assert_eq!((gate.units, gate.unknown), (BEFORE, 0));
    shared.step().await;
    shared.step().await;
    let mut last = 0;
    until("the primary that is cut off refuses", async || {
        last = gate.check(1).await.map_or(last, |(now, _)| now);
        gate.limiter.health().primaries.iter().all(|primary| !primary.up)
    })
    .await;
    assert!(gate.units > BEFORE, "the partition was noticed before the next check");
    let cut_at = shared.cut_at_us.get().expect("the sides are parted");
    let (admitted, admitted_us) = (gate.units - BEFORE, last - cut_at);
    println!("the primary that was cut off admitted {admitted} units in {admitted_us} us");
    assert!(admitted_us <= shared.setup.admits_for_max_us, "it admitted for {admitted_us} us");
    gate.after_the_partition("primary").await;
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
    let least = (LIMIT - BEFORE).saturating_sub(1_000 * gate.unknown);
    let admitted = gate.units;
    assert!((least..=LIMIT - BEFORE).contains(&admitted), "{admitted}, {} unknown", gate.unknown);
    gate.after_the_partition("majority").await;
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
    if weir_local::has_own_network(NAME) {
        // Once the node timeout, and time for a busy machine.
        let settings = "cluster-node-timeout 1000";
        run(&Setup { replicas: 1, settings, admits_for_max_us: 6_000_000 });
    }
}

/// The same while primaries require a replica. Without that, the primary would admit for 1.5 times the node timeout.
#[test]
fn cut_off_primary_of_a_cluster_that_requires_a_replica_soon_admits_nothing() {
    const NAME: &str = concat!(
        "limiter::tests::cluster::partition::",
        "cut_off_primary_of_a_cluster_that_requires_a_replica_soon_admits_nothing"
    );
    const SETTINGS: &str =
        "min-replicas-to-write 1 min-replicas-max-lag 1 cluster-node-timeout 6000";
    if weir_local::has_own_network(NAME) {
        // A replica that takes over needs one too. The documented time is the lag and two seconds.
        run(&Setup { replicas: 2, settings: SETTINGS, admits_for_max_us: 6_000_000 });
    }
}

fn run(setup: &Setup) {
    let network = Network::start().expect("ip permits it");
    let [alone, others] = network.sides();
    let sides = Some(network.sides().clone());
    let replicas = setup.replicas;
    let options = ClusterOptions { replicas, sides, ..Fixture::options() };
    let fixture = Fixture::with(&options);
    fixture.set_on_all_nodes(setup.settings);
    let shared = Shared {
        fixture: &fixture,
        setup,
        namespace: one_of_each(&fixture).remove(0),
        namespaces: fixture.namespaces(),
        rules: window(1, LIMIT),
        rules_afterwards: window(2, LIMIT_AFTERWARDS),
        steps: Barrier::new(3),
        cut_at_us: OnceLock::new(),
        healed: OnceLock::new(),
        admitted_afterwards: AtomicU64::new(0),
        unknown_afterwards: AtomicU64::new(0),
    };
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
    until("the replicas have the units", async || fixture.is_replicated()).await;
    shared.cut_at_us.set(fixture.time_us()).expect("it is parted once");
    network.part().expect("both sides are joined");
    shared.step().await;
    shared.step().await;
    network.heal().expect("both sides are joined");
    shared.healed.set(Instant::now()).expect("it is healed once");
    shared.step().await;
    shared.step().await;
    // A unit that the old primary had admitted would be one too many.
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let admitted = number(&shared.admitted_afterwards);
    let limits = LIMIT_AFTERWARDS * u64::try_from(shared.namespaces.len()).expect("few");
    let unknown = number(&shared.unknown_afterwards);
    let least = limits.saturating_sub(unknown);
    assert!((least..=limits).contains(&admitted), "{admitted}, {unknown} unknown");
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
