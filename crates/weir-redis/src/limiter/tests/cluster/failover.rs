//! Primaries that die, stall or hand over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fixture::{Fixture, Tally, until, window};
use crate::error::RedisError;
use crate::limiter::{Answer, Limiter};

/// Long enough for a busy machine to answer.
pub(super) const BUDGET: Duration = Duration::from_secs(10);

/// Sends one check of each namespace. Returns the result of each.
async fn check_each(
    fixture: &Fixture,
    limiter: &Limiter,
    namespaces: &[String],
    tallies: &[Tally],
    limit: u64,
) -> Vec<bool> {
    let rules = window(1, limit);
    let mut decided = Vec::new();
    for (namespace, tally) in namespaces.iter().zip(tallies) {
        let results = limiter.check(&[fixture.asked(namespace, &rules)]).await;
        decided.push(results[0].is_ok());
        tally.count(results);
    }
    decided
}

/// A namespace of each primary, in the order of the primaries.
pub(super) fn one_of_each(fixture: &Fixture) -> Vec<String> {
    let namespaces = fixture.namespaces();
    (0..3)
        .map(|node| {
            let of_node = namespaces.iter().find(|name| fixture.node_of(name) == node);
            of_node.expect("each has some").clone()
        })
        .collect()
}

/// Acceptance check 4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_primary_degrades_only_its_buckets_until_its_replica_serves() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter_with(BUDGET);
    until("it serves", async || limiter.up()).await;
    let (namespaces, limit) = (one_of_each(&fixture), 200);
    let tallies: Vec<_> = namespaces.iter().map(|_| Tally::default()).collect();
    for _ in 0..100 {
        check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
    }
    fixture.cluster.nodes()[0].kill().expect("it ran");
    let mut failed = 0;
    until("the replica serves", async || {
        let decided = check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
        failed += u32::from(!decided[0]);
        decided[0] && failed > 0
    })
    .await;
    until("all primaries serve", async || limiter.up()).await;
    for _ in 0..200 {
        check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
    }
    until("all nodes know the new owner", async || fixture.node_of(&namespaces[0]) != 0).await;
    for (at, tally) in tallies.iter().enumerate().skip(1) {
        let (admitted, _, failed) = tally.numbers();
        assert_eq!((admitted, failed), (limit, 0), "primary {at} served as before");
    }
    let (admitted, _, failed) = tallies[0].numbers();
    let possibly_charged = failed - tallies[0].unsent.load(Ordering::Relaxed);
    // A counter that began anew admits the limit once more at most.
    let expected = limit - possibly_charged..=2 * limit;
    assert!(expected.contains(&admitted), "{admitted}, {possibly_charged}");
}

/// Acceptance check 5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_primary_is_replaced_and_decides_nothing_after_its_return() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter_with(BUDGET);
    until("it serves", async || limiter.up()).await;
    let (namespaces, limit) = (one_of_each(&fixture), 1_000_000);
    let tallies: Vec<_> = namespaces.iter().map(|_| Tally::default()).collect();
    check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
    let old = &fixture.cluster.nodes()[0];
    old.pause().expect("it ran");
    let mut failed = 0;
    until("the replica serves", async || {
        let decided = check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
        assert!(decided[1] && decided[2], "the others serve as before");
        failed += u32::from(!decided[0]);
        decided[0] && failed > 0
    })
    .await;
    old.resume().expect("it was paused");
    until("it is a replica", async || old.command("ROLE").is_ok_and(|role| role.contains("slave")))
        .await;
    let before = fixture.calls(0);
    for _ in 0..200 {
        let decided = check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
        assert_eq!(decided, [true; 3]);
    }
    assert_eq!(fixture.calls(0), before, "no check went to the old primary");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planned_failover_admits_exactly_the_limit() {
    let fixture = Arc::new(Fixture::start());
    let limiter = fixture.limiter().await;
    let (namespaces, limit) = (one_of_each(&fixture), 300);
    let tallies: Vec<_> = namespaces.iter().map(|_| Tally::default()).collect();
    let done = Arc::new(AtomicBool::new(false));
    let failing_over = {
        let (fixture, done) = (Arc::clone(&fixture), Arc::clone(&done));
        tokio::task::spawn_blocking(move || {
            let failed_over = fixture.cluster.fail_over(0);
            done.store(true, Ordering::SeqCst);
            failed_over
        })
    };
    while !done.load(Ordering::SeqCst) {
        check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
    }
    failing_over.await.expect("it runs").expect("the replica takes over");
    for _ in 0..400 {
        check_each(&fixture, &limiter, &namespaces, &tallies, limit).await;
    }
    for (at, tally) in tallies.iter().enumerate() {
        let (admitted, _, failed) = tally.numbers();
        assert!(admitted <= limit && admitted + failed >= limit, "{at}: {admitted}, {failed}");
    }
}

