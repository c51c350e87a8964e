//! The routes of the data plane and its OpenAPI document, from one list.

use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::routing::{any, get};
use axum::{Extension, Router};
use tower_http::cors::CorsLayer;
use utoipa::OpenApi as _;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_http::json::Json;
use weir_http::plane;
use weir_wire::bounds::with_bounds;

use crate::requests::{authorize, check, deferred, exhaust, health, renewals, reservations, usage};
use crate::state::GateState;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Weir gate",
        description = "The data plane: decides checks. Times are milliseconds.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/", description = "The gate that serves this document")),
    paths(authorize::authorize, usage::usage),
    tags(
        (name = "checks", description = "Decisions, records and refunds"),
        (name = "reservations", description = "Units that are held until their use is known, and limits that a service behind them states"),
        (name = "leases", description = "Places of concurrency limits"),
        (name = "deferred jobs", description = "Jobs that a webhook receives when the limits permit it"),
        (name = "customers", description = "What a customer of a tenant has used of its limits"),
        (name = "proxies", description = "Decisions for proxies"),
        (name = "operations", description = "Probes and metrics of the process"),
    ),
)]
struct Document;

/// The router of a gate. Pages of `origins` (the dashboard's) can call it from a browser.
pub fn router(state: GateState, origins: &[HeaderValue]) -> Router {
    let (router, document) = routes().split_for_parts();
    let document = with_bounds(&document);
    let described = move || async move { Json(document) };
    let router = router.route("/openapi.json", axum::routing::get(described));
    let router = plane::with_fallbacks(router.with_state(state.clone()));
    // Outermost, so that a preflight is not refused as an unknown method.
    let router = if origins.is_empty() { router } else { router.layer(cors(origins)) };
    router.merge(authorize().with_state(state.clone())).merge(usage(origins).with_state(state))
}

/// The route of customers. It is not below the layer for browsers, because the origins are those of the tenant.
fn usage(origins: &[HeaderValue]) -> Router<GateState> {
    let origins = usage::DashboardOrigins(origins.into());
    let methods = get(usage::usage).options(usage::preflight).fallback(plane::method_not_allowed);
    Router::new().route("/usage", methods.layer(Extension(origins)))
}

/// The routes of proxies: every method, and any path behind the name of the profile. They are not below the layer for
/// browsers, which answers every `OPTIONS` itself: a proxy asks with the method of its client.
fn authorize() -> Router<GateState> {
    Router::new()
        .route("/authorize", any(authorize::authorize))
        .route("/authorize/", any(authorize::authorize))
        .route("/authorize/{*target}", any(authorize::authorize))
}

/// The OpenAPI document of the data plane.
pub fn openapi() -> serde_json::Value {
    with_bounds(&routes().into_openapi())
}

fn routes() -> OpenApiRouter<GateState> {
    let mut document = Document::openapi();
    let http = |scheme| SecurityScheme::Http(HttpBuilder::new().scheme(scheme).build());
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("api_key", http(HttpAuthScheme::Bearer));
    components.add_security_scheme("view_token", http(HttpAuthScheme::Bearer));
    components.add_security_scheme("basic", http(HttpAuthScheme::Basic));
    let key = ApiKey::Header(ApiKeyValue::new("X-Weir-Key"));
    components.add_security_scheme("weir_key", SecurityScheme::ApiKey(key));
    OpenApiRouter::with_openapi(document)
        .routes(routes!(check::check))
        .routes(routes!(check::batch))
        .routes(routes!(check::record))
        .routes(routes!(check::refund))
        .routes(routes!(reservations::reserve))
        .routes(routes!(reservations::commit))
        .routes(routes!(reservations::cancel))
        .routes(routes!(exhaust::exhaust))
        .routes(routes!(renewals::renew))
        .routes(routes!(renewals::release))
        .routes(routes!(deferred::defer))
        .routes(routes!(deferred::read, deferred::cancel))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// Clients send keys in a header, and browsers never add them by themselves, so cross-origin requests need no credentials
/// mode.
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::POST, Method::GET, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("x-api-key"),
        ])
        .expose_headers(
            [
                "x-request-id",
                "retry-after",
                "ratelimit",
                "ratelimit-policy",
                "x-ratelimit-limit",
                "x-ratelimit-remaining",
                "x-ratelimit-reset",
                "x-ratelimit-retry-after",
            ]
            .map(HeaderName::from_static),
        )
}
