//! A delivery holds a place in each concurrency limit, and a job that waits holds none.

use reqwest::Method;
use serde_json::{Value, json};

use super::receiver::{Mode, Receiver};
use super::{charged, job, of_job, rules, webhook, with_private_webhooks};
use crate::harness::{PATIENT_MS, Stack, Tenant, metric, seconds, until};

/// Longer than any test: a place that is free before was released.
const LONG_MS: u64 = 3_600_000;
/// Shorter than a delivery.
const SHORT_MS: u64 = 4_500;

/// A concurrency limit of one place for each value of an attribute.
async fn place(tenant: &Tenant<'_>, count_by: &str, lease_ms: u64) {
    let limit = json!({ "algorithm": "concurrency", "capacity": 1, "lease_ms": lease_ms });
    let name = format!("one-of-{count_by}");
    let rule =
        json!({ "namespace": "jobs", "name": name, "count_by": [count_by], "limits": [limit] });
    tenant.rule(&rule).await;
}

async fn is_free(tenant: &Tenant<'_>) -> bool {
    let attributes = json!({ "provider": "smtp" });
    let peek = json!({ "namespace": "jobs", "attributes": attributes, "mode": "peek" });
    tenant.check(0, &peek).await.allowed()
}

async fn until_delivered(tenant: &Tenant<'_>, id: &str) {
    until(seconds(30), "the job is delivered", async || {
        of_job(tenant, Method::GET, id).await.expect(200).body["state"] == "delivered"
    })
    .await;
}

#[tokio::test]
async fn delivery_holds_a_place_which_is_free_after_it_however_it_ends() {
    let stack = with_private_webhooks(Stack::start(PATIENT_MS).await).await;
    let tenant = Tenant::sign_up(&stack).await;
    let receiver = Receiver::start();
    let target = webhook(&tenant, &receiver).await;
    rules(&tenant, 100, 60_000).await;
    place(&tenant, "provider", LONG_MS).await;
    let defer = async |account| {
        let body = job(&target, account, 1);
        tenant.ask(&stack.gates[account % 2], "/defer", &body).await
    };

    let passed = defer(1).await.expect(200);
    assert_eq!(passed.body["leases"], Value::Null, "the gate releases it: {}", passed.body);
    until(seconds(10), "the place is free", async || is_free(&tenant).await).await;

    // While the receiver works, no other job of the provider arrives.
    receiver.received().mode = Mode::Hold;
    let held = defer(2).await.expect(202).text("/deferred");
    let waits = defer(3).await.expect(202).text("/deferred");
    assert!(!is_free(&tenant).await);
    assert_eq!(metric(&stack.gates[0].url, "weir_open_concurrency_leases").await, 1);
    let waiting = of_job(&tenant, Method::GET, &waits).await.expect(200);
    assert_eq!((&waiting.body["charged"], receiver.count()), (&json!(false), 2));
    receiver.release();
    until_delivered(&tenant, &held).await;
    until_delivered(&tenant, &waits).await;
    assert_eq!(receiver.count(), 3);

    // A job whose delivery failed holds no place until it is sent again.
    receiver.received().mode = Mode::Refuse;
    let refused = defer(4).await.expect(202).text("/deferred");
    until(seconds(10), "the receiver refuses it, and its place is free", async || {
        receiver.count() > 3 && is_free(&tenant).await
    })
    .await;
    receiver.received().mode = Mode::Accept;
    until_delivered(&tenant, &refused).await;
    until(seconds(10), "the place is free", async || is_free(&tenant).await).await;
    for gate in &stack.gates {
        assert_eq!(metric(&gate.url, "weir_open_concurrency_leases").await, 0);
    }
    assert_eq!(charged(&tenant, &[1, 2, 3, 4]).await, [1, 1, 1, 1]);
}

#[tokio::test]
async fn delivery_renews_its_place() {
    let stack = with_private_webhooks(Stack::start(PATIENT_MS).await).await;
    let tenant = Tenant::sign_up(&stack).await;
    let receiver = Receiver::start();
    let target = webhook(&tenant, &receiver).await;
    rules(&tenant, 100, 60_000).await;
    place(&tenant, "provider", SHORT_MS).await;
    receiver.received().mode = Mode::Hold;
    tenant.ask(&stack.gates[0], "/defer", &job(&target, 1, 1)).await.expect(202);
    // The fourth renewal is later than the end of the lease, and succeeds only if the place is still held.
    until(seconds(30), "the place is renewed", async || {
        let renewed = "weir_concurrency_leases_total{event=\"renewed\"}";
        metric(&stack.gates[0].url, renewed).await >= 4
    })
    .await;
    receiver.release();
}
