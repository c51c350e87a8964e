//! The ceiling for measurements: the planes' own HTTP set-up, answering a constant.
//!
//! `cargo run --release -p weir-http --example constant -- 127.0.0.1:8090`

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use weir_http::json::{self, Json};
use weir_http::plane::{self, PlaneSettings};
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
    let router = Router::new().route("/check", post(constant));
    let settings = PlaneSettings {
        request_ids: RequestIds::new(|| 0),
        request_deadline: std::time::Duration::from_secs(15),
    };
    let router = plane::wrap(router, settings);
    serve(listener, router, ServeSettings::default(), CancellationToken::new()).await;
}

/// Reads the body, as every handler must, and looks at nothing of it.
async fn constant(request: Request) -> Json<Constant> {
    let read = json::read(request).await;
    Json(Constant { allowed: read.is_ok() })
}
