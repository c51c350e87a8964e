//! The idempotency key: a repeat gets the first answer and takes no units.

use serde_json::{Value, json};

use super::{hourly, of, with};
use crate::harness::{Tenant, shared};

fn named(user: &str, key: &str) -> Value {
    with(of(user), "idempotency_key", key)
}

#[tokio::test]
async fn repeat_gets_the_first_answer_on_either_gate_and_takes_nothing() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 2)).await;
    let first = tenant.check(0, &named("u-1", "order-1")).await.expect(200);
    for gate in [0, 1, 1] {
        let repeat = tenant.check(gate, &named("u-1", "order-1")).await.expect(200);
        assert_eq!(repeat.body, first.body);
    }
    let reply = tenant.check(0, &named("u-1", "order-2")).await.expect(200);
    assert_eq!(reply.number("/remaining"), 0);
}

#[tokio::test]
async fn repeat_of_a_denial_is_decided_anew_on_either_gate() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 1)).await;
    tenant.check(0, &of("u-1")).await.expect(200);
    for gate in [0, 1] {
        tenant.check(gate, &named("u-1", "order")).await.expect(429);
    }
    tenant.ask(&tenant.stack.gates[0], "/refund", &of("u-1")).await.expect(200);
    let first = tenant.check(1, &named("u-1", "order")).await.expect(200);
    let repeat = tenant.check(0, &named("u-1", "order")).await.expect(200);
    assert_eq!(repeat.body, first.body);
    tenant.check(0, &of("u-1")).await.expect(429);
}

#[tokio::test]
async fn same_key_with_another_request_is_refused() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&hourly("per-user", 3)).await;
    tenant.check(0, &named("u-1", "order-1")).await.expect(200);
    let others = [named("u-2", "order-1"), with(named("u-1", "order-1"), "cost", 2)];
    for other in others {
        let reply = tenant.check(1, &other).await.expect(422);
        assert_eq!(reply.problem(), "invalid");
        assert_eq!(reply.text("/fields/0/field"), "idempotency_key");
    }
    let reply = tenant.check(0, &with(of("u-1"), "mode", "peek")).await.expect(200);
    assert_eq!(reply.number("/remaining"), 1);
}

#[tokio::test]
async fn repeat_after_an_edit_of_the_rule_still_gets_the_first_answer() {
    let tenant = Tenant::sign_up(shared().await).await;
    let rule = tenant.rule(&hourly("per-user", 2)).await;
    let first = tenant.check(0, &named("u-1", "order-1")).await.expect(200);
    tenant.put_settled(&rule, &hourly("per-user", 50)).await;
    for gate in [0, 1] {
        let repeat = tenant.check(gate, &named("u-1", "order-1")).await.expect(200);
        assert_eq!(repeat.body, first.body);
    }
    let reply = tenant.check(0, &of("u-1")).await.expect(200);
    assert_eq!(reply.number("/remaining"), 48, "the edit kept the counter");
}

#[tokio::test]
async fn keys_of_two_tenants_do_not_meet() {
    let stack = shared().await;
    let (one, other) = (Tenant::sign_up(stack).await, Tenant::sign_up(stack).await);
    one.rule(&hourly("per-user", 2)).await;
    other.rule(&hourly("per-user", 9)).await;
    one.check(0, &named("u-1", "order-1")).await.expect(200);
    let reply = other.check(0, &named("u-1", "order-1")).await.expect(200);
    assert_eq!(reply.body["limit"], json!(9));
}

#[tokio::test]
async fn admin_request_that_is_repeated_is_done_once() {
    let tenant = Tenant::sign_up(shared().await).await;
    let url = format!("{}/api/v1/tenants/{}/rules", tenant.stack.control.url, tenant.id);
    let create = async |body: &Value| {
        let request = tenant.http.request(reqwest::Method::POST, &url).bearer_auth(&tenant.token);
        let request = request.header("idempotency-key", "make-it-once").json(body);
        let answer = request.send().await.expect("answered");
        (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
    };
    let (status, first) = create(&hourly("once", 1)).await;
    assert_eq!(status, 201, "{first}");
    let (status, repeat) = create(&hourly("once", 1)).await;
    assert_eq!((status, &repeat["id"]), (201, &first["id"]));
    let (status, _) = create(&hourly("another", 1)).await;
    assert_eq!(status, 422);
}
