//! Postgres is unavailable: gates continue to decide, restart from their snapshots, and recover by themselves.

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{PATIENT_MS, Server, Stack, Tenant, seconds, until};

fn limited_to(limit: u64) -> Value {
    json!({ "name": "per-user", "count_by": ["user"],
        "limits": [{ "algorithm": "sliding_window_log", "limit": limit, "window_ms": 3_600_000 }] })
}

fn of(user: &str) -> Value {
    json!({ "attributes": { "user": user } })
}

/// F-01, F-03, F-04, in the order in which operators meet them.
#[tokio::test]
async fn gates_decide_without_postgres_and_restart_from_their_disk_copies() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let rule = tenant.rule(&limited_to(10)).await;
    for gate in &stack.gates {
        until_copied(gate, &tenant).await;
    }

    stack.postgres.stop().expect("Postgres stops");
    assert_exactly(&tenant, "while away", 10).await;
    assert_admin_says_so_quickly(&tenant, &rule.id).await;

    let restarted = &stack.gates[1];
    assert_eq!(restarted.stop(), 0);
    restarted.start_again();
    stack.until_ready(restarted).await;
    assert_exactly(&tenant, "after a restart", 10).await;

    let copy = copy_of(&stack.gates[0]);
    assert_damaged_copy_is_not_served(&stack, &tenant, &copy).await;

    stack.postgres.restart().expect("Postgres starts again");
    stack.until_ready(&stack.gates[0]).await;
    let rule = changed_at_last(&tenant, &rule.id, 12).await;
    tenant.settled(rule).await;
    for gate in [0, 1] {
        let reply = tenant.check(gate, &of("after the outage")).await.expect(200);
        assert_eq!(reply.number("/limit"), 12);
    }
}

/// Both gates together admit exactly `limit` checks.
async fn assert_exactly(tenant: &Tenant<'_>, user: &str, limit: usize) {
    let mut passed = 0;
    for at in 0..limit * 2 {
        let reply = tenant.check(at % 2, &of(user)).await;
        assert!(matches!(reply.status, 200 | 429), "{}", reply.body);
        assert!(reply.body["degraded"].is_null(), "{}", reply.body);
        passed += usize::from(reply.allowed());
    }
    assert_eq!(passed, limit, "{user}");
}

async fn assert_admin_says_so_quickly(tenant: &Tenant<'_>, rule_id: &str) {
    let path = format!("/rules/{rule_id}");
    for _ in 0..3 {
        let reply = tenant.admin(Method::GET, &path, &Value::Null).await.expect(503);
        assert_eq!(reply.problem(), "unavailable");
        assert!(reply.header("retry-after").is_some());
        assert!(reply.took < seconds(8), "{:?}", reply.took);
        assert!(!reply.body.to_string().contains("127.0.0.1"), "{}", reply.body);
    }
    let health = format!("{}/healthz", tenant.stack.control.url);
    assert_eq!(tenant.http.get(&health).await.status, 200);
}

/// A gate with neither Postgres nor a complete snapshot serves no rules, instead of half of them.
async fn assert_damaged_copy_is_not_served(stack: &Stack, tenant: &Tenant<'_>, copy: &PathBuf) {
    let gate = &stack.gates[0];
    assert_eq!(gate.stop(), 0);
    let whole = std::fs::read(copy).expect("there is a copy");
    std::fs::write(copy, &whole[..whole.len() / 2]).expect("the copy can be damaged");
    gate.start_again();
    let health = format!("{}/healthz", gate.url);
    until(seconds(30), "the gate is alive", async || {
        tenant.http.try_get(&health).await.is_some_and(|reply| reply.status == 200)
    })
    .await;
    until(seconds(30), "the gate says that its copy is damaged", async || {
        gate.log().contains("damaged")
    })
    .await;
    let ready = tenant.http.get(&format!("{}/readyz", gate.url)).await.expect(503);
    assert_eq!(ready.problem(), "unavailable");
    let reply = tenant.check(0, &of("u-1")).await.expect(503);
    assert_eq!(reply.problem(), "unavailable");
    assert!(reply.header("retry-after").is_some());
}

/// Changes the rule when the control plane can. Returns the version from which the change holds.
async fn changed_at_last(tenant: &Tenant<'_>, rule_id: &str, limit: u64) -> u64 {
    let path = format!("/rules/{rule_id}");
    let mut version = 0;
    until(seconds(20), "the admin API works again", async || {
        let read = tenant.admin(Method::GET, &path, &Value::Null).await;
        let Some(etag) = read.header("etag").filter(|_| read.status == 200) else { return false };
        let written =
            tenant.admin_if_match(Method::PUT, &path, Some(etag), &limited_to(limit)).await;
        version = written.body["rulebook_version"].as_u64().unwrap_or(0);
        written.status == 200
    })
    .await;
    version
}

fn copy_of(gate: &Server) -> PathBuf {
    gate.folder.join("state").join("rulebook")
}

/// Waits until the snapshot of a gate contains this tenant's rule.
async fn until_copied(gate: &Server, tenant: &Tenant<'_>) {
    let copy = copy_of(gate);
    until(seconds(20), "the copy holds the rule", async || {
        let text = std::fs::read_to_string(&copy).unwrap_or_default();
        text.contains(&tenant.id) && text.contains("per-user")
    })
    .await;
    let text = std::fs::read_to_string(&copy).expect("there is a copy");
    assert!(!text.contains(&tenant.key), "the copy holds a secret");
}
