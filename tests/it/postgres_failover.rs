//! Postgres fails over to a copy that lost commits, or is restored from a backup: gates serve the state of the database.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{PATIENT_MS, Reply, Server, Stack, Tenant, metrics, seconds, until};

/// The longest time until gates serve the state of the database, on a busy machine.
const WITHIN: Duration = seconds(20);

fn limited_to(name: &str, limit: u64) -> Value {
    json!({ "name": name, "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": 3_600_000 }] })
}

/// A standby of the database `weir` with the commits up to now.
struct Standby<'a>(&'a Stack);

impl<'a> Standby<'a> {
    fn copy(stack: &'a Stack) -> Self {
        let standby = Self(stack);
        standby.disconnect();
        standby.sql("CREATE DATABASE weir_standby TEMPLATE weir");
        standby.sql("ALTER DATABASE weir ALLOW_CONNECTIONS true");
        standby
    }

    /// Replaces the primary.
    fn promote(self) {
        self.disconnect();
        self.sql("ALTER DATABASE weir RENAME TO weir_lost");
        self.sql("ALTER DATABASE weir_standby RENAME TO weir");
        self.sql("DROP DATABASE weir_lost");
    }

    fn disconnect(&self) {
        self.sql("ALTER DATABASE weir ALLOW_CONNECTIONS false");
        self.sql(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'weir'",
        );
    }

    fn sql(&self, statement: &str) {
        self.0.postgres.psql("postgres", &["-c", statement]).expect("Postgres obeys");
    }
}

/// Creates a key, an edit of the rule and `lost - 2` new rules that only the old primary has. Returns the secret of the key.
async fn lose(tenant: &Tenant<'_>, rule_id: &str, lost: u64) -> String {
    for n in 2..lost {
        create(tenant, "/rules", &limited_to(&format!("lost-{n}"), 1)).await;
    }
    edit(tenant, rule_id, 1_000).await;
    let key = create(tenant, "/keys", &json!({ "name": "lost", "scopes": ["check"] })).await;
    tenant.settled(key.number("/rulebook_version")).await;
    key.text("/secret")
}

/// Sends a `POST` until the control plane has a connection to Postgres.
async fn create(tenant: &Tenant<'_>, path: &str, body: &Value) -> Reply {
    let mut reply = None;
    until(seconds(20), "the admin API works", async || {
        reply = Some(tenant.admin(Method::POST, path, body).await);
        reply.as_ref().is_some_and(|reply| reply.status != 503)
    })
    .await;
    reply.expect("one was awaited").expect(201)
}

/// Sets the limit of the rule when the control plane can.
async fn edit(tenant: &Tenant<'_>, rule_id: &str, limit: u64) {
    let path = format!("/rules/{rule_id}");
    until(seconds(20), "the admin API works", async || {
        let read = tenant.admin(Method::GET, &path, &Value::Null).await;
        let Some(etag) = read.header("etag").filter(|_| read.status == 200) else { return false };
        let body = limited_to("per-user", limit);
        tenant.admin_if_match(Method::PUT, &path, Some(etag), &body).await.status == 200
    })
    .await;
}

/// Waits until a gate refuses the lost key and enforces this limit alone.
async fn until_served(tenant: &Tenant<'_>, gate: &Server, lost_key: &str, limit: u64) {
    let url = format!("{}/check", gate.url);
    let peek = json!({ "attributes": { "user": "ann" }, "mode": "peek" });
    let what = format!("{} enforces {limit} and nothing else", gate.url);
    until(WITHIN, &what, async || {
        let lost = tenant.http.post(&url, lost_key, &peek).await;
        let known = tenant.http.post(&url, &tenant.key, &peek).await;
        let limits = known.body["limits"].as_array().map_or(0, Vec::len);
        lost.status == 401 && known.body["limit"] == limit && limits == 1
    })
    .await;
}

async fn lineage_changes(gate: &Server) -> u64 {
    let metrics = metrics(&gate.url).await;
    let line =
        metrics.lines().find_map(|line| line.strip_prefix("weir_rulebook_lineage_changes_total "));
    line.map_or(0, |value| value.parse().expect("a count"))
}

#[tokio::test]
async fn gates_serve_the_database_after_a_failover_that_lost_commits() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let rule = tenant.rule(&limited_to("per-user", 10)).await;
    let mut limit = 10;
    // The new version is below the one that gates hold, without and with a change, then equal to it, then above it.
    for (nth, lost, later) in [(1, 3, 0), (2, 4, 1), (3, 3, 3), (4, 2, 4)] {
        let standby = Standby::copy(&stack);
        let lost_key = lose(&tenant, &rule.id, lost).await;
        standby.promote();
        for _ in 0..later {
            limit += 1;
            edit(&tenant, &rule.id, limit).await;
        }
        for gate in &stack.gates {
            until_served(&tenant, gate, &lost_key, limit).await;
            assert_eq!(lineage_changes(gate).await, nth, "{}", gate.log());
            assert_eq!(gate.log().matches("the history in Postgres differs").count() as u64, nth);
        }
        // New changes still arrive.
        limit += 1;
        edit(&tenant, &rule.id, limit).await;
        for gate in &stack.gates {
            until_served(&tenant, gate, &lost_key, limit).await;
            assert_eq!(lineage_changes(gate).await, nth);
        }
    }
}

#[tokio::test]
async fn gate_with_a_snapshot_ahead_of_a_restored_database_serves_the_database() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let rule = tenant.rule(&limited_to("per-user", 10)).await;
    let standby = Standby::copy(&stack);
    let lost_key = lose(&tenant, &rule.id, 4).await;
    let gate = &stack.gates[1];
    assert_eq!(gate.stop(), 0);
    let snapshot = std::fs::read_to_string(gate.folder.join("state").join("rulebook"));
    assert!(snapshot.expect("a gate that stops writes one").contains("lost-3"));
    standby.promote();
    stack.postgres.stop().expect("Postgres stops");
    gate.start_again();
    stack.until_ready(gate).await;
    let peek = json!({ "attributes": { "user": "ann" }, "mode": "peek" });
    let url = format!("{}/check", gate.url);
    let ahead = tenant.http.post(&url, &lost_key, &peek).await.expect(200);
    assert_eq!(ahead.body["limits"].as_array().map(Vec::len), Some(3));

    stack.postgres.restart().expect("Postgres starts again");
    until_served(&tenant, gate, &lost_key, 10).await;
    assert_eq!(lineage_changes(gate).await, 1);
    assert!(gate.log().contains("the history in Postgres differs"), "{}", gate.log());
}
