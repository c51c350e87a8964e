//! 64 callers use one subject over two gates at once: exactly the limit passes, with every algorithm.

use std::sync::Arc;

use reqwest::Method;
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

/// No clock of a test reaches another year; the script's own tests supply later times.
#[tokio::test]
async fn quota_that_never_renews_is_denied_until_it_is_reset_and_for_ever_after_its_end() {
    let tenant = Tenant::sign_up(shared().await).await;
    let body = |name: &str, ends_at: Value| {
        json!({ "name": name, "count_by": ["user"], "match": [{ "attribute": "plan", "op": "equals", "value": name }],
            "limits": [{ "algorithm": "quota", "limit": 3, "period": "none", "ends_at": ends_at }] })
    };
    let refused = tenant.admin(Method::POST, "/rules", &body("trial", json!("tomorrow"))).await;
    assert!(refused.expect(422).body.to_string().contains("ends_at"));
    let rule = tenant.rule(&body("prepaid", Value::Null)).await;
    tenant.rule(&body("trial", json!("2026-01-01T00:00:00Z"))).await;
    let check = |plan: &str, cost: u64| json!({ "attributes": { "user": "ada", "plan": plan }, "cost": cost });

    let used = tenant.check(0, &check("prepaid", 3)).await;
    assert!(used.allowed() && used.body["reset_after_ms"].is_null(), "{}", used.body);
    assert_eq!(used.header("ratelimit"), Some("\"prepaid\";r=0"));
    assert_eq!(used.header("ratelimit-policy"), Some("\"prepaid\";q=3"));
    for plan in ["prepaid", "trial"] {
        let denied = tenant.check(0, &check(plan, 1)).await.expect(429);
        assert_eq!(denied.body["remaining"], 0, "{}", denied.body);
        assert!(denied.body["retry_after_ms"].is_null(), "{}", denied.body);
        for name in ["retry-after", "x-ratelimit-retry-after", "x-ratelimit-reset"] {
            assert_eq!(denied.header(name), None, "{name}");
        }
    }
    let reset = json!({ "rule_id": rule.id, "subject": { "user": "ada" } });
    tenant.admin(Method::POST, "/counters/reset", &reset).await.expect(200);
    assert!(tenant.check(1, &check("prepaid", 3)).await.allowed());
}
