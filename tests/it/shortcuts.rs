//! Decisions that a gate makes without Redis, from cached denials and leased units, equal those that Redis would have made:
//! over two gates, with refunds, resets and edits in between.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Rule, Tenant, seconds, shared, until};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const LONG_MS: u64 = 366 * DAY_MS;
const CALLERS: usize = 64;

async fn with_rule(limit: u64, consistency: &str) -> (Tenant<'static>, Rule) {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = tenant.rule(&rule_body(limit, consistency)).await;
    (tenant, rule)
}

fn rule_body(limit: u64, consistency: &str) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": LONG_MS }]);
    json!({ "name": "short", "count_by": ["user"], "limits": limits, "consistency": consistency })
}

fn of(cost: u64) -> Value {
    json!({ "attributes": { "user": "ada" }, "cost": cost })
}

async fn passes(tenant: &Tenant<'_>, gate: usize, cost: u64) -> bool {
    let reply = tenant.check(gate, &of(cost)).await;
    assert!(reply.body["degraded"].is_null(), "Redis was not asked: {}", reply.body);
    reply.allowed()
}

/// The number of units that pass at a gate until one is refused.
async fn drain(tenant: &Tenant<'_>, gate: usize) -> u64 {
    let mut passed = 0;
    while passes(tenant, gate, 1).await {
        passed += 1;
    }
    passed
}

async fn gives_back(tenant: &Tenant<'_>, gate: usize, cost: u64) {
    tenant.ask(&tenant.stack.gates[gate], "/refund", &of(cost)).await.expect(200);
}

async fn resets(tenant: &Tenant<'_>, rule: &Rule) {
    let body = json!({ "rule_id": rule.id, "subject": { "user": "ada" } });
    tenant.admin(Method::POST, "/counters/reset", &body).await.expect(200);
}

/// The value of a gate's counter.
async fn counted(tenant: &Tenant<'_>, gate: usize, name: &str) -> u64 {
    let url = format!("{}/metrics", tenant.stack.gates[gate].url);
    let request = tenant.http.request(Method::GET, &url);
    let text = request.send().await.expect("a scrape").text().await.expect("text");
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    line.and_then(|line| line.rsplit_once(' '))
        .map_or(0, |(_, number)| number.parse().expect("a number"))
}

#[tokio::test]
async fn cached_denial_ends_with_a_refund_a_reset_and_an_edit_elsewhere() {
    let (tenant, rule) = with_rule(3, "exact").await;
    let before = counted(&tenant, 0, "weir_cached_denials_total").await;
    assert_eq!(drain(&tenant, 0).await, 3);
    until(seconds(20), "a denial is given again without Redis", async || {
        assert!(!passes(&tenant, 0, 1).await);
        counted(&tenant, 0, "weir_cached_denials_total").await > before
    })
    .await;

    gives_back(&tenant, 1, 1).await;
    until(seconds(20), "the unit passes at the other gate", async || passes(&tenant, 0, 1).await)
        .await;
    assert_eq!(drain(&tenant, 0).await + drain(&tenant, 1).await, 0, "one unit, once");

    resets(&tenant, &rule).await;
    until(seconds(20), "units pass again", async || passes(&tenant, 0, 1).await).await;
    assert_eq!(drain(&tenant, 1).await + drain(&tenant, 0).await, 2);

    tenant.put_settled(&rule, &rule_body(5, "exact")).await;
    assert_eq!(drain(&tenant, 0).await, 2, "a raised limit holds at once");
}

#[tokio::test]
async fn no_unit_too_many_and_none_lost_over_two_gates_with_denials_and_refunds() {
    let (tenant, _) = with_rule(200, "exact").await;
    let tenant = Arc::new(tenant);
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let tenant = Arc::clone(&tenant);
        callers.spawn(async move {
            let (mut taken, mut given) = (0, 0);
            for step in 0..12 {
                let cost = (caller as u64 + step) % 3 + 1;
                if passes(&tenant, caller % 2, cost).await {
                    taken += cost;
                    if step % 4 == 3 {
                        gives_back(&tenant, (caller + 1) % 2, cost).await;
                        given += cost;
                    }
                }
            }
            (taken, given)
        });
    }
    let sums = callers.join_all().await;
    let taken: u64 = sums.iter().map(|(taken, _)| taken).sum();
    let given: u64 = sums.iter().map(|(_, given)| given).sum();
    let mut left = 0;
    assert!(taken - given <= 200, "{taken} taken, {given} given back");
    until(seconds(20), "everything that was left passes", async || {
        left += drain(&tenant, 0).await + drain(&tenant, 1).await;
        taken - given + left >= 200
    })
    .await;
    assert_eq!(taken - given + left, 200);
}

#[tokio::test]
async fn leased_units_are_never_too_many_and_come_back_when_they_lie_idle() {
    units_come_back(&rule_body(2_000, "leased")).await;
}

/// The bucket gets no token during the test, so what gates hold cannot be exceeded either.
#[tokio::test]
async fn approximate_units_of_a_bucket_come_back_when_they_lie_idle() {
    let limit = json!({ "algorithm": "token_bucket", "capacity": 2_000, "refill_tokens": 1,
        "refill_interval_ms": DAY_MS });
    units_come_back(&approximate(&limit)).await;
}

#[tokio::test]
async fn approximate_units_of_a_sliding_window_counter_come_back_when_they_lie_idle() {
    let limit =
        json!({ "algorithm": "sliding_window_counter", "limit": 2_000, "window_ms": LONG_MS });
    units_come_back(&approximate(&limit)).await;
}

fn approximate(limit: &Value) -> Value {
    json!({ "name": "short", "count_by": ["user"], "limits": [limit], "consistency": "approximate" })
}

/// Many callers use up a rule of 2,000 units by two gates, and then what each gate returns.
async fn units_come_back(rule: &Value) {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(rule).await;
    let tenant = Arc::new(tenant);
    let before = counted(&tenant, 0, "weir_leased_checks_total").await;
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let tenant = Arc::clone(&tenant);
        callers.spawn(async move {
            let mut taken = 0;
            for step in 0..60 {
                let cost = (caller as u64 + step) % 3 + 1;
                if passes(&tenant, caller % 2, cost).await {
                    taken += cost;
                }
            }
            taken
        });
    }
    let mut taken: u64 = callers.join_all().await.into_iter().sum();
    assert!(taken <= 2_000, "{taken}");
    assert!(counted(&tenant, 0, "weir_leased_checks_total").await > before, "nothing was leased");
    until(seconds(30), "what lay idle at one gate passes at the other", async || {
        taken += drain(&tenant, 0).await + drain(&tenant, 1).await;
        taken >= 2_000
    })
    .await;
    assert_eq!(taken, 2_000);
}

#[tokio::test]
async fn reset_and_edit_of_a_leased_rule_admit_nothing_twice() {
    let (tenant, rule) = with_rule(400, "leased").await;
    for gate in [0, 1] {
        for _ in 0..20 {
            assert!(passes(&tenant, gate, 1).await);
        }
    }
    let rule = tenant.put_settled(&rule, &rule_body(100, "leased")).await;
    let mut taken = 40;
    until(seconds(30), "the lowered limit is used up", async || {
        taken += drain(&tenant, 0).await + drain(&tenant, 1).await;
        taken >= 90
    })
    .await;
    assert!(taken <= 100, "{taken}");

    resets(&tenant, &rule).await;
    let mut taken = 0;
    until(seconds(30), "the limit can be used again", async || {
        taken += drain(&tenant, 0).await + drain(&tenant, 1).await;
        taken >= 90
    })
    .await;
    assert!(taken <= 100, "{taken}");
}
