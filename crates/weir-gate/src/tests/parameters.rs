//! Query parameters: one that an operation does not have is refused, so that a field of the body is not ignored there.

use serde_json::json;

use super::support::Gate;

#[tokio::test]
async fn parameter_that_an_operation_does_not_have_is_refused_and_named() {
    let (gate, keys, _) = Gate::with_two_tenants().await;
    let document = crate::openapi();
    let mut walked = 0;
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            let refuses = operation["responses"].get("422").is_some();
            if !refuses {
                continue;
            }
            let key = if path == "/exhaust" { &keys.exhaust } else { &keys.check };
            let path = path.replace("{deferred}", "deferred_00000000000000000000000001");
            let asked = format!("{path}?idempotency_key=k");
            let (status, answer) = gate.send(method, &asked, Some(key), &json!({})).await;
            let field = &answer["fields"][0]["field"];
            assert_eq!((status, field), (422, &json!("idempotency_key")), "{method} {path}");
            walked += 1;
        }
    }
    assert!(walked > 11, "{walked} requests");
}
