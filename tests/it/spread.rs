//! A namespace whose counters are spread over the primaries of a cluster, with a quota that counts for the whole tenant.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_local::{RedisCluster, ScratchDir};

use crate::harness::{
    GateSettings, Http, PATIENT_MS, Server, Stack, Tenant, print, seconds, try_send, until,
};

const QUOTA: u64 = 10_000;
/// Checks in one request.
const BATCH: u64 = 100;
const USERS: u64 = 1_000;
const CALLERS: u64 = 4;
const YEAR_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

/// Sends `batches` batches by several callers, in turn to the gates, for users in turn. Returns the number of admissions.
async fn send(gates: &[Server], key: &str, batches: u64) -> u64 {
    let admitted = Arc::new(AtomicU64::new(0));
    let next_user = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let gate = &gates[usize::try_from(caller).expect("few") % gates.len()];
        let (url, key) = (format!("{}/check/batch", gate.url), key.to_owned());
        let (admitted, next_user) = (Arc::clone(&admitted), Arc::clone(&next_user));
        callers.spawn(async move {
            let http = Http::new();
            for _ in (caller..batches).step_by(usize::try_from(CALLERS).expect("few")) {
                let first = next_user.fetch_add(BATCH, Ordering::Relaxed);
                let check = |at: u64| {
                    let user = format!("user-{}", (first + at) % USERS);
                    json!({ "namespace": "api", "attributes": { "user": user } })
                };
                let checks: Vec<Value> = (0..BATCH).map(check).collect();
                let request = http.request(Method::POST, &url).bearer_auth(&key);
                let reply = try_send(request.json(&json!({ "checks": checks }))).await;
                let reply = reply.expect("the gate answers").expect(200);
                let results = reply.body["results"].as_array().expect("a list").clone();
                for result in results {
                    assert!(result["degraded"].is_null(), "{result}");
                    let allowed = result["allowed"].as_bool().expect("an answer");
                    admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
                }
            }
        });
    }
    callers.join_all().await;
    admitted.load(Ordering::Relaxed)
}

/// Acceptance check 12.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_namespace_uses_all_primaries_evenly_and_never_exceeds_its_leased_quota() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let put = |etag: &'static str, body: Value| {
        let tenant = tenant.clone();
        async move { tenant.admin_if_match(Method::PUT, "/namespaces/api", Some(etag), &body).await }
    };
    let each = json!({ "namespace": "api", "name": "each", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000, "window_ms": YEAR_MS }] });
    tenant.rule(&each).await;
    let all = json!({ "namespace": "api", "name": "all", "count_by": [], "consistency": "leased",
        "limits": [{ "algorithm": "fixed_window", "limit": QUOTA, "window_ms": YEAR_MS }] });
    tenant.rule(&all).await;
    let spread = put("\"0\"", json!({ "spread_by": ["user"] })).await.expect(200);
    let version = spread.number("/rulebook_version");

    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("cluster");
    let cluster = tokio::task::spawn_blocking(move || RedisCluster::start(&data_dir, 3, 0));
    let cluster = cluster.await.expect("it runs").expect("it starts");
    let gate = || {
        let redis_url = Some(cluster.url());
        stack.gate(GateSettings { redis_url, ..GateSettings::default() })
    };
    let gates = [gate(), gate()];
    for gate in &gates {
        stack.until_ready(gate).await;
        tenant.settled_on(gate, version).await;
    }

    let mut admitted = send(&gates, &tenant.key, 80).await;
    assert!(admitted >= 7_900, "{admitted} of 8,000, of which leases withhold at most 1 % each");
    let users: Vec<u64> = cluster.nodes().iter().map(users).collect();
    let mean = users.iter().sum::<u64>() / 3;
    assert!(users.iter().all(|count| count.abs_diff(mean) * 5 <= mean), "within 20 %: {users:?}");

    // Units that a gate withholds come back when it does not use them.
    until(seconds(60), "the quota is used", async || {
        admitted += send(&gates, &tenant.key, 4).await;
        assert!(admitted <= QUOTA, "{admitted} admissions");
        admitted >= QUOTA - QUOTA / 100
    })
    .await;
    for _ in 0..3 {
        admitted += send(&gates, &tenant.key, 8).await;
    }
    assert!(admitted <= QUOTA, "{admitted} admissions");
    print(&format!("{admitted} of {QUOTA} admitted; users of each primary: {users:?}"));

    let refused = put("\"1\"", json!({ "spread_by": ["user", "region"] })).await.expect(422);
    let reason = refused.text("/fields/0/reason");
    assert!(reason.contains("rule `each`") && reason.contains("`region`"), "{reason}");
}

/// The number of users whose counters a primary has. All are checked equally often.
fn users(node: &weir_local::Redis) -> u64 {
    let reply = node.command("KEYS weir:*:api:s:*").expect("it answers");
    let count = reply.strip_prefix('*').and_then(|reply| reply.split("\r\n").next());
    count.and_then(|count| count.parse().ok()).expect("a list")
}