#[tokio::test]
async fn gate_that_starts_while_a_primary_is_down_serves_the_other_buckets() {
    let fixture = Fixture::start();
    let namespaces = one_of_each(&fixture);
    // Neither the primary nor its replica runs, so its slots have nobody.
    let slots = fixture.cluster.nodes()[0].command("CLUSTER SHARDS").expect("it answers");
    assert!(!slots.is_empty());
    for node in [0, 3] {
        fixture.cluster.nodes()[node].kill().expect("it ran");
    }
    let limiter = fixture.limiter_with(BUDGET);
    let rules = window(1, 10);
    let check = async |namespace: &String| {
        limiter.check(&[fixture.asked(namespace, &rules)]).await.remove(0)
    };
    for namespace in &namespaces[1..] {
        until("it serves", async || matches!(check(namespace).await, Ok(Answer::Decided(..))))
            .await;
    }
    let began = Instant::now();
    for _ in 0..20 {
        let result = check(&namespaces[0]).await;
        assert!(matches!(result, Err(RedisError::Away)), "{result:?}");
    }
    assert!(began.elapsed() < DEADLINE_OF_TWENTY, "without a wait");
    let health = limiter.health();
    assert!(!health.up, "{health:?}");
    let up: Vec<_> = health.primaries.iter().map(|primary| primary.up).collect();
    assert_eq!(up, [false, true, true], "{health:?}");
}

/// One node has lost a slot, and the others still think that it has it.
#[tokio::test]
async fn slot_that_no_node_serves_degrades_only_its_bucket() {
    let fixture = Fixture::without_replicas();
    // A check of the lost slot is repeated until its budget ends; the others have more time than they need.
    let [impatient, limiter] = [Duration::from_secs(1), BUDGET].map(|of| fixture.limiter_with(of));
    until("both serve", async || impatient.up() && limiter.up()).await;
    let namespaces = fixture.namespaces();
    let mut of_node = namespaces.iter().filter(|name| fixture.node_of(name) == 0);
    let lost = of_node.next().expect("it has some");
    let rules = window(1, 10);
    let check = async |limiter: &Limiter, namespace: &String| {
        limiter.check(&[fixture.asked(namespace, &rules)]).await.remove(0)
    };
    let command = format!("CLUSTER DELSLOTS {}", fixture.slot_of(lost));
    let reply = fixture.cluster.nodes()[0].command(&command);
    assert_eq!(reply.expect("it answers"), "+OK\r\n");
    // The budget possibly ends while the last repetition is on its way.
    until("the refusal is the error", async || {
        let error = check(&impatient, lost).await.expect_err("nobody serves the slot");
        error.label() == "clusterdown"
    })
    .await;
    assert!(impatient.health().primaries[0].up);
    for other in of_node {
        let result = check(&limiter, other).await;
        assert!(matches!(result, Ok(Answer::Decided(..))), "{result:?}");
    }
}

/// The bound of twenty answers that need no call.
const DEADLINE_OF_TWENTY: Duration = Duration::from_secs(2);

/// The majority of the primaries is away, so the remaining one refuses its slots too: the others possibly chose a new primary.
#[tokio::test]
async fn primary_without_a_majority_counts_as_away_until_the_others_return() {
    let fixture = Fixture::without_replicas();
    let limiter = fixture.limiter_with(BUDGET);
    until("it serves", async || limiter.up()).await;
    for node in &fixture.cluster.nodes()[1..] {
        node.pause().expect("it ran");
    }
    let up = || limiter.health().primaries.iter().map(|primary| primary.up).collect::<Vec<_>>();
    until("no primary serves", async || up() == [false; 3]).await;
    for node in &fixture.cluster.nodes()[1..] {
        node.resume().expect("it was paused");
    }
    until("all primaries serve", async || up() == [true; 3]).await;
    let (namespaces, rules) = (one_of_each(&fixture), window(1, 10));
    for namespace in &namespaces {
        let result = limiter.check(&[fixture.asked(namespace, &rules)]).await.remove(0);
        assert!(matches!(result, Ok(Answer::Decided(..))), "{namespace}: {result:?}");
    }
}
