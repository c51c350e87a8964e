//! Rules with `on_store_failure: local` while neither Postgres nor Redis answers.

use serde_json::json;

use crate::harness::{Stack, Tenant, seconds, until};

#[tokio::test]
async fn gate_started_from_its_disk_copy_divides_limits_among_the_gates_that_lived() {
    let stack = Stack::start(200).await;
    let tenant = Tenant::sign_up(&stack).await;
    let limits =
        json!([{ "algorithm": "sliding_window_log", "limit": 10, "window_ms": 3_600_000 }]);
    let rule = json!({ "name": "local", "count_by": ["user"], "on_store_failure": "local", "limits": limits });
    tenant.rule(&rule).await;
    let gate = &stack.gates[1];
    let copy = gate.folder.join("state").join("rulebook");
    until(seconds(30), "the copy holds the rule and the number of gates", async || {
        let text = std::fs::read_to_string(&copy).unwrap_or_default();
        text.contains(&tenant.id) && text.contains("local") && text.contains("\"live_gates\":2")
    })
    .await;

    stack.postgres.stop().expect("Postgres stops");
    assert_eq!(gate.stop(), 0);
    gate.start_again();
    stack.until_serving(gate).await;
    stack.redis.kill().expect("Redis dies");
    let check = |user: &str| json!({ "attributes": { "user": user } });
    until(seconds(30), "the gate decides alone", async || {
        tenant.check(1, &check("first")).await.body["degraded"] == "local"
    })
    .await;
    let mut passed = 0;
    for _ in 0..12 {
        passed += u32::from(tenant.check(1, &check("ada")).await.allowed());
    }
    assert_eq!(passed, 5, "half of the limit, for one of two gates");
}
