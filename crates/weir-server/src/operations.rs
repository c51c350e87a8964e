//! The operations listener: health, metrics and API documents on an address of their own.
//!
//! It has its own thread and its own connections, so that it answers when the public listeners are full or the process
//! is overloaded.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_body_util::BodyExt as _;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use weir_http::exposition;
use weir_http::plane::{self, Plane, PlaneSettings, Surface};
use weir_http::problem::Problem;
use weir_http::serve::{ServeSettings, serve};

use crate::edge;
use crate::running::Running;

const CONNECTIONS_MAX: usize = 64;

/// Serves the operations of `planes` until they have drained.
pub fn start(listener: TcpListener, planes: &[Plane], running: &Running) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    let listener = listener.into_std()?;
    let router = plane::with_fallbacks(router(planes, &Handle::current()));
    let settings = PlaneSettings { request_ids: edge::request_ids(), request_deadline: None };
    let plane = Plane::new(router, settings);
    let stop = running.drained.clone();
    let (ended, end) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("operations".to_owned());
    thread.spawn(move || {
        if let Err(error) = run(listener, plane, stop) {
            tracing::error!(%error, "the operations listener ended");
        }
        drop(ended);
    })?;
    running.spawn_last("operations", async move { drop(end.await) });
    tracing::info!(%address, "operations listening: /healthz /readyz /metrics /docs /openapi.json");
    Ok(())
}

fn run(
    listener: std::net::TcpListener,
    plane: Plane,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let settings = ServeSettings {
            connections_max: CONNECTIONS_MAX,
            connections_per_address_max: CONNECTIONS_MAX,
            drain_deadline: std::time::Duration::from_secs(1),
            ..ServeSettings::default()
        };
        serve(listener, plane, settings, stop).await;
        Ok(())
    })
}

/// The routes. Connections to Postgres and timers of a plane belong to the runtime `planes_on`, so only `/healthz` is
/// answered without it.
fn router(planes: &[Plane], planes_on: &Handle) -> Router {
    let ask = |plane: &Plane| {
        let plane = plane.clone().serving(Surface::OperationsOnly);
        let runtime = planes_on.clone();
        move |request: Request| {
            let plane = plane.clone();
            let answer = runtime.spawn(async move { plane.answer(request).await });
            async move { answer.await.unwrap_or_else(|error| Problem::internal(error).into_response()) }
        }
    };
    let askers: Vec<_> = planes.iter().map(ask).collect();
    let ready = askers.clone();
    let metrics = askers.clone();
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route(
            "/readyz",
            get(|| async move {
                let mut answer = StatusCode::OK.into_response();
                for ask in ready {
                    answer = ask(get_request("/readyz")).await;
                    if !answer.status().is_success() {
                        break;
                    }
                }
                answer
            }),
        )
        .route(
            "/metrics",
            get(|| async move {
                let mut text = String::new();
                for ask in metrics {
                    text.push_str(&body_of(ask(get_request("/metrics")).await).await);
                }
                let kind = HeaderValue::from_static("text/plain; version=0.0.4");
                ([(header::CONTENT_TYPE, kind)], exposition::joined(&text))
            }),
        );
    // If the control plane runs here, its documents are the ones with a page.
    if let Some(last) = askers.last().cloned() {
        router = router.route("/openapi.json", get(last.clone())).route("/docs", get(last.clone()));
        router = router.route("/docs/", get(last.clone())).route("/docs/{*file}", get(last));
    }
    if let [gate, _control] = &askers[..] {
        let gate = gate.clone();
        router = router.route(
            "/gate/openapi.json",
            get(|| async move { gate(get_request("/openapi.json")).await }),
        );
    }
    router
}

fn get_request(path: &'static str) -> Request {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = Uri::from_static(path);
    request
}

async fn body_of(response: Response) -> String {
    match response.into_body().collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        Err(_) => String::new(),
    }
}
