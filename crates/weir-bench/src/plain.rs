//! The plain limiter that Weir is compared with: the same HTTP setup, and one `EVALSHA` of a token bucket per rule and
//! request over one multiplexed connection. It has no keys, no rulebook, no statistics and no bound on the wait. It is what a
//! project usually writes first.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use clap::Args;
use redis::Script;
use redis::aio::MultiplexedConnection;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use weir_http::json::Json;
use weir_http::plane::{self, Plane, PlaneSettings};
use weir_http::request_id::RequestIds;
use weir_http::serve::{ServeSettings, serve};

#[derive(Debug, Args)]
pub struct PlainArgs {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long, env = "PLAIN_REDIS_URL", hide_env_values = true)]
    redis_url: String,
}

pub async fn run(args: PlainArgs) -> anyhow::Result<()> {
    let client = redis::Client::open(args.redis_url).context("read the address of Redis")?;
    let connection = client.get_multiplexed_async_connection().await.context("reach Redis")?;
    #[expect(clippy::disallowed_methods, reason = "this is no script of Weir")]
    let script = Script::new(include_str!("plain.lua"));
    let plain = Plain { connection, script: Arc::new(script) };
    let listener = TcpListener::bind(args.listen).await.context("take the port")?;
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
    let router = Router::new().route("/check", post(check)).with_state(plain);
    let plane = Plane::new(plane::with_fallbacks(router), settings);
    serve(listener, plane, ServeSettings::default(), CancellationToken::new()).await;
    Ok(())
}

#[derive(Clone)]
struct Plain {
    connection: MultiplexedConnection,
    script: Arc<Script>,
}

#[derive(Debug, Deserialize)]
struct Check {
    namespace: String,
    attributes: Attributes,
}

#[derive(Debug, Deserialize)]
struct Attributes {
    user: String,
}

#[derive(Debug, Serialize)]
struct Answer {
    allowed: bool,
    remaining: u64,
    retry_after_ms: u64,
}

const CAPACITY: u64 = 1_000_000;
const REFILL_PER_S: u64 = 1_000_000;

async fn check(State(mut plain): State<Plain>, Json(check): Json<Check>) -> Response {
    let asked: redis::RedisResult<(u8, u64, u64)> = plain
        .script
        .key(format!("plain:{}:{}", check.namespace, check.attributes.user))
        .arg(CAPACITY)
        .arg(REFILL_PER_S)
        .arg(1)
        .invoke_async(&mut plain.connection)
        .await;
    let Ok((allowed, remaining, retry_after_ms)) = asked else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let answer = Json(Answer { allowed: allowed == 1, remaining, retry_after_ms });
    if allowed == 1 {
        answer.into_response()
    } else {
        (StatusCode::TOO_MANY_REQUESTS, answer).into_response()
    }
}
