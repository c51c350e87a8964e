//! The profile that the guide prints, and the documented ones: they are safe as they are.

use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::Kind;
use super::proxy::documented;
use crate::harness::{Tenant, send, shared};

/// The first block of JSON of the guide's page on proxies.
fn printed() -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in a folder");
    let page =
        fs::read_to_string(root.join("docs/proxies/README.md")).expect("a page of the guide");
    let block = page.split("```json").nth(1).and_then(|rest| rest.split("```").next());
    serde_json::from_str(block.expect("a block of JSON")).expect("JSON")
}

#[tokio::test]
async fn printed_profile_counts_every_request_of_a_constant_id() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let profile = printed();
    let rule = json!({
        "name": "all", "namespace": profile["namespace"], "count_by": ["route"],
        "limits": [{ "algorithm": "sliding_window_log", "limit": 3, "window_ms": 86_400_000 }],
    });
    tenant.rule(&rule).await;
    let made = tenant.admin(Method::POST, "/profiles", &profile).await.expect(201);
    assert_eq!(made.body["warnings"], json!([]));
    tenant.settled(made.number("/rulebook_version")).await;
    let name = profile["name"].as_str().expect("a name");
    let url = format!("{}/authorize/{name}", stack.gates[0].url);
    let ask = async || {
        let request = tenant.http.request(Method::GET, &url);
        let headers = [
            ("x-weir-key", tenant.key.as_str()),
            ("x-forwarded-method", "GET"),
            ("x-forwarded-uri", "/login"),
            ("x-forwarded-host", "shop.example"),
            ("x-forwarded-for", "192.0.2.7"),
            ("idempotency-key", "always-the-same"),
            ("x-request-id", "always-the-same"),
            ("x-weir-request-id", "always-the-same"),
        ];
        send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)))
            .await
    };
    for _ in 0..3 {
        ask().await.expect(204);
    }
    ask().await.expect(429);
}

#[tokio::test]
async fn documented_profiles_have_no_warnings_and_an_id_that_clients_choose_has_one() {
    let tenant = Tenant::sign_up(shared().await).await;
    let kinds = [Kind::Nginx, Kind::Traefik, Kind::Caddy, Kind::Haproxy, Kind::Envoy];
    for kind in kinds {
        let text = fs::read_to_string(documented(kind, "profile.json")).expect("a file of deploy");
        let profile: Value = serde_json::from_str(&text).expect("JSON");
        let made = tenant.admin(Method::POST, "/profiles", &profile).await.expect(201);
        assert_eq!(made.body["warnings"], json!([]), "{kind:?}");
    }
    let mut profile = printed();
    profile["idempotency"] = json!({ "from": "header", "name": "Idempotency-Key" });
    let made = tenant.admin(Method::POST, "/profiles", &profile).await.expect(201);
    let warning = made.text("/warnings/0");
    assert!(warning.starts_with("clients can send `idempotency-key`"), "{warning}");
}
