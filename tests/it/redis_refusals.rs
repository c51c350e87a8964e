//! Redis refuses everything, lost its data, or sends a flood of signals: gates report it and continue to work.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, Stack, Tenant, seconds, until};

/// A budget that is long enough on a busy machine.
const BUDGET_MS: u32 = 1_000;
const SOON: Duration = seconds(20);
const EVICTED: &str = "weir_redis_evicted_keys_total";

/// The value of a gate's counter or gauge, or 0 if it is missing.
async fn metric(tenant: &Tenant<'_>, gate: &Server, name: &str) -> f64 {
    let request = tenant.http.request(reqwest::Method::GET, &format!("{}/metrics", gate.url));
    let text = request.send().await.expect("a scrape").text().await.expect("text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().expect("a number"))
}

async fn redis_state(tenant: &Tenant<'_>, gate: &Server) -> Value {
    tenant.http.get(&format!("{}/readyz", gate.url)).await.expect(200).body["redis"].clone()
}

fn check() -> Value {
    json!({ "attributes": { "user": "u-1" } })
}

async fn with_rule(stack: &Stack) -> Tenant<'_> {
    let tenant = Tenant::sign_up(stack).await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 1, "window_ms": 3_600_000 }]);
    tenant.rule(&json!({ "name": "one", "count_by": ["user"], "limits": limits })).await;
    tenant
}

/// A gate starts on a Redis that evicts, and works, but says so until the policy is right.
#[tokio::test]
async fn redis_that_evicts_counters_is_reported_in_log_readiness_and_metric() {
    let settings = vec!["maxmemory-policy allkeys-lru".to_owned()];
    let stack = Stack::start_with_redis(BUDGET_MS, settings).await;
    let (tenant, gate) = (with_rule(&stack).await, &stack.gates[0]);
    let warning = async || {
        let ready = tenant.http.get(&format!("{}/readyz", gate.url)).await.expect(200);
        ready.body.get("redis_warning").map(ToString::to_string)
    };
    until(seconds(60), "the gate warns", async || {
        warning().await.is_some_and(|text| {
            text.contains("set maxmemory-policy to noeviction (it is allkeys-lru)")
        })
    })
    .await;
    assert!(gate.log().contains("redis evicts counters"), "{}", gate.log());
    assert_eq!(redis_state(&tenant, gate).await, "ok");
    assert!(metric(&tenant, gate, EVICTED).await < 0.5);

    let used = stack.redis.command("SET filler 0").expect("it runs");
    assert_eq!(used, "+OK\r\n");
    stack.redis.command("CONFIG SET maxmemory 1").expect("it runs");
    until(seconds(60), "evicted keys are counted", async || {
        metric(&tenant, gate, EVICTED).await > 0.5
    })
    .await;

    stack.redis.command("CONFIG SET maxmemory 0").expect("it runs");
    stack.redis.command("CONFIG SET maxmemory-policy noeviction").expect("it runs");
    until(seconds(60), "the warning ends", async || warning().await.is_none()).await;
}

/// F-14.
#[tokio::test]
async fn redis_that_refuses_everything_is_reported_by_its_reason_until_the_first_good_answer() {
    let stack = Stack::start(BUDGET_MS).await;
    let (tenant, gate) = (with_rule(&stack).await, &stack.gates[0]);
    stack.redis.command("CONFIG SET maxmemory 1").expect("it runs");
    let began = Instant::now();
    until(SOON, "the gate reports the outage", async || {
        let reply = tenant.check(0, &check()).await;
        assert!(!reply.body["degraded"].is_null(), "{}", reply.body);
        redis_state(&tenant, gate).await == "degraded"
    })
    .await;
    assert!(metric(&tenant, gate, "weir_redis_up").await < 0.5);
    assert!(metric(&tenant, gate, "weir_redis_errors_total{kind=\"oom\"}").await > 0.5);
    let log = gate.log();
    let lines = log.lines().filter(|line| line.contains("Redis rejected checks"));
    assert!(lines.clone().all(|line| line.contains("oom")), "{log}");
    let count = u64::try_from(lines.count()).expect("few");
    assert!((1..=began.elapsed().as_secs() + 2).contains(&count), "{count} lines: {log}");

    stack.redis.command("CONFIG SET maxmemory 0").expect("it runs");
    let reply = tenant.check(0, &check()).await.expect(200);
    assert!(reply.body["degraded"].is_null(), "{}", reply.body);
    assert_eq!(redis_state(&tenant, gate).await, "ok");
    assert!(metric(&tenant, gate, "weir_redis_up").await > 0.5);
}

/// F-11, and G-19 with F-09, with one stack for both.
#[tokio::test]
async fn lost_data_is_counted_and_a_flood_of_signals_costs_few_looks_at_postgres() {
    let stack = Stack::start(BUDGET_MS).await;
    let (tenant, gate) = (with_rule(&stack).await, &stack.gates[0]);
    tenant.check(0, &check()).await.expect(200);
    // The gate caches the denial, and the second one comes from its cache.
    for _ in 0..2 {
        tenant.check(0, &check()).await.expect(429);
    }
    stack.redis.command("FLUSHALL").expect("it runs");
    until(SOON, "the gate counts the loss", async || {
        metric(&tenant, gate, "weir_redis_data_lost_total").await > 0.5
    })
    .await;
    tenant.check(0, &check()).await.expect(200);

    let before = metric(&tenant, gate, "weir_rulebook_polls_total").await;
    let (began, mut sent) = (Instant::now(), 0.0);
    while began.elapsed() < seconds(1) {
        let flood =
            "EVAL \"for i = 1, 500 do redis.call('publish', 'weir:signal:rules', 'x') end\" 0";
        stack.redis.command(flood).expect("it runs");
        sent += 500.0;
    }
    until(SOON, "all signals have arrived", async || {
        metric(&tenant, gate, "weir_signals_malformed_total").await >= sent
    })
    .await;
    let looks = metric(&tenant, gate, "weir_rulebook_polls_total").await - before;
    let most = began.elapsed().as_secs_f64() / 0.05 + 2.0;
    assert!(looks <= most, "{looks} looks, at most {most}, for {sent} signals");
}
