//! Statistics are exact over several gates, restarts, and a time without Postgres. A killed gate loses what it has not
//! written yet, which is the statistics of a second.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    PATIENT_MS, Reply, Server, Stack, Tenant, print, seconds, send_signal, until,
};

/// The requests that are sent, and the expected counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sent {
    allowed: u64,
    denied: u64,
}

impl Sent {
    /// Sends checks through the gates in turn; every fourth is refused.
    async fn more(&mut self, tenant: &Tenant<'_>, gates: &[usize], count: usize) {
        for at in 0..count {
            let user = if at % 4 == 3 { "eve" } else { "ada" };
            let body = json!({ "namespace": "default", "attributes": { "user": user } });
            let reply = tenant.check(gates[at % gates.len()], &body).await;
            assert_eq!(reply.allowed(), user == "ada", "{}", reply.body);
            assert!(reply.body["degraded"].is_null(), "{}", reply.body);
            if user == "ada" { self.allowed += 1 } else { self.denied += 1 }
        }
    }
}

async fn read(tenant: &Tenant<'_>, path: &str) -> Reply {
    tenant.admin(Method::GET, &format!("/stats/{path}"), &Value::Null).await
}

async fn summary(tenant: &Tenant<'_>, rule: Option<&str>) -> Option<Sent> {
    let rule = rule.map(|rule| format!("?rule_id={rule}")).unwrap_or_default();
    let reply = read(tenant, &format!("summary{rule}")).await;
    let count = |name: &str| reply.body["counts"][name].as_u64();
    Some(Sent { allowed: count("allowed")?, denied: count("denied")? })
}

/// Waits until the totals are equal to these, then checks that the series has the same totals.
async fn until_counted(tenant: &Tenant<'_>, sent: Sent, when: &str) {
    until(seconds(30), when, async || summary(tenant, None).await == Some(sent)).await;
    let series = read(tenant, "series?step_s=60").await.expect(200);
    let sum = |name: &str| -> u64 {
        let column = series.body[name].as_array().expect("a list");
        column.iter().map(|count| count.as_u64().expect("a count")).sum()
    };
    assert_eq!(Sent { allowed: sum("allowed"), denied: sum("denied") }, sent, "{when}");
    assert_eq!(series.body["dropped"], 0, "{when}");
}

async fn failures(gate: &Server, tenant: &Tenant<'_>) -> u64 {
    let text = tenant.http.request(Method::GET, &format!("{}/metrics", gate.url)).send().await;
    let text = text.expect("metrics").text().await.expect("text");
    let line = text.lines().find_map(|line| line.strip_prefix("weir_stats_flush_failures_total "));
    line.expect("there is such a metric").trim().parse().expect("a number")
}

#[tokio::test]
async fn what_was_sent_is_what_is_counted() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let limits =
        json!([{ "algorithm": "fixed_window", "limit": 1_000_000, "window_ms": 3_600_000 }]);
    tenant.rule(&json!({ "name": "all", "count_by": ["user"], "limits": limits })).await;
    let barred = json!([{ "attribute": "user", "op": "equals", "value": "eve" }]);
    let barred = json!({ "name": "barred", "action": "deny", "match": barred });
    let barred = tenant.rule(&barred).await.id;

    let mut sent = Sent::default();
    sent.more(&tenant, &[0, 1], 200).await;
    until_counted(&tenant, sent, "both gates").await;

    sent.more(&tenant, &[0, 1], 40).await;
    assert_eq!(stack.gates[1].stop(), 0);
    until_counted(&tenant, sent, "one gate ended in order at once after it was asked").await;
    stack.gates[1].start_again();
    stack.until_ready(&stack.gates[1]).await;

    stack.postgres.stop().expect("Postgres stops");
    let before = failures(&stack.gates[0], &tenant).await;
    sent.more(&tenant, &[0, 1], 100).await;
    until(seconds(30), "two flushes have failed", async || {
        failures(&stack.gates[0], &tenant).await >= before + 2
    })
    .await;
    sent.more(&tenant, &[0, 1], 100).await;
    // The gate ends in order while Postgres is unavailable, so its unwritten statistics wait in its state directory.
    assert_eq!(stack.gates[1].stop(), 0);
    stack.postgres.restart().expect("Postgres starts again");
    stack.gates[1].start_again();
    stack.until_ready(&stack.gates[1]).await;
    until_counted(&tenant, sent, "after a time without Postgres").await;

    let lost = lost_by_killing(&stack, &tenant, &mut sent).await;
    print(&format!("kill -9 lost {} allowed and {} denied of 80 just sent", lost.0, lost.1));
    sent.more(&tenant, &[0, 1], 40).await;
    until_counted(&tenant, sent, "after the killed gate runs again").await;

    let of_rule = summary(&tenant, Some(&barred)).await.expect("a summary");
    assert_eq!(of_rule, Sent { allowed: 0, denied: sent.denied });
    assert_details(&tenant, &barred, sent).await;
}

/// Kills a gate right after it received checks. Subtracts the statistics that it had not written from `sent` and returns
/// them.
async fn lost_by_killing(stack: &Stack, tenant: &Tenant<'_>, sent: &mut Sent) -> (u64, u64) {
    let (before, gate) = (*sent, &stack.gates[0]);
    sent.more(tenant, &[0], 80).await;
    send_signal(gate.pid(), "KILL");
    until(seconds(10), "the gate is gone", async || gate.exit_code().is_some()).await;
    stack.until_no_transaction().await;
    let counted = summary(tenant, None).await.expect("a summary");
    assert!(counted.allowed >= before.allowed && counted.allowed <= sent.allowed, "{counted:?}");
    assert!(counted.denied >= before.denied && counted.denied <= sent.denied, "{counted:?}");
    let lost = (sent.allowed - counted.allowed, sent.denied - counted.denied);
    *sent = counted;
    gate.start_again();
    stack.until_ready(gate).await;
    lost
}

/// The other statistics: the busiest subjects, the denied checks, and the last use of the key.
async fn assert_details(tenant: &Tenant<'_>, barred: &str, sent: Sent) {
    let top = read(tenant, "top?by=rule").await.expect(200);
    assert_eq!(top.text("/data/0/rule"), "barred");
    assert_eq!(top.number("/data/0/denied"), sent.denied);
    until(seconds(30), "the busiest subject is written", async || {
        let top = read(tenant, "top?order=checks").await.expect(200);
        top.body["data"][0]["subject"]["user"] == "ada" && top.body["error_at_most"] == 0
    })
    .await;
    let denials = read(tenant, &format!("denials?rule_id={barred}")).await.expect(200);
    let denials = denials.body["data"].as_array().expect("a list").clone();
    assert!(!denials.is_empty() && denials.iter().all(|denial| denial["rule"] == "barred"));
    let keys = tenant.admin(Method::GET, "/keys", &Value::Null).await.expect(200);
    assert!(keys.body["data"][0]["last_used_at"].is_string(), "{}", keys.body);
}
