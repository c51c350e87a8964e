//! A client that closes its connection: its check is charged and counted.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::json;

use super::support::Gate;

#[tokio::test]
async fn check_of_a_client_that_left_is_counted_when_it_was_charged() {
    let (gate, keys, _) = Gate::with_two_tenants().await;
    let body = json!({ "attributes": { "user": "u" } });
    let request = Request::post("/check")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {}", keys.check))
        .body(Body::from(body.to_string()));
    {
        let mut answer = pin!(gate.answer(request.expect("a request")));
        let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "it waits for Redis");
    }
    let until = tokio::time::Instant::now() + Duration::from_secs(20);
    while !gate.metrics().contains("weir_checks_total{outcome=\"allowed\"} 1") {
        assert!(tokio::time::Instant::now() < until, "never counted: {}", gate.metrics());
        tokio::task::yield_now().await;
    }
    let peek = json!({ "attributes": { "user": "u" }, "mode": "peek" });
    let (_, answer) = gate.send("POST", "/check", Some(&keys.check), &peek).await;
    assert_eq!(
        answer["remaining"], 0,
        "one unit of two was taken, and the peek would take the other"
    );
}
