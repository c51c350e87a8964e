//! A tenant's ceiling of checks a second, and the switch that turns limits off.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Tenant, seconds, shared, until};

fn one_a_day() -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 1, "window_ms": 86_400_000 }]);
    json!({ "name": "one-a-day", "count_by": ["user"], "limits": limits })
}

#[tokio::test]
async fn limits_that_are_turned_off_let_every_check_pass_on_every_gate() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&one_a_day()).await;
    let body = json!({ "attributes": { "user": "ann" } });
    tenant.check(0, &body).await.expect(200);
    for gate in [0, 1] {
        tenant.check(gate, &body).await.expect(429);
    }
    let switch = async |to: &str| {
        tenant.admin(Method::PATCH, "", &json!({ "enforcement": to })).await.expect(200);
    };
    switch("off").await;
    for gate in [0, 1] {
        let took = until(seconds(10), "every check passes", async || {
            tenant.check(gate, &body).await.status == 200
        })
        .await;
        crate::harness::print(&format!("limits off on gate {gate} after {} ms", took.as_millis()));
        let answer = tenant.check(gate, &body).await.expect(200);
        assert_eq!(answer.text("/code"), "enforcement_off");
    }
    switch("on").await;
    for gate in [0, 1] {
        until(seconds(10), "the limit holds again, and what was used is still used", async || {
            tenant.check(gate, &body).await.status == 429
        })
        .await;
    }
}
