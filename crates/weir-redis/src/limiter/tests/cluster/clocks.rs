//! A promoted replica of a cluster with another clock than the former primary.

use std::sync::Arc;

use weir_domain::request::Operation;
use weir_local::ClusterOptions;

use super::fixture::{Fixture, until};
use crate::client::tests::clocks::{
    assert_nothing_is_admitted, decided, exhaust, of_all_kinds, time_us,
};
use crate::limiter::ScriptCheck;

/// Acceptance check 8, on a cluster.
async fn admits_nothing_more(replica_clock_s: i64) {
    let options = ClusterOptions { replicas: 1, replica_clock_s, ..Fixture::options() };
    let fixture = Arc::new(Fixture::with(&options));
    let limiter = fixture.limiter().await;
    let namespaces = fixture.namespaces();
    let namespace = namespaces.iter().find(|name| fixture.node_of(name) == 0);
    let namespace = namespace.expect("each primary has some").as_str();
    let rules = of_all_kinds();
    exhaust(&limiter, &rules, |rule| fixture.asked(namespace, rule)).await;

    let failing_over = {
        let fixture = Arc::clone(&fixture);
        tokio::task::spawn_blocking(move || fixture.cluster.fail_over(0))
    };
    failing_over.await.expect("it runs").expect("the replica takes over");
    let new = fixture.node_of(namespace);
    assert_ne!(new, 0);
    let before = fixture.calls(new);
    until("the limiter has moved", async || {
        let peek =
            ScriptCheck { operation: Operation::Peek, ..fixture.asked(namespace, &rules[0]) };
        decided(&limiter, &peek).await;
        fixture.calls(new) > before
    })
    .await;
    assert_nothing_is_admitted(&limiter, &rules, |rule| fixture.asked(namespace, rule)).await;
    let [new, old] = [new, 0].map(|node| time_us(&fixture.cluster.nodes()[node]));
    let expected_us = replica_clock_s * 1_000_000;
    assert!((new - old - expected_us).abs() < 2_000_000, "the clocks differ by {} us", new - old);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoted_replica_of_a_cluster_with_a_clock_behind_admits_nothing_more() {
    admits_nothing_more(-5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoted_replica_of_a_cluster_with_a_clock_ahead_admits_nothing_more() {
    admits_nothing_more(5).await;
}
