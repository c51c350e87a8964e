//! The ceiling for measurements: the HTTP setup of the planes with a constant answer.
//!
//! `cargo run --release -p weir-http --example constant -- 127.0.0.1:8090`
//!
//! `/check` answers with a few bytes, `/check/long` with an answer as long as a gate's: one limit and its headers.

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse;
use axum::routing::post;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use weir_http::json::{self, Json};
use weir_http::plane::{self, Plane, PlaneSettings};
use weir_http::request_id::RequestIds;
use weir_http::serve::{ServeSettings, serve};

#[derive(Serialize)]
struct Constant {
    allowed: bool,
}

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8090".to_owned());
    let listener = TcpListener::bind(&address).await.expect("the port is free");
    let router = Router::new()
        .route("/check", post(constant))
        .route("/check/long", post(constant_of_a_check));
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
    let plane = Plane::new(plane::with_fallbacks(router), settings);
    serve(listener, plane, ServeSettings::default(), CancellationToken::new()).await;
}

/// Reads the body, as every handler must, and ignores it.
async fn constant(request: Request) -> Json<Constant> {
    let read = json::read(request).await;
    Json(Constant { allowed: read.is_ok() })
}

/// The same with an answer as long as a gate's.
async fn constant_of_a_check(request: Request) -> impl IntoResponse {
    let read = json::read(request).await;
    (LIMIT_HEADERS, if read.is_ok() { CHECK_ANSWER } else { "" })
}

const LIMIT_HEADERS: [(&str, &str); 6] = [
    ("content-type", "application/json"),
    ("x-ratelimit-limit", "1000000"),
    ("x-ratelimit-remaining", "999999"),
    ("x-ratelimit-reset", "1"),
    ("ratelimit-policy", "\"one\";q=1000000;w=1"),
    ("ratelimit", "\"one\";r=999999;t=1"),
];

const CHECK_ANSWER: &str = r#"{"allowed":true,"denied_by":[],"retry_after_ms":0,"delay_ms":0,"limit":1000000,"remaining":999999,"reset_after_ms":1,"limits":[{"rule":"one","rule_id":"rule_01K9XYZ0000000000000000000","algorithm":"token_bucket","mode":"enforce","allowed":true,"limit":1000000,"remaining":999999,"window_ms":1000,"reset_after_ms":1,"retry_after_ms":0,"delay_ms":0}],"degraded":null,"rulebook_version":42}"#;
