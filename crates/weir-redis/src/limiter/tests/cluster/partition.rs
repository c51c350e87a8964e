//! A partition of a cluster: a primary and a gate on one side, the other nodes and another gate on the other side.
//!
//! The sides run one after the other. While one runs, the nodes of the other side are stopped: they neither send nor answer,
//! which is all that nodes notice of a partition. The order is that of a real one, because a primary that is cut off refuses
//! before the others elect its successor.

use super::failover::{BUDGET, one_of_each};
use super::fixture::{Fixture, until, window};
use crate::limiter::{Answer, Asked, Limiter};

const LIMIT: u64 = 1_000_000;
/// The units that are admitted before the partition.
const BEFORE: u64 = 100;
/// Twice the node timeout of one second. A busy machine adds to it.
const ADMITS_FOR_MAX_US: u64 = 6_000_000;

impl Fixture {
    fn part(&self) {
        for node in &self.cluster.nodes()[1..] {
            node.pause().expect("it ran");
        }
        // Otherwise the replica would later read from its socket what was admitted meanwhile.
        let killed = self.cluster.nodes()[0].command("CLIENT KILL TYPE replica");
        assert_eq!(killed.expect("it answers"), ":1\r\n", "one replica is cut off");
    }

    fn change_sides(&self) {
        self.cluster.nodes()[0].pause().expect("it ran");
        for node in &self.cluster.nodes()[1..] {
            node.resume().expect("it was paused");
        }
    }

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

/// The units that a gate has admitted.
struct Admissions {
    limiter: Limiter,
    units: u64,
    /// Checks that Redis possibly decided without telling.
    unknown: u64,
}

impl Admissions {
    fn new(fixture: &Fixture) -> Self {
        Self { limiter: fixture.limiter_with(BUDGET), units: 0, unknown: 0 }
    }

    /// Sends a check. Returns the time by Redis' clock, and whether the check was admitted, if Redis decided.
    async fn check(&mut self, asked: Asked<'_>) -> Option<(u64, bool)> {
        let cost = asked.cost;
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
    async fn exhaust<'a>(&mut self, asked: impl Fn(u64) -> Asked<'a>, cost: u64) {
        until("the limit is reached", async || {
            matches!(self.check(asked(cost)).await, Some((_, false)))
        })
        .await;
    }
}

/// Acceptance check 6, counted on both sides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partition_admits_beyond_the_limit_only_what_the_cut_off_primary_admits_for_a_moment() {
    let fixture = Fixture::start();
    let (namespace, rules) = (one_of_each(&fixture).remove(0), window(1, LIMIT));
    let asked = |cost| Asked { cost, ..fixture.asked(&namespace, &rules) };
    let mut minority = Admissions::new(&fixture);
    let (mut cut_at, mut last) = (0, 0);
    until("it serves", async || minority.limiter.up()).await;
    until("the first units are admitted", async || {
        cut_at = minority.check(asked(1)).await.map_or(cut_at, |(now, _)| now);
        minority.units >= BEFORE
    })
    .await;
    assert_eq!((minority.units, minority.unknown), (BEFORE, 0));
    until("the replica has them", async || fixture.is_replicated()).await;

    fixture.part();
    until("the primary that is cut off refuses", async || {
        last = minority.check(asked(1)).await.map_or(last, |(now, _)| now);
        minority.limiter.health().primaries.iter().all(|primary| !primary.up)
    })
    .await;
    assert!(minority.units > BEFORE, "the partition was noticed before the next check");
    let admitted_us = last - cut_at;
    assert!(admitted_us <= ADMITS_FOR_MAX_US, "it admitted for {admitted_us} us");

    fixture.change_sides();
    let mut majority = Admissions::new(&fixture);
    until("a replica was elected", async || majority.check(asked(1)).await.is_some()).await;
    majority.unknown = 0;
    majority.exhaust(&asked, 1_000).await;
    majority.exhaust(&asked, 1).await;
    // The replica had everything from before, and nothing from after.
    let least = LIMIT - BEFORE - 1_000 * majority.unknown;
    let admitted = majority.units;
    assert!(
        (least..=LIMIT - BEFORE).contains(&admitted),
        "{admitted}, {} unknown",
        majority.unknown
    );

    fixture.cluster.nodes()[0].resume().expect("it was paused");
    until("the old primary is a replica", async || {
        let role = fixture.cluster.nodes()[0].command("ROLE");
        role.is_ok_and(|role| role.contains("slave"))
    })
    .await;
    let calls = fixture.calls(0);
    for gate in [&mut minority, &mut majority] {
        let units = gate.units;
        until("it follows the new primary", async || gate.check(asked(1)).await.is_some()).await;
        assert_eq!(gate.units, units, "the new primary's counter is used up");
    }
    assert_eq!(fixture.calls(0), calls, "no check went to the old primary");
}
