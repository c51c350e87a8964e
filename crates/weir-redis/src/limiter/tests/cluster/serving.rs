//! A cluster in service: every primary decides the checks of its buckets.

use std::sync::Arc;
use std::time::Duration;

use weir_domain::request::Operation;
use weir_domain::spread::SpreadKey;
use weir_domain::time::Micros;

use super::fixture::{Fixture, send_all, window};
use crate::keys;
use crate::limiter::{Answer, Idempotency, ScriptCheck};
use crate::placement::{Bucket, Owner};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_of_all_buckets_reach_all_primaries_and_are_counted_exactly() {
    let fixture = Arc::new(Fixture::start());
    let limiters = [fixture.limiter().await, fixture.limiter().await];
    let namespaces = fixture.namespaces();
    let tallies = send_all(&fixture, &limiters, &namespaces, (20, 32)).await;
    for (namespace, tally) in namespaces.iter().zip(tallies) {
        assert_eq!(tally.numbers(), (20, 12, 0), "{namespace}");
    }
    // A key for each namespace; three are markers that other users of Redis write.
    let keys: Vec<_> = (0..3).map(|node| fixture.keys(node)).collect();
    assert_eq!(keys.iter().sum::<u64>(), 64, "{keys:?}");
    assert!(keys.iter().all(|count| (21..=22).contains(count)), "evenly: {keys:?}");
    let health = limiters[0].health();
    assert!(health.up, "{health:?}");
    let buckets: Vec<_> = health.primaries.iter().map(|primary| primary.buckets).collect();
    assert_eq!(buckets.iter().sum::<usize>(), 64, "{health:?}");
    assert_eq!(buckets.len(), 3, "{health:?}");
}

#[tokio::test]
async fn batch_of_many_namespaces_is_split_and_answered_in_order() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter().await;
    let namespaces = fixture.namespaces();
    let rules: Vec<_> = (0..64).map(|at| window(1, 100 + at)).collect();
    let asked: Vec<_> = namespaces
        .iter()
        .zip(&rules)
        .flat_map(|(namespace, rules)| {
            [fixture.asked(namespace, rules), fixture.asked(namespace, rules)]
        })
        .collect();
    let results = limiter.check(&asked).await;
    assert_eq!(results.len(), 128);
    for (at, result) in results.iter().enumerate() {
        let Ok(Answer::Decided(_, decisions)) = result else { panic!("{at}: {result:?}") };
        let (limit, taken) = (100 + at as u64 / 2, 1 + at as u64 % 2);
        assert_eq!(decisions[0].remaining, limit - taken, "{at}");
    }
}

#[tokio::test]
async fn counters_are_reset_and_leases_returned_on_every_primary() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter().await;
    let rules = window(1, 10);
    for namespace in fixture.namespaces() {
        let mut taken = ScriptCheck { cost: 8, ..fixture.asked(&namespace, &rules) };
        let left = async |asked: &ScriptCheck<'_>| {
            let result = limiter.check(std::slice::from_ref(asked)).await.remove(0);
            let Ok(Answer::Decided(_, decisions)) = result else { panic!("{result:?}") };
            decisions[0].remaining
        };
        assert_eq!(left(&taken).await, 2, "{namespace}");
        let idempotency = Idempotency {
            key: "return".to_owned(),
            fingerprint: "3".to_owned(),
            text: String::new(),
            recorded_for: Idempotency::RECORDED_FOR,
        };
        let operation = Operation::Refund;
        let back =
            ScriptCheck { operation, cost: 3, idempotency: Some(idempotency), ..taken.clone() };
        let never = Micros(9_000_000_000_000_000);
        for _ in 0..2 {
            let returned = limiter.give_back(std::slice::from_ref(&back), never).await;
            assert!(returned[0].is_ok(), "{namespace}: {returned:?}");
        }
        taken.cost = 1;
        assert_eq!(left(&taken).await, 4, "{namespace}: returned once");
        let reset = limiter.reset(fixture.tenant, &namespace, &rules[0]).await;
        assert_eq!(reset.expect("redis answers"), 1, "{namespace}");
        assert_eq!(left(&taken).await, 9, "{namespace}");
    }
}

#[tokio::test]
async fn key_of_a_wrong_type_fails_only_the_checks_that_need_it() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter().await;
    let (namespaces, rules) = (fixture.namespaces(), window(1, 10));
    let bucket = Bucket::of(fixture.tenant, &namespaces[0], SpreadKey::NONE);
    let tenant = fixture.tenant.to_string();
    let owner = Owner { bucket, tenant: &tenant, namespace: &namespaces[0] };
    let mut key = String::new();
    keys::counter_hash(&mut key, owner, rules[0].subject);
    let node = fixture.node_of(&namespaces[0]);
    let set = fixture.cluster.nodes()[node].command(&format!("SET {key} text PX 600000"));
    assert_eq!(set.expect("it runs"), "+OK\r\n");
    let asked: Vec<_> =
        namespaces.iter().map(|namespace| fixture.asked(namespace, &rules)).collect();
    let results = limiter.check(&asked).await;
    assert!(matches!(&results[0], Ok(Answer::Unreadable(named)) if *named == key), "{results:?}");
    let decided = results.iter().filter(|result| matches!(result, Ok(Answer::Decided(..))));
    assert_eq!(decided.count(), 63, "{results:?}");
}

#[tokio::test]
async fn functions_that_a_primary_lost_are_loaded_there_again_and_no_check_fails() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter_with(Duration::from_secs(20));
    crate::limiter::tests::fixture::until_up(&limiter).await;
    let rules = window(1, 1_000);
    let before = limiter.health().script_loads;
    assert_eq!(before, 3, "each primary had none");
    for node in &fixture.cluster.nodes()[..3] {
        assert_eq!(node.command("FUNCTION FLUSH SYNC").expect("it runs"), "+OK\r\n");
    }
    for namespace in fixture.namespaces() {
        let result = limiter.check(&[fixture.asked(&namespace, &rules)]).await.remove(0);
        assert!(matches!(result, Ok(Answer::Decided(..))), "{namespace}: {result:?}");
    }
    // A probe possibly found it first.
    assert_eq!(limiter.health().script_loads, before + 3);
}
