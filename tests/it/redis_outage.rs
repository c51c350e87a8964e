//! Redis is unavailable, stalled, full or empty, or has lost the functions: rules answer by `on_store_failure` at once, and
//! normal decisions return soon after.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Reply, Stack, Tenant, millis, print, seconds, until};

/// The default budget of `weir serve`.
const BUDGET_MS: u32 = 10;
/// The longest time of one request on a machine that runs other tests too. Most requests must be far quicker.
const WORST: Duration = seconds(10);
const TYPICAL: Duration = millis(250);
/// The time within which checks are decided by Redis again, and the most that a busy machine adds to each and to the shortest.
const RECOVERED: Duration = seconds(2);
const SLACK: Duration = seconds(10);
const LEAST_SLACK: Duration = millis(500);
const POLICIES: [&str; 3] = ["allow", "deny", "local"];

/// F-05, F-06, F-10, F-11, one after another on one stack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_answer_by_themselves_while_redis_is_away_and_recover_alone() {
    let stack = Stack::start(BUDGET_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    for policy in POLICIES {
        let rule = json!({ "namespace": policy, "name": policy, "count_by": ["user"],
            "on_store_failure": policy,
            "limits": [{ "algorithm": "sliding_window_log", "limit": 10, "window_ms": 3_600_000 }] });
        tenant.rule(&rule).await;
    }
    both_gates_know_of_each_other(&tenant).await;
    assert_normal(&tenant, "before").await;

    assert_flushed_script_costs_nothing(&stack, &tenant).await;

    allow_memory(&stack, "1");
    assert_degraded(&tenant, "full").await;
    allow_memory(&stack, "0");
    assert_normal_soon(&tenant, "after it was full").await;

    stack.redis.kill().expect("Redis dies");
    assert_degraded(&tenant, "killed").await;
    assert_gates_say_so(&tenant, "killed").await;
    stack.redis.restart().expect("Redis starts again");
    let mut recovered = vec![assert_normal_soon(&tenant, "after it was killed").await];

    stack.redis.pause().expect("Redis is stopped by a signal");
    assert_degraded(&tenant, "stalled").await;
    assert_gates_say_so(&tenant, "stalled").await;
    stack.redis.resume().expect("Redis goes on");
    recovered.push(assert_normal_soon(&tenant, "after it was stalled").await);

    assert_restart_under_load_fails_nothing(&stack, &tenant).await;
    recovered.push(assert_normal_soon(&tenant, "after a restart under load").await);
    let least = recovered.iter().min().expect("three");
    assert!(*least < RECOVERED + LEAST_SLACK, "{recovered:?}");
}

/// Sets the memory limit of Redis, in bytes; 0 removes it.
fn allow_memory(stack: &Stack, bytes: &str) {
    let set = stack.redis.command(&format!("CONFIG SET maxmemory {bytes}"));
    let set = set.expect("Redis takes a setting");
    assert!(set.starts_with("+OK"), "{set}");
}

fn check(policy: &str, user: &str) -> Value {
    json!({ "namespace": policy, "attributes": { "user": user } })
}

fn is_prompt(reply: &Reply) {
    assert!(matches!(reply.status, 200 | 429), "{} {}", reply.status, reply.body);
    assert!(reply.took < WORST, "a request took {:?}", reply.took);
}

/// Expects that every rule answers by its policy on both gates, promptly from the first request on.
async fn assert_degraded(tenant: &Tenant<'_>, what: &str) {
    let mut took = Vec::new();
    for policy in POLICIES {
        for gate in [0, 1] {
            // The first checks were possibly in flight when the fault began.
            until(seconds(20), &format!("{what}: {policy} is marked"), async || {
                let reply = tenant.check(gate, &check(policy, "first")).await;
                is_prompt(&reply);
                reply.body["degraded"] == policy
            })
            .await;
            for _ in 0..15 {
                let reply = tenant.check(gate, &check(policy, what)).await;
                is_prompt(&reply);
                took.push(reply.took);
                assert_eq!(reply.body["degraded"], policy, "{what}: {}", reply.body);
                match policy {
                    "allow" => assert_eq!(reply.status, 200, "{what}: {}", reply.body),
                    "deny" => assert_refused(&reply),
                    _ => assert!(reply.body["limit"].is_u64(), "{}", reply.body),
                }
            }
        }
    }
    took.sort_unstable();
    print(&format!("{what}: median {:?}, worst {:?}", took[took.len() / 2], took[took.len() - 1]));
    assert!(took[took.len() / 2] < TYPICAL, "{what}: {took:?}");
    assert_local_is_a_share(tenant, what).await;
}

async fn assert_gates_say_so(tenant: &Tenant<'_>, what: &str) {
    for gate in &tenant.stack.gates {
        let ready = tenant.http.get(&format!("{}/readyz", gate.url)).await.expect(200);
        assert_eq!(ready.body["redis"], "degraded", "{what}");
    }
}

fn assert_refused(reply: &Reply) {
    assert_eq!(reply.status, 429, "{}", reply.body);
    assert_eq!(reply.body["denied_by"], json!(["deny"]));
    assert!(reply.header("retry-after").is_some(), "{}", reply.body);
}

