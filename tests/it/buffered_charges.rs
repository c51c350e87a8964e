//! Records and commits that find Redis away are charged once when it returns.

use serde_json::{Value, json};

use crate::harness::{Reply, Server, Stack, Tenant, metric, metrics, seconds, until};

const LIMIT: u64 = 100_000;
const RECORDS: u64 = 40;
const COST: u64 = 7;

async fn value(gate: &Server, series: &str) -> u64 {
    metric(&gate.url, series).await
}

fn body(user: &str, cost: u64) -> Value {
    json!({ "namespace": "usage", "attributes": { "user": user }, "cost": cost })
}

fn with_key(mut body: Value, key: &str) -> Value {
    body["idempotency_key"] = json!(key);
    body
}

/// The units of a user that are used or held.
async fn used(tenant: &Tenant<'_>, user: &str) -> u64 {
    let mut peek = body(user, 1);
    peek["mode"] = json!("peek");
    let peek = tenant.check(1, &peek).await.expect(200);
    // A peek answers as if it took its unit.
    LIMIT - 1 - peek.number("/remaining")
}

async fn reserve(tenant: &Tenant<'_>, user: &str, ttl_ms: u64) -> Value {
    let mut reserve = body(user, 50);
    reserve["ttl_ms"] = json!(ttl_ms);
    let reserved = tenant.ask(&tenant.stack.gates[0], "/reserve", &reserve).await.expect(200);
    reserved.body["reservation"].clone()
}

/// Expects an answer of a gate without Redis, which charged nothing yet and holds the call.
fn is_buffered(reply: Reply) {
    let body = reply.expect(200).body;
    assert_eq!((&body["degraded"], &body["charged"]), (&json!("allow"), &json!(0)), "{body}");
    assert_eq!(body["buffered"], json!(true), "{body}");
}

#[tokio::test]
async fn records_and_commits_are_charged_once_when_redis_returns() {
    let lines = ["appendonly yes", "appendfsync always"].map(str::to_owned);
    let stack = Stack::start_with_redis(1_000, lines.into()).await;
    let tenant = Tenant::sign_up(&stack).await;
    let limit = json!({ "algorithm": "fixed_window", "limit": LIMIT, "window_ms": 86_400_000 });
    tenant
        .rule(&json!({ "namespace": "usage", "name": "units", "count_by": ["user"],
            "on_store_failure": "allow", "limits": [limit] }))
        .await;
    let gate = &stack.gates[0];
    let open = reserve(&tenant, "open", 600_000).await;
    let short = reserve(&tenant, "short", 1_000).await;
    let unused = reserve(&tenant, "unused", 600_000).await;
    assert_eq!(value(gate, "weir_open_reservations").await, 3);
    let known = tenant.ask(gate, "/record", &body("plain", COST)).await.expect(200).body;
    assert_eq!((&known["charged"], &known["buffered"]), (&json!(COST), &json!(false)), "{known}");

    assert_eq!(value(gate, "weir_redis_up").await, 1);
    stack.redis.kill().expect("Redis runs");
    until(seconds(20), "the gate misses Redis", async || value(gate, "weir_redis_up").await == 0)
        .await;
    for number in 0..RECORDS {
        let keyed = with_key(body("keyed", COST), &format!("record {number}"));
        // The caller repeats it, because the answer is marked.
        for _ in 0..2 {
            is_buffered(tenant.ask(gate, "/record", &keyed).await);
        }
        is_buffered(tenant.ask(gate, "/record", &body("plain", COST)).await);
    }
    is_buffered(tenant.ask(gate, "/commit", &json!({ "reservation": open, "cost": 20 })).await);
    let late = json!({ "reservation": short, "cost": 30, "attributes": { "user": "short" } });
    is_buffered(tenant.ask(gate, "/commit", &late).await);
    is_buffered(tenant.ask(gate, "/cancel", &json!({ "reservation": unused })).await);
    // No rule matches it, so there is nothing to charge.
    let other = json!({ "namespace": "other", "attributes": { "user": "plain" } });
    let other = tenant.ask(gate, "/record", &other).await.expect(200).body;
    assert_eq!((&other["degraded"], &other["buffered"]), (&Value::Null, &json!(false)), "{other}");
    let waiting = 3 * RECORDS + 3;
    assert_eq!(value(gate, "weir_buffered_charges").await, waiting);

    stack.redis.restart().expect("Redis starts again");
    until(seconds(60), "all charges are sent", async || {
        value(gate, "weir_buffered_charges").await == 0
            && value(gate, "weir_buffered_charges_total{event=\"sent\"}").await == waiting
    })
    .await;
    until(seconds(20), "both gates use Redis", async || {
        value(&stack.gates[1], "weir_redis_up").await == 1
    })
    .await;
    assert_eq!(used(&tenant, "keyed").await, RECORDS * COST, "the repeats took nothing");
    assert_eq!(used(&tenant, "plain").await, (RECORDS + 1) * COST);
    assert_eq!(used(&tenant, "open").await, 20, "nothing is held any more");
    assert_eq!(used(&tenant, "short").await, 30);
    assert_eq!(used(&tenant, "unused").await, 0, "its units were released");
    let dropped = "weir_buffered_charges_total{event=\"dropped\"} 0";
    assert!(metrics(&gate.url).await.contains(dropped), "{dropped}");
    assert_eq!(value(gate, "weir_open_reservations").await, 0);
}
