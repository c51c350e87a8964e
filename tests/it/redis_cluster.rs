//! A gate on a Redis Cluster of three primaries, of which one dies.

use std::time::Duration;

use serde_json::{Value, json};
use weir_local::{RedisCluster, ScratchDir};

use crate::harness::{GateSettings, Server, Stack, Tenant, seconds, until};

/// A budget that is long enough on a busy machine.
const BUDGET_MS: u32 = 1_000;
const NAMESPACES: usize = 12;
const SOON: Duration = seconds(60);

/// The values of a metric, by primary.
async fn of_primaries(tenant: &Tenant<'_>, gate: &Server, name: &str) -> Vec<u64> {
    let request = tenant.http.request(reqwest::Method::GET, &format!("{}/metrics", gate.url));
    let text = request.send().await.expect("a scrape").text().await.expect("text");
    let values = text.lines().filter_map(|line| {
        let (_, value) = line.strip_prefix(name)?.strip_prefix("{primary=")?.split_once("} ")?;
        value.parse().ok()
    });
    values.collect()
}

async fn check(tenant: &Tenant<'_>, gate: &Server, namespace: usize) -> Value {
    let body =
        json!({ "namespace": format!("space-{namespace}"), "attributes": { "user": "u-1" } });
    tenant.ask(gate, "/check", &body).await.body
}

/// Acceptance check 4, as clients of a gate see it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_primary_degrades_the_checks_of_its_namespaces_alone() {
    let stack = Stack::start(BUDGET_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    for namespace in 0..NAMESPACES {
        let rule = json!({ "namespace": format!("space-{namespace}"), "name": "one",
            "count_by": ["user"], "on_store_failure": "deny",
            "limits": [{ "algorithm": "fixed_window", "limit": 100_000, "window_ms": 86_400_000 }] });
        tenant.rule(&rule).await;
    }
    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("cluster");
    let cluster = tokio::task::spawn_blocking(move || RedisCluster::start(&data_dir, 3, 1));
    let cluster = cluster.await.expect("it runs").expect("it starts");
    let redis_url = Some(cluster.url());
    let gate = stack.gate(GateSettings { redis_url, ..GateSettings::default() });
    stack.until_ready(&gate).await;
    for namespace in 0..NAMESPACES {
        let answer = check(&tenant, &gate, namespace).await;
        assert_eq!((&answer["degraded"], &answer["remaining"]), (&Value::Null, &json!(99_999)));
    }
    assert_eq!(of_primaries(&tenant, &gate, "weir_redis_primary_up").await, [1, 1, 1]);
    let buckets = of_primaries(&tenant, &gate, "weir_redis_primary_buckets").await;
    assert_eq!(buckets, [21, 22, 21]);
    let calls = of_primaries(&tenant, &gate, "weir_redis_primary_call_seconds_count").await;
    assert!(calls.len() == 3 && calls.iter().sum::<u64>() >= NAMESPACES as u64, "{calls:?}");

    // A key names its namespace, and chance gives each tenant other buckets, so the primary of the
    // first namespace dies: it has one at least, and not all.
    let namespaces_of = |node: usize| -> Vec<usize> {
        let keys = cluster.nodes()[node].command("KEYS weir:*:s:*").expect("it answers");
        (0..NAMESPACES).filter(|at| keys.contains(&format!(":space-{at}:"))).collect()
    };
    let mut nodes = (0..3).map(|node| (node, namespaces_of(node)));
    let (killed, of_killed) = nodes.find(|(_, all)| all.contains(&0)).expect("a primary of it");
    assert!(of_killed.len() < NAMESPACES, "{of_killed:?}");
    cluster.nodes()[killed].kill().expect("it ran");
    let mut degraded = 0;
    until(SOON, "the replica serves", async || {
        let mut served = true;
        for namespace in 0..NAMESPACES {
            let answer = check(&tenant, &gate, namespace).await;
            if of_killed.contains(&namespace) {
                served &= answer["degraded"].is_null();
                degraded += u32::from(!answer["degraded"].is_null());
            } else {
                assert!(answer["degraded"].is_null(), "space-{namespace}: {answer}");
            }
        }
        served && degraded > 0
    })
    .await;
    until(SOON, "all primaries serve", async || {
        of_primaries(&tenant, &gate, "weir_redis_primary_up").await == [1, 1, 1]
    })
    .await;
    for namespace in of_killed {
        let answer = check(&tenant, &gate, namespace).await;
        // The replica had the first check; those that had no answer were possibly counted too.
        let remaining = answer["remaining"].as_u64().expect("a number");
        assert!(remaining < 99_999, "space-{namespace}: {answer}");
    }
}
