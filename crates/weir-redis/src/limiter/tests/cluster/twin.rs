//! The twin of the program, on a cluster.

use weir_domain::algorithm::Kind;

use super::fixture::Fixture;
use crate::limiter::tests::{fixture, twin};

/// Acceptance check 1, for random histories. Their namespaces are in several buckets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_agrees_with_the_twin_over_random_histories() {
    let cluster = Fixture::without_replicas();
    let (mut passed, mut denied) = (0, 0);
    for seed in 1..=2 {
        let mut fixture = fixture::Fixture::on(cluster.client.clone()).await;
        let (some_passed, some_denied) = twin::history_on(&mut fixture, seed, Kind::ALL).await;
        (passed, denied) = (passed + some_passed, denied + some_denied);
    }
    assert!(passed > 20 && denied > 20, "{passed} passed, {denied} denied");
}
