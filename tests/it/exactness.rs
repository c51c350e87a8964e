//! 64 callers use one subject over two gates at once: exactly the limit passes, with every algorithm.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Tenant, shared};

/// A time so long that no limit refills, leaks or rolls over during a run.
const LONG_MS: u64 = 366 * DAY_MS;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const CALLERS: usize = 64;
const RUNS: usize = 20;

#[tokio::test]
async fn fixed_window_admits_exactly_the_limit() {
    let limit = json!({ "algorithm": "fixed_window", "limit": 100, "window_ms": LONG_MS });
    hammer(limit, 100).await;
}

#[tokio::test]
async fn sliding_window_log_admits_exactly_the_limit() {
    let limit = json!({ "algorithm": "sliding_window_log", "limit": 100, "window_ms": LONG_MS });
    hammer(limit, 100).await;
}

#[tokio::test]
async fn sliding_window_counter_admits_exactly_the_limit() {
    let limit =
        json!({ "algorithm": "sliding_window_counter", "limit": 100, "window_ms": LONG_MS });
    hammer(limit, 100).await;
}

#[tokio::test]
async fn token_bucket_admits_exactly_the_capacity() {
    let limit = json!({ "algorithm": "token_bucket", "capacity": 100,
        "refill_tokens": 1, "refill_interval_ms": DAY_MS });
    hammer(limit, 100).await;
}

#[tokio::test]
async fn leaky_bucket_admits_exactly_the_capacity() {
    let limit = json!({ "algorithm": "leaky_bucket", "capacity": 100,
        "drain_units": 1, "drain_interval_ms": DAY_MS });
    hammer(limit, 100).await;
}

#[tokio::test]
async fn spacing_admits_exactly_one() {
    hammer(json!({ "algorithm": "spacing", "interval_ms": LONG_MS }), 1).await;
}

#[tokio::test]
async fn quota_admits_exactly_the_limit() {
    let limit = json!({ "algorithm": "quota", "limit": 100, "period": "year", "time_zone": "UTC" });
    hammer(limit, 100).await;
}

/// Runs all callers several times. Each run has a subject of its own, so it starts with unused limits.
async fn hammer(limit: Value, expected: usize) {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&json!({ "name": "hammered", "count_by": ["user"], "limits": [limit] })).await;
    let tenant = Arc::new(tenant);
    for run in 0..RUNS {
        let body = Arc::new(json!({ "attributes": { "user": format!("run-{run}") } }));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (tenant, body) = (Arc::clone(&tenant), Arc::clone(&body));
            callers.spawn(async move { passes(&tenant, caller % 2, &body).await });
        }
        let passed: usize = callers.join_all().await.into_iter().sum();
        assert_eq!(passed, expected, "run {run}");
    }
}

/// Sends checks until one is refused. Returns the number of allowed ones.
async fn passes(tenant: &Tenant<'_>, gate: usize, body: &Value) -> usize {
    let mut passed = 0;
    loop {
        let reply = tenant.check(gate, body).await;
        assert!(reply.body["degraded"].is_null(), "Redis was not asked: {}", reply.body);
        if !reply.allowed() {
            return passed;
        }
        passed += 1;
    }
}
