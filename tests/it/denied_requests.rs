//! Why a request was denied: its `x-request-id` leads to the rule and the counters of that time, and to what changed since.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Reply, Tenant, seconds, shared, until};

/// A window that does not end during the test.
const LONG_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

fn rule(name: &str, limit: u64) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": LONG_MS }]);
    json!({ "name": name, "count_by": ["customer"], "limits": limits })
}

async fn why(tenant: &Tenant<'_>, request: &str) -> Reply {
    tenant.admin(Method::GET, &format!("/stats/denials/{request}"), &Value::Null).await
}

/// The explanation, once a gate has written the denials.
async fn explained(tenant: &Tenant<'_>, request: &str, count: usize) -> Value {
    let length = |reply: &Reply| reply.body["data"].as_array().map_or(0, Vec::len);
    let found = async || length(&why(tenant, request).await) == count;
    until(seconds(20), "the denials are logged", found).await;
    why(tenant, request).await.expect(200).body["data"].clone()
}

fn request_id(reply: &Reply) -> String {
    reply.header("x-request-id").expect("every answer has one").to_owned()
}

#[tokio::test]
async fn request_id_of_a_denial_leads_to_the_reason_then_and_to_what_changed_since() {
    let tenant = Tenant::sign_up(shared().await).await;
    let body = rule("api-per-customer", 2);
    let made = tenant.rule(&body).await;
    let made = tenant.put_settled(&made, &rule("api-per-customer", 3)).await;
    let check = json!({ "attributes": { "customer": "42" } });
    for _ in 0..3 {
        tenant.check(0, &check).await.expect(200);
    }
    let denied = request_id(&tenant.check(1, &check).await.expect(429));

    let data = explained(&tenant, &denied, 1).await;
    let one = &data[0];
    assert_eq!(one["denial"]["rule"], "api-per-customer");
    assert_eq!(one["denial"]["subject"], json!({ "customer": "42" }));
    assert_eq!(one["denial"]["request_id"], denied);
    assert_eq!((&one["rule_revision"], &one["present_revision"]), (&json!(2), &json!(2)));
    let then = &one["limits"][0];
    assert_eq!(
        (&then["limit"], &then["remaining"], &then["allowed"]),
        (&json!(3), &json!(0), &json!(false))
    );
    assert!(then["retry_after_ms"].as_u64().is_some_and(|wait_ms| wait_ms > 0), "{then}");
    assert_eq!((&one["now"]["limits"][0]["remaining"], &one["revisions"]), (&json!(0), &json!([])));
    assert_eq!(one["override_id"], Value::Null);

    tenant.put_settled(&made, &rule("api-per-customer", 10)).await;
    let data = explained(&tenant, &denied, 1).await;
    let one = &data[0];
    assert_eq!((&one["rule_revision"], &one["present_revision"]), (&json!(2), &json!(3)));
    assert_eq!(one["limits"][0]["limit"], 3, "what held then stays");
    assert_eq!(one["now"]["limits"][0]["remaining"], 7);
    let since = one["revisions"].as_array().expect("a list");
    assert_eq!((since.len(), &since[0]["after"]["limits"][0]["limit"]), (1, &json!(10)));

    let exception = json!({ "rule_id": made.id, "subject": { "customer": "7" }, "action": "deny" });
    let exception = tenant.override_rule(&exception).await.text("/id");
    let checks = json!({ "checks": [
        { "attributes": { "customer": "7" } }, { "attributes": { "customer": "42" } },
        { "attributes": { "customer": "7" } },
    ] });
    let batch = tenant.ask(&tenant.stack.gates[0], "/check/batch", &checks).await.expect(200);
    let data = explained(&tenant, &request_id(&batch), 2).await;
    for one in data.as_array().expect("a list") {
        assert_eq!((&one["override_id"], &one["limits"]), (&json!(exception), &json!([])));
        assert_eq!(one["now"]["action"], "deny");
    }

    let allowed = request_id(&tenant.check(0, &check).await.expect(200));
    let detail = why(&tenant, &allowed).await.expect(404).text("/detail");
    assert!(detail.contains("no rule of this tenant denied it"), "{detail}");
    let other = Tenant::sign_up(shared().await).await;
    assert_eq!(why(&other, &denied).await.expect(404).text("/detail"), detail);
}