/// Each of the two gates admits half of the limit.
async fn assert_local_is_a_share(tenant: &Tenant<'_>, what: &str) {
    for gate in [0, 1] {
        let mut passed = 0;
        for _ in 0..12 {
            let reply = tenant.check(gate, &check("local", &format!("{what} alone"))).await;
            passed += u32::from(reply.allowed());
        }
        assert_eq!(passed, 5, "{what}: passed on gate {gate}");
    }
}

/// Returns the time until both gates ask Redis.
async fn assert_normal_soon(tenant: &Tenant<'_>, what: &str) -> Duration {
    let back = Instant::now();
    for gate in [0, 1] {
        until(RECOVERED + SLACK, &format!("{what}: gate {gate} asks Redis"), async || {
            let reply = tenant.check(gate, &check("allow", "recovered")).await;
            is_prompt(&reply);
            reply.body["degraded"].is_null()
        })
        .await;
    }
    let took = back.elapsed();
    print(&format!("{what}: normal after {took:?}"));
    assert_normal(tenant, what).await;
    took
}

/// Expects that exactly the limit passes. On a busy machine a check can exceed its budget of 10 ms; then another subject is
/// tried.
async fn assert_normal(tenant: &Tenant<'_>, what: &str) {
    let mut round = 0;
    until(seconds(20), &format!("{what}: exact again"), async || {
        round += 1;
        let user = format!("{what} {round}");
        let mut passed = 0;
        for at in 0..14 {
            let reply = tenant.check(at % 2, &check("deny", &user)).await;
            is_prompt(&reply);
            if !reply.body["degraded"].is_null() {
                return false;
            }
            passed += u32::from(reply.allowed());
        }
        assert_eq!(passed, 10, "{what}");
        true
    })
    .await;
    for gate in &tenant.stack.gates {
        let url = format!("{}/readyz", gate.url);
        until(seconds(5), "it says that Redis is there", async || {
            tenant.http.get(&url).await.expect(200).body["redis"] == "ok"
        })
        .await;
    }
}

/// F-11: the counters survive, and no request fails.
async fn assert_flushed_script_costs_nothing(stack: &Stack, tenant: &Tenant<'_>) {
    let mut taken = 0;
    for round in 0..6 {
        let flushed = stack.redis.command("FUNCTION FLUSH SYNC").expect("Redis forgets them");
        assert!(flushed.starts_with("+OK"), "{flushed}");
        let reply = tenant.check(round % 2, &check("allow", "flushed")).await.expect(200);
        is_prompt(&reply);
        if reply.body["degraded"].is_null() {
            taken += 1;
            assert_eq!(reply.number("/remaining"), 10 - taken, "{}", reply.body);
        } else {
            // The check exceeded its budget, so it was possibly counted.
            taken = 10 - remaining(tenant).await;
        }
    }
    assert!(taken >= 1, "every check missed its budget");
}

async fn remaining(tenant: &Tenant<'_>) -> u64 {
    let peek = json!({ "namespace": "allow", "attributes": { "user": "flushed" }, "mode": "peek" });
    let mut left = 0;
    until(seconds(10), "a peek meets its budget", async || {
        let reply = tenant.check(0, &peek).await;
        // A peek reports the remainder after it.
        left = reply.body["remaining"].as_u64().map_or(0, |remaining| remaining + 1);
        reply.body["degraded"].is_null()
    })
    .await;
    left
}

/// Restarts Redis while callers send checks to both gates. Each check gets a prompt decision.
async fn assert_restart_under_load_fails_nothing(stack: &Stack, tenant: &Tenant<'_>) {
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut callers = JoinSet::new();
    let mut asked = 0_u32;
    for caller in 0..8_usize {
        let (http, key) = (tenant.http.clone(), tenant.key.clone());
        let url = format!("{}/check", stack.gates[caller % 2].url);
        let stopped = stopped.clone();
        callers.spawn(async move {
            let body = check("allow", &format!("caller-{caller}"));
            let mut asked = 0;
            while !*stopped.borrow() {
                is_prompt(&http.post(&url, &key, &body).await);
                asked += 1;
                tokio::time::sleep(millis(5)).await;
            }
            asked
        });
    }
    tokio::task::block_in_place(|| stack.redis.restart()).expect("Redis starts again");
    stop.send(true).expect("callers listen");
    while let Some(caller) = callers.join_next().await {
        asked += caller.expect("every request of a caller was answered");
    }
    print(&format!("{asked} requests while Redis was restarted"));
    assert!(asked > 8, "nobody asked");
}

/// Waits until both gates know of each other. Each gate reports every two seconds and then reads the number of gates.
async fn both_gates_know_of_each_other(tenant: &Tenant<'_>) {
    let ages = async || {
        let reply = tenant.admin(reqwest::Method::GET, "/replicas", &Value::Null).await.expect(200);
        let data = reply.body["data"].as_array().expect("a list").clone();
        data.iter().map(|gate| gate["age_ms"].as_u64().expect("an age")).collect::<Vec<_>>()
    };
    until(seconds(20), "both gates report", async || ages().await.len() == 2).await;
    // A gate that reports after both have started has read the number 2.
    let both = Instant::now();
    until(seconds(20), "both gates have reported again", async || {
        let since = u64::try_from(both.elapsed().as_millis()).expect("a short time");
        ages().await.iter().all(|age| *age < since)
    })
    .await;
}
