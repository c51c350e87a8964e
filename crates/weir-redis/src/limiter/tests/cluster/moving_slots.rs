//! Slots that move between primaries under load.

use std::sync::Arc;

use super::fixture::{Fixture, send_all, window};
use crate::limiter::{Answer, Limiter};

/// Moves the slot of a namespace to the next primary and on, `moves` times.
fn move_slot(fixture: &Fixture, namespace: &str, moves: usize) {
    let slot = usize::from(fixture.slot_of(namespace));
    for _ in 0..moves {
        let owner = fixture.cluster.owner(slot).expect("it is covered");
        fixture.cluster.move_slot(slot, (owner + 1) % 3).expect("it moves");
    }
}

/// Acceptance checks 2 and 3: a round holds checks of many buckets of which some have moved, and each is charged once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_move_under_load_charge_nothing_twice_and_admit_exactly_the_limit() {
    let fixture = Arc::new(Fixture::start());
    let limiters: [Limiter; 2] = [fixture.limiter().await, fixture.limiter().await];
    let namespaces = fixture.namespaces()[..12].to_vec();
    let moving = {
        let (fixture, namespaces) = (Arc::clone(&fixture), namespaces.clone());
        tokio::task::spawn_blocking(move || {
            for namespace in &namespaces[..6] {
                move_slot(&fixture, namespace, 2);
            }
        })
    };
    let mut rounds = 0;
    // Fresh namespaces in each round, so that slots move with new keys and with known ones.
    while !moving.is_finished() || rounds < 2 {
        rounds += 1;
        let fixture = Arc::new(fixture.of_another_tenant());
        let namespaces = fixture.namespaces()[..12].to_vec();
        let tallies = send_all(&fixture, &limiters, &namespaces, (100, 160)).await;
        for (namespace, tally) in namespaces.iter().zip(tallies) {
            assert_eq!(tally.numbers(), (100, 60, 0), "{namespace} in round {rounds}");
        }
    }
    moving.await.expect("all slots have moved");
}

/// The slot stays in the state between, in which keys are at both nodes.
#[tokio::test]
async fn checks_of_a_slot_between_two_primaries_are_decided_wherever_their_keys_are() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter().await;
    let namespace = fixture.namespaces().remove(10);
    let slot = fixture.slot_of(&namespace);
    let (source, rules) = (fixture.node_of(&namespace), window(1, 100));
    let check = async |subjects: std::ops::Range<u128>| {
        let rules: Vec<_> = subjects
            .map(|subject| {
                let mut rules = rules.clone();
                rules[0].subject = weir_domain::subject::SubjectKey(subject);
                rules
            })
            .collect();
        let asked: Vec<_> = rules.iter().map(|rules| fixture.asked(&namespace, rules)).collect();
        let results = limiter.check(&asked).await;
        let remaining = |result| match result {
            Ok(Answer::Decided(_, decisions)) => Ok(decisions[0].remaining),
            other => Err(format!("{other:?}")),
        };
        results.into_iter().map(remaining).collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(check(0..8).await, Ok(vec![99; 8]));
    let target = (source + 1) % 3;
    let [source, target] = [source, target].map(|node| &fixture.cluster.nodes()[node]);
    let id = |node: &weir_local::Redis| {
        let reply = node.command("CLUSTER MYID").expect("it answers");
        reply.split("\r\n").nth(1).expect("an id").to_owned()
    };
    let ok = |node: &weir_local::Redis, command: String| {
        let reply = node.command(&command).expect("it answers");
        assert_eq!(reply, "+OK\r\n", "{command}");
    };
    ok(target, format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(source)));
    ok(source, format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(target)));
    // Known keys are at the source, and new ones begin at the target.
    assert_eq!(check(4..12).await, Ok([[98; 4], [99; 4]].concat()));
    assert_eq!(check(0..12).await, Ok([[98; 4], [97; 4], [98; 4]].concat()));
    // A check of two subjects, one at each node, cannot be decided before the slot has moved.
    for node in [target, source] {
        ok(node, format!("CLUSTER SETSLOT {slot} NODE {}", id(source)));
    }
}
